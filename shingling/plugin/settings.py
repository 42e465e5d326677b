"""The `DEDUP_*` settings: read and checked in one place, once, when a crawl starts.

What takes long to import is imported where a setting needs it: most projects set little.
"""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass, field
from functools import cached_property
from os.path import splitdrive
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrapy.utils.conf import closest_scrapy_cfg

from shingling.errors import SettingsError, ShinglingError, StoreError
from shingling.extraction.extractors import BUILT_IN
from shingling.plugin.setting_values import (
    FILLABLE,
    auto_or_names,
    boolean,
    choice,
    extractor_name,
    field_name,
    fillable_names,
    megabytes,
    number,
    number_of_workers,
    optional,
    scheme_dict,
    whole_number,
)
from shingling.rooms import offered
from shingling.rules.defaults import (
    DEFAULT_EXTRACTOR,
    DEFAULT_MIN_WORDS,
    DEFAULT_SHINGLE_SIZE,
    DEFAULT_SIMHASH_DISTANCE,
    DEFAULT_THRESHOLD,
    MAX_BYTES,
    MAX_SIMHASH_DISTANCE,
    WORKER_MEMORY_BYTES,
)
from shingling.rules.methods import DEFAULT_METHOD, METHODS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from scrapy.settings import BaseSettings

    from shingling.rules.rules import Rules
    from shingling.sketch import Scheme

    Setting = tuple[Any, str, Callable[[Any], Any]]

_PLAIN_SQLITE = re.compile(r"sqlite:///([\w./ -]+)")  # as SQLAlchemy would read it
_ATTRIBUTES = {"DEDUP_SCHEME": "scheme_parameters"}  # that are not named as their setting


@dataclass(frozen=True)
class DedupSettings:
    """Settings of one crawl; the documentation of settings says what each means."""

    enabled: bool
    store_url: str = field(repr=False)  # with a password
    action: str
    threshold: float
    method: str
    simhash_distance: int
    containment: float | None
    debug: bool
    lists: str
    shingle_size: int
    scheme_parameters: dict[str, Any]
    min_words: int
    scope: str
    window_days: float | None
    store_text: bool
    templates: bool
    extractor: str
    workers: int
    timeout: float
    worker_memory: int  # bytes
    max_bytes: int
    url_field: str
    html_field: str
    text_field: str
    title_field: str
    result_field: str
    fill_fields: tuple[str, ...]
    on_error: str
    fields: str | tuple[str, ...]
    of_rooms: Mapping[str, Any]  # by their names

    @cached_property
    def scheme(self) -> Scheme:
        """Scheme of the signatures.

        Raises:
            SettingsError: a file that it names, of document frequencies or of stop words, cannot
                be read.
        """
        from shingling.sketch import Idf, Scheme
        from shingling.text.languages.stop_words import is_file_name, read_lines

        parameters = dict(self.scheme_parameters)
        features = parameters.get("simhash")
        if isinstance(features, dict) and isinstance(features.get("idf"), str):
            made = "; `scrapy dedup tune --idf` makes such a file"
            idf = Idf.from_json(_read_file(features["idf"], made))
            parameters["simhash"] = {**features, "idf": idf}
        canonical = parameters.get("canonical")
        if isinstance(canonical, dict) and is_file_name(canonical.get("stop_words")):
            name = canonical["stop_words"]
            words = read_lines(_read_file(name, "; the lists of the package are short and long"))
            if not words:
                raise SettingsError(f"DEDUP_SCHEME: {project_folder() / name} has no words")
            parameters["canonical"] = {**canonical, "stop_words": words}
        return Scheme.from_dict({"shingle_size": self.shingle_size, **parameters})

    @property
    def is_store_file(self) -> bool:
        """Whether the store is a SQLite file that is there, or that cannot be made."""
        plain = _PLAIN_SQLITE.fullmatch(self.store_url)
        if plain is None:
            return self.store_url.startswith("sqlite")
        path = Path(plain[1])
        return path.exists() or not path.parent.is_dir()

    @property
    def store_url_without_password(self) -> str:
        """URL of the store, as it may be logged."""
        if _PLAIN_SQLITE.fullmatch(self.store_url):
            return self.store_url
        from shingling.store import shown_url

        return shown_url(self.store_url)

    def for_run(self) -> dict[str, Any]:
        """Take the settings that pages are decided by, which the store keeps with a run."""
        names = (
            *("threshold", "method", "simhash_distance", "containment", "min_words", "scope"),
            *("templates", "fields", "extractor"),
        )
        return {name: getattr(self, name) for name in names}

    @cached_property
    def rules(self) -> Rules:
        """How a page is decided."""
        from shingling.rules.rules import Rules

        return Rules(
            threshold=self.threshold,
            min_words=self.min_words,
            method=self.method,
            simhash_distance=self.simhash_distance,
            containment=self.containment,
            window_days=self.window_days,
            store_text=self.store_text,
            templates=self.templates,
            fields=self.fields,
        )

    @classmethod
    def from_settings(cls, settings: BaseSettings, *, crawl: bool = True) -> DedupSettings:
        """Read and check settings.

        Args:
            settings: those of Scrapy.
            crawl: whether pages are to be signed, and language packs and files must be there.

        Raises:
            SettingsError: an unknown `DEDUP_*` name, or a value that is not accepted.
        """
        of_rooms = settings_of_rooms()
        known = SETTINGS | of_rooms
        for name in settings:
            if isinstance(name, str) and name.startswith("DEDUP_") and name not in known:
                raise SettingsError(_unknown(name, known))
        values: dict[str, Any] = {"of_rooms": {}}
        for name, (default, accepted, parse) in known.items():
            value = settings.get(name, default)
            try:
                if name in of_rooms:
                    values["of_rooms"][name] = parse(value)
                else:
                    attribute = _ATTRIBUTES.get(name, name.removeprefix("DEDUP_").lower())
                    values[attribute] = parse(value)
            except (ValueError, TypeError, StoreError) as error:
                # A database URL may hold a password: it is not repeated.
                shown = "" if name == "DEDUP_STORE_URL" else f" = {value!r}"[:100]
                detail = f" ({error})" if isinstance(error, ShinglingError) else ""
                raise SettingsError(
                    f"{name}{shown} is not accepted{detail}; accepted: {accepted}"
                ) from None
        made = cls(**values)
        if not made.enabled and crawl:
            return made
        try:
            _check_fields(made)
            if made.containment is not None:  # the only one that may contradict others
                _ = made.rules
            if crawl and made.scheme_parameters:
                _check_language(made.scheme)
            if crawl:
                for check in offered("check_settings"):
                    check(made)
        except SettingsError:
            raise
        except ShinglingError as error:
            raise SettingsError(f"DEDUP_SCHEME: {error}") from None
        return made


def settings_of_rooms() -> dict[str, Setting]:
    """Every setting of a room, likewise."""
    return {name: one for settings in offered("settings") for name, one in settings().items()}


def _check_fields(settings: DedupSettings) -> None:
    compared = {settings.url_field, settings.html_field, settings.text_field, settings.title_field}
    wrong = {*settings.fields} & {*compared, settings.result_field}
    if settings.fields != "auto" and wrong:
        raise SettingsError(
            f"DEDUP_FIELDS: {', '.join(sorted(wrong))} is no field of its own: URL, HTML, text and"
            " title are compared in their own way, and the result is made by dedup"
        )


def _read_file(name: str, hint: str) -> str:
    """Text of a file that DEDUP_SCHEME names, from the project's folder."""
    path = project_folder() / name
    try:
        return path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError, ValueError) as error:
        raise SettingsError(
            f"DEDUP_SCHEME: {path} cannot be read: {type(error).__name__}{hint}"
        ) from None


def _check_language(scheme: Scheme) -> None:
    canonical = scheme.canonical
    canonical.require_packs()
    if idle := canonical.options_without_effect():
        raise SettingsError(
            f"DEDUP_SCHEME: {' and '.join(idle)} of canonical have no effect with the language"
            f" {canonical.language!r}; a language is named by its ISO 639-1 code (zh, ja, ru),"
            " or auto"
        )


def _unknown(name: str, known: Mapping[str, Setting]) -> str:
    close = difflib.get_close_matches(name, known, n=1)
    hint = f"did you mean {close[0]}?" if close else f"accepted: {', '.join(sorted(known))}"
    return f"{name} is not a setting of scrapy-shingling; {hint}"


def project_folder() -> Path:
    """Folder of the nearest `scrapy.cfg`, or the working directory."""
    config = closest_scrapy_cfg()
    return Path(config).parent.absolute() if config else Path.cwd()


def is_file_name(value: str) -> bool:
    """Whether a store is named by the path of a file; with a colon, it may be half a URL."""
    return ":" not in splitdrive(value)[1]


def store_url(value: Any) -> str:
    """Database URL in which a relative SQLite path starts at the project's folder.

    That is the folder of the nearest `scrapy.cfg`, or the working directory outside of a
    project.

    Raises:
        StoreError: not a URL of a supported database.
    """
    plain = _PLAIN_SQLITE.fullmatch(field_name(value))
    if plain:
        made = f"sqlite:///{project_folder() / plain[1]}"
        if _PLAIN_SQLITE.fullmatch(made):
            return made
    if is_file_name(value):
        raise StoreError(f"a file is written sqlite:///{value}")
    from shingling.store import file_of, parse_url

    url = parse_url(value)
    path = file_of(url)
    if path is not None and not path.is_absolute():
        url = url.set(database=str(project_folder() / path))
    return str(url.render_as_string(hide_password=False))


_SCHEME_ACCEPTS = "a dict (or JSON) of unit, ordered, family, canonical = {...} and simhash = {...}"

SETTINGS: dict[str, Setting] = {
    "DEDUP_ACTION": (
        "drop",
        "drop, tag or observe",
        choice("drop", "tag", "observe"),
    ),
    "DEDUP_CONTAINMENT": (
        None,
        "None, or a number above 0, at most 1",
        optional(number(0, 1, above=True)),
    ),
    "DEDUP_DEBUG": (False, "True or False", boolean),
    "DEDUP_ENABLED": (True, "True or False", boolean),
    "DEDUP_EXTRACTOR": (
        DEFAULT_EXTRACTOR,
        f"{', '.join(BUILT_IN)}, a name offered by a package, or the import path of a function",
        extractor_name,
    ),
    "DEDUP_FIELDS": (
        "auto",
        '"auto", or a list of names of fields, which may be empty',
        auto_or_names,
    ),
    "DEDUP_FILL_FIELDS": (
        (),
        f"a list of names among {', '.join(FILLABLE)}",
        fillable_names,
    ),
    "DEDUP_HTML_FIELD": ("html", "the name of an item's field", field_name),
    "DEDUP_LISTS": ("keep", "keep or drop", choice("keep", "drop")),
    "DEDUP_MAX_BYTES": (
        MAX_BYTES,
        "a whole number of bytes, 1 to 1000000000",
        whole_number(1, 1_000_000_000),
    ),
    "DEDUP_METHOD": (DEFAULT_METHOD, ", ".join(METHODS), choice(*METHODS)),
    "DEDUP_MIN_WORDS": (
        DEFAULT_MIN_WORDS,
        "a whole number of words, 0 to 1000000",
        whole_number(0, 1_000_000),
    ),
    "DEDUP_ON_ERROR": ("keep", "keep or close", choice("keep", "close")),
    "DEDUP_RESULT_FIELD": ("dedup", "the name of an item's field", field_name),
    "DEDUP_SCHEME": ({}, _SCHEME_ACCEPTS, scheme_dict),
    "DEDUP_SCOPE": ("all", "all, site or spider", choice("all", "site", "spider")),
    "DEDUP_SHINGLE_SIZE": (
        DEFAULT_SHINGLE_SIZE,
        "a whole number of words, 1 to 100",
        whole_number(1, 100),
    ),
    "DEDUP_SIMHASH_DISTANCE": (
        DEFAULT_SIMHASH_DISTANCE,
        f"a whole number of bits, 0 to {MAX_SIMHASH_DISTANCE}",
        whole_number(0, MAX_SIMHASH_DISTANCE),
    ),
    "DEDUP_STORE_TEXT": (True, "True or False", boolean),
    "DEDUP_STORE_URL": (
        "sqlite:///dedup.db",
        "a database URL such as sqlite:///dedup.db",
        store_url,
    ),
    "DEDUP_TEMPLATES": (True, "True or False", boolean),
    "DEDUP_TEXT_FIELD": ("text", "the name of an item's field", field_name),
    "DEDUP_THRESHOLD": (
        DEFAULT_THRESHOLD,
        "a number above 0, at most 1",
        number(0, 1, above=True),
    ),
    "DEDUP_TIMEOUT": (
        30.0,
        "a number of seconds above 0, at most 3600",
        number(0, 3600, above=True),
    ),
    "DEDUP_TITLE_FIELD": ("title", "the name of an item's field", field_name),
    "DEDUP_URL_FIELD": ("url", "the name of an item's field", field_name),
    "DEDUP_WINDOW_DAYS": (
        None,
        "None, or a number of days above 0",
        optional(number(0, 1_000_000, above=True)),
    ),
    "DEDUP_WORKERS": (
        "auto",
        "auto, 0 for a thread, or a number of processes up to 256",
        number_of_workers,
    ),
    "DEDUP_WORKER_MEMORY": (
        WORKER_MEMORY_BYTES >> 20,
        "0 for no limit, or a whole number of MB, 256 to 1000000",
        megabytes(256, 1_000_000),
    ),
}
"""Every setting of the core: its default, what it accepts, and what reads a value of it."""
