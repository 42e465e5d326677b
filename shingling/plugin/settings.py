"""The `DEDUP_*` settings: read and checked in one place, once, when a crawl starts.

Modules that take long to import are imported only if a setting needs them, because most projects
set few.
"""

from __future__ import annotations

import difflib
import json
import operator
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from scrapy.utils.conf import closest_scrapy_cfg

from shingling.errors import SettingsError, ShinglingError, StoreError, printable, shortened
from shingling.extraction.extractors import BUILT_IN, find_extractor
from shingling.extraction.limits import usable_cpus
from shingling.rooms import hooks
from shingling.rules import (
    DEFAULT_EXTRACTOR,
    DEFAULT_METHOD,
    DEFAULT_MIN_WORDS,
    DEFAULT_SHINGLE_SIZE,
    DEFAULT_SIMHASH_DISTANCE,
    DEFAULT_THRESHOLD,
    MAX_BYTES,
    MAX_SIMHASH_DISTANCE,
    METHODS,
    MOVING_LINES,
    OWN_TEXT,
    TITLES,
    WORKER_MEMORY_BYTES,
)
from shingling.rules.rules import Rules

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings

    from shingling.sketch import Scheme

# What a setting accepts, as a message has it, and what reads a value: of Scrapy's command line, it
# is a string. If that raises any exception, the value is not accepted.
Accepted: TypeAlias = tuple[str, Callable[[Any], Any]]
Setting: TypeAlias = tuple[Any, str, Callable[[Any], Any]]
"""Its default, and what it accepts."""

FILLABLE = ("text", "compared_text", "markdown", "title", "language")
"""What an item's fields can be filled with."""

_TRUE_VALUES, _FALSE_VALUES = ("1", "true", "yes", "on"), ("0", "false", "no", "off")
_MAX_AUTO_WORKERS = 8  # what one event loop can feed
_MAX_SHOWN = 100  # characters of a name or value in a message
_MAX_DETAIL = 400
_LONG_WORD = re.compile(r"(\S{200})\S+")
_PLAIN_SQLITE = re.compile(r"sqlite:///([\w./ -]+)")  # as SQLAlchemy would read it
_NOTATION = frozenset("[]{}\"';")  # of lists; a name with one of them is written as JSON
_AS_LIST = ', such as sku,price or ["sku", "price"]'
_ATTRIBUTES = {  # that are not named as their setting
    "DEDUP_HTML_FIELD": "html_fields",
    "DEDUP_SCHEME": "scheme_parameters",
    "DEDUP_TEXT_FIELD": "text_fields",
}


@dataclass(frozen=True)
class DedupSettings:
    """Settings of one crawl; the documentation of settings says what each means."""

    enabled: bool
    store_url: str = field(repr=False)  # with a password
    action: str
    rules: Rules
    debug: bool
    drop_unchanged: bool
    multi_item_pages: str
    shingle_size: int
    scheme_parameters: dict[str, Any]
    scope: str
    extractor: str
    workers: int
    timeout: float
    worker_memory: int  # bytes
    max_bytes: int
    url_field: str
    html_fields: tuple[str, ...]
    text_fields: tuple[str, ...]
    title_field: str
    result_field: str
    fill_fields: tuple[str, ...]
    on_error: str
    of_rooms: Mapping[str, Any]  # by their names

    @cached_property
    def scheme(self) -> Scheme:
        """Scheme of the signatures.

        Raises:
            SettingsError: a file that it names, of document frequencies or of stop words, cannot
                be read.
        """
        from shingling.sketch import Scheme

        parameters = _with_files(self.scheme_parameters, read=True)
        return Scheme.from_dict({"shingle_size": self.shingle_size, **parameters})

    @cached_property
    def read_fields(self) -> set[str]:
        """Fields of items that are compared in their own way."""
        return {self.url_field, self.title_field, *self.html_fields, *self.text_fields}

    @cached_property
    def taken_fields(self) -> set[str]:
        """Fields of items that are none of their own: those that are read, and the result."""
        return {*self.read_fields, self.result_field}

    def nameable(self, fields: Iterable[str]) -> list[str]:
        """Take those fields of items that `DEDUP_FIELDS` and `DEDUP_IGNORE_FIELDS` can name."""
        return [name for name in _names(fields) if name not in self.taken_fields]

    @property
    def store_url_without_password(self) -> str:
        """URL of the store, as it may be logged."""
        if _PLAIN_SQLITE.fullmatch(self.store_url):
            return self.store_url
        from shingling.store.backends import shown_url

        return shown_url(self.store_url)

    def scope_of(self, url: str, spider: str) -> str:
        """Scope of a page, by `DEDUP_SCOPE`."""
        if self.scope == "site":
            from shingling.store.urls import safe_url, site_of

            return site_of(safe_url(url))
        return spider if self.scope == "spider" else ""

    def for_run(self) -> dict[str, Any]:
        """Take the settings that pages are decided by, which the store keeps with a run."""
        names = (
            "threshold",
            "method",
            "simhash_distance",
            "containment",
            "min_words",
            "scope",
            "templates",
            "fields",
            "ignore_fields",
            "own_text",
            "titles",
            "moving_lines",
            "prefer_sites",
            "extractor",
        )
        values = {**vars(self), **vars(self.rules)}
        return {name: values[name] for name in names}

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
            if isinstance(name, str) and name.upper().startswith("DEDUP_") and name not in known:
                raise SettingsError(_unknown(name, known))
        own = {
            _ATTRIBUTES.get(name, name.removeprefix("DEDUP_").lower()): _read(
                name, settings, setting
            )
            for name, setting in SETTINGS.items()
        }
        rules = Rules(**{rule.name: own.pop(rule.name) for rule in fields(Rules)})
        rooms = {name: _read(name, settings, setting) for name, setting in of_rooms.items()}
        made = cls(**own, rules=rules, of_rooms=rooms)
        if not made.enabled and crawl:
            return made
        try:
            _check_fields(made)
            if crawl and made.scheme_parameters:
                _check_language(made.scheme)
            if crawl:
                for check in hooks("check_settings"):
                    check(made)
        except SettingsError:
            raise
        except ShinglingError as error:
            raise SettingsError(f"DEDUP_SCHEME: {_short(str(error))}") from None
        return made


def settings_of_rooms() -> dict[str, Setting]:
    """Every setting of a room, as `SETTINGS` has those of the core."""
    return {name: setting for settings in hooks("settings") for name, setting in settings().items()}


def _read(name: str, settings: BaseSettings, setting: Setting) -> Any:
    """Read the value of a setting.

    Raises:
        SettingsError: it is not accepted.
    """
    default, accepted, read = setting
    value = settings.get(name, default)
    try:
        return read(value)
    except Exception as error:  # a value may be of any class
        # A database URL may hold a password: it is not repeated.
        shown = "" if name == "DEDUP_STORE_URL" else f" = {_shown(value)}"
        detail = f" ({_short(str(error))})" if isinstance(error, ShinglingError) else ""
        raise SettingsError(
            f"{name}{shown} is not accepted{detail}; accepted: {accepted}"
        ) from None


def _short(message: str) -> str:
    """Cut a message that repeats a long value."""
    return shortened(_LONG_WORD.sub(r"\1…", printable(message)), _MAX_DETAIL, " …")


def _shown(value: Any) -> str:
    try:
        return repr(value)[:_MAX_SHOWN]
    except Exception:  # of an odd class, or a number of thousands of digits
        return f"a value of the class {type(value).__qualname__}"


def _check_fields(settings: DedupSettings) -> None:
    """Check that fields are not taken for two things at once.

    Raises:
        SettingsError: they are.
    """
    if settings.result_field in settings.read_fields.union(settings.fill_fields):
        raise SettingsError(
            f"DEDUP_RESULT_FIELD = {_shown(settings.result_field)} is not accepted: the result"
            " would replace what the item has in that field; accepted: the name of another field"
        )
    named = () if settings.rules.fields == "auto" else settings.rules.fields
    wrong = {*named, *settings.rules.ignore_fields} & settings.taken_fields
    if wrong:
        names = _short(", ".join(sorted(wrong)))
        raise SettingsError(
            f"DEDUP_FIELDS, DEDUP_IGNORE_FIELDS: {names} is no field of its own: URL, HTML, text"
            " and title are compared in their own way, and the result is made by dedup"
        )


def _with_files(parameters: Mapping[str, Any], *, read: bool) -> dict[str, Any]:
    """Replace the names of files in a scheme by what is in them, or by defaults without `read`."""
    whole = dict(parameters)
    simhash, canonical = whole.get("simhash"), whole.get("canonical")
    if isinstance(simhash, Mapping) and isinstance(simhash.get("idf"), str):
        from shingling.sketch.idf import Idf

        hint = "; `scrapy dedup tune --idf` makes such a file"
        idf = Idf.from_json(_read_file(simhash["idf"], hint)) if read else None
        whole["simhash"] = {**simhash, "idf": idf}
    if isinstance(canonical, Mapping) and "stop_words" in canonical:
        from shingling.text.languages import is_file_name

        if is_file_name(canonical["stop_words"]):
            words = _read_stop_words(canonical["stop_words"]) if read else True
            whole["canonical"] = {**canonical, "stop_words": words}
    return whole


def _read_stop_words(name: str) -> list[str]:
    from shingling.text.languages import read_lines

    words = read_lines(_read_file(name, "; the lists of the package are short and long"))
    if not words:
        raise SettingsError(f"DEDUP_SCHEME: {project_folder() / name} has no words")
    return words


def _read_file(name: str, hint: str) -> str:
    """Text of a file that DEDUP_SCHEME names, from the project's folder."""
    path = project_folder() / name
    try:
        return path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError, ValueError) as error:
        raise SettingsError(
            f"DEDUP_SCHEME: {_short(str(path))} cannot be read: {type(error).__name__}{hint}"
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
    shown = printable(name[:_MAX_SHOWN])
    close = difflib.get_close_matches(shown.upper(), known, n=1)
    hint = f"did you mean {close[0]}?" if close else f"accepted: {', '.join(sorted(known))}"
    return f"{shown} is not a setting of scrapy-shingling; {hint}"


def project_folder() -> Path:
    """Folder of the nearest `scrapy.cfg`, or the working directory."""
    config = closest_scrapy_cfg()
    return Path(config).parent.absolute() if config else Path.cwd()


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
    from shingling.store.backends import file_of, is_file_name, parse_url

    if is_file_name(value):
        raise StoreError(f"a file is written sqlite:///{value}")
    url = parse_url(value)
    path = file_of(url)
    if path is not None and not path.is_absolute():
        url = url.set(database=str(project_folder() / path))
    return str(url.render_as_string(hide_password=False))


def boolean(value: Any) -> bool:
    """Read True or False, also as Scrapy's command line has them."""
    text = str(value).lower()
    if text not in _TRUE_VALUES + _FALSE_VALUES:
        raise ValueError
    return text in _TRUE_VALUES


def choice(*choices: str) -> Accepted:
    """Accept one of some strings."""

    def read(value: Any) -> str:
        if not isinstance(value, str) or value not in choices:
            raise ValueError
        return value

    return f"{', '.join(choices[:-1])} or {choices[-1]}", read


def number(high: float, unit: str = "", *, with_zero: bool = False) -> Accepted:
    """Accept numbers above 0, or from 0 on, up to one."""

    def read(value: Any) -> float:
        if isinstance(value, (bool, bytes)):
            raise TypeError
        given = float(value)
        if not (0 < given <= high or (with_zero and given == 0)):
            raise ValueError
        return given

    accepted = f"from 0 to {high:,}" if with_zero else f"above 0, at most {high:,}"
    return f"a number{unit} {accepted}", read


def whole_number(low: int, high: int, unit: str = "") -> Accepted:
    """Accept whole numbers between two."""

    def read(value: Any) -> int:
        if isinstance(value, bool):
            raise TypeError
        given = int(value) if isinstance(value, str) else operator.index(value)
        if not low <= given <= high:
            raise ValueError
        return given

    return f"a whole number{unit}, {low} to {high:,}", read


def optional(accepted: Accepted) -> Accepted:
    """Accept None too."""
    shown, read = accepted
    return f"None, or {shown}", lambda value: None if value in (None, "", "None") else read(value)


def field_name(value: Any) -> str:
    """Read a string that is not empty."""
    if not isinstance(value, str) or not value:
        raise ValueError
    return value


def extractor_name(value: Any) -> str:
    """Read the name of an extractor that can be imported."""
    name = field_name(value)
    find_extractor(name).load_function()
    return name


def number_of_workers(value: Any) -> int:
    """Read a number of worker processes."""
    if value == "auto":
        return min(usable_cpus(), _MAX_AUTO_WORKERS)
    return int(whole_number(0, 256)[1](value))


def worker_memory(value: Any) -> int:
    """Read a size in MB, of 1,048,576 bytes, as bytes; 0 is no limit."""
    megabytes = int(whole_number(0, 1_000_000)[1](value))
    if 0 < megabytes < 256:
        raise ValueError
    return megabytes << 20


def listed(value: Any) -> list[Any]:
    """Read a list; a string, as of Scrapy's command line, is JSON or has commas in between.

    Raises:
        ValueError: a string is neither: it has signs of a list in another notation.
    """
    if not isinstance(value, str):
        return list(value)
    if value.lstrip().startswith("["):
        return list(json.loads(value))
    if not _NOTATION.isdisjoint(value):
        raise ValueError
    return [part.strip() for part in value.split(",")]


def _names(value: Any) -> tuple[str, ...]:
    """Read a list of names."""
    names = listed(value)
    return tuple(field_name(name).strip() for name in names if name != "" and str(name).strip())


def _one_name(value: Any) -> str:
    """Read a single name."""
    [name] = _names(value)
    return name


def site_names(value: Any) -> tuple[str, ...]:
    """Read names of sites: hosts, or any URLs of them."""
    if not (names := _names(value)):
        return ()
    from shingling.store.urls import pasted_site

    return tuple(map(pasted_site, names))


def _some_names(value: Any) -> tuple[str, ...]:
    """Read names, one or more."""
    names = _names(value)
    if not names:
        raise ValueError
    return names


def fillable_names(value: Any) -> tuple[str, ...]:
    """Read some of the names in `FILLABLE`."""
    chosen = _names(value)
    if not set(chosen) <= set(FILLABLE):
        raise ValueError
    return chosen


def scheme_dict(value: Any) -> dict[str, Any]:
    """Read the parameters of a scheme; files are still named: `idf`, `stop_words`."""
    try:
        parameters = json.loads(value) if isinstance(value, str) else value
    except ValueError as error:
        raise SettingsError(f"not JSON: {error}") from None
    if not isinstance(parameters, Mapping):
        raise TypeError
    chosen = {
        name: dict(parameter) if isinstance(parameter, Mapping) else parameter
        for name, parameter in parameters.items()
    }
    if "shingle_size" in chosen:
        raise SettingsError("shingle_size is set by DEDUP_SHINGLE_SIZE")
    if chosen:
        from shingling.sketch import Scheme

        Scheme.from_dict(_with_files(chosen, read=False))
    return chosen


_FIELD: Accepted = ("the name of an item's field", _one_name)
_FIELDS: Accepted = (f"the name of an item's field, or a list of names{_AS_LIST}", _some_names)
_BOOLEAN: Accepted = ("True or False", boolean)

SETTINGS: dict[str, Setting] = {
    "DEDUP_ACTION": ("drop", *choice("drop", "tag", "observe")),
    "DEDUP_CONTAINMENT": (None, *optional(number(1))),
    "DEDUP_DEBUG": (False, *_BOOLEAN),
    "DEDUP_DROP_UNCHANGED": (False, *_BOOLEAN),
    "DEDUP_ENABLED": (True, *_BOOLEAN),
    "DEDUP_EXTRACTOR": (
        DEFAULT_EXTRACTOR,
        f"{', '.join(BUILT_IN)}, a name offered by a package, or the import path of a function",
        extractor_name,
    ),
    "DEDUP_FIELDS": (
        "auto",
        f'"auto", or a list of names of fields, which may be empty{_AS_LIST}',
        lambda value: "auto" if _names(value) == ("auto",) else _names(value),
    ),
    "DEDUP_FILL_FIELDS": (
        (),
        f'a list of names among {", ".join(FILLABLE)}, such as text,title or ["text"]',
        fillable_names,
    ),
    "DEDUP_HTML_FIELD": ("html", *_FIELDS),
    "DEDUP_IGNORE_FIELDS": ((), f"a list of names of fields{_AS_LIST}", _names),
    "DEDUP_MOVING_LINES": (MOVING_LINES[0], *choice(*MOVING_LINES)),
    "DEDUP_MULTI_ITEM_PAGES": ("keep", *choice("keep", "drop")),
    "DEDUP_MAX_BYTES": (MAX_BYTES, *whole_number(1, 1_000_000_000, " of bytes")),
    "DEDUP_METHOD": (DEFAULT_METHOD, *choice(*METHODS)),
    "DEDUP_MIN_WORDS": (DEFAULT_MIN_WORDS, *whole_number(0, 1_000_000, " of words")),
    "DEDUP_ON_ERROR": ("keep", *choice("keep", "close")),
    "DEDUP_OWN_TEXT": (OWN_TEXT[0], *choice(*OWN_TEXT)),
    "DEDUP_PREFER_SITES": (
        (),
        'a list of hosts, such as a.example,b.example or ["a.example"]',
        site_names,
    ),
    "DEDUP_RESULT_FIELD": ("dedup", *_FIELD),
    "DEDUP_SCHEME": (
        {},
        "a dict (or JSON) of unit, ordered, family, canonical = {...} and simhash = {...}",
        scheme_dict,
    ),
    "DEDUP_SCOPE": ("all", *choice("all", "site", "spider")),
    "DEDUP_SHINGLE_SIZE": (DEFAULT_SHINGLE_SIZE, *whole_number(1, 100, " of words")),
    "DEDUP_SIMHASH_DISTANCE": (
        DEFAULT_SIMHASH_DISTANCE,
        *whole_number(0, MAX_SIMHASH_DISTANCE, " of bits"),
    ),
    "DEDUP_STORE_TEXT": (True, *_BOOLEAN),
    "DEDUP_STORE_URL": (
        "sqlite:///dedup.db",
        "a database URL such as sqlite:///dedup.db",
        store_url,
    ),
    "DEDUP_TEMPLATES": (True, *_BOOLEAN),
    "DEDUP_TEXT_FIELD": ("text", *_FIELDS),
    "DEDUP_THRESHOLD": (DEFAULT_THRESHOLD, *number(1)),
    "DEDUP_TIMEOUT": (30.0, *number(3600, " of seconds")),
    "DEDUP_TITLES": (TITLES[0], *choice(*TITLES)),
    "DEDUP_TITLE_FIELD": ("title", *_FIELD),
    "DEDUP_URL_FIELD": ("url", *_FIELD),
    "DEDUP_ORIGINAL_MAX_AGE_DAYS": (None, *optional(number(1_000_000, " of days"))),
    "DEDUP_WORKERS": (
        "auto",
        "auto, 0 for a thread, or a number of processes up to 256",
        number_of_workers,
    ),
    "DEDUP_WORKER_MEMORY": (
        WORKER_MEMORY_BYTES >> 20,
        "0 for no limit, or a whole number of MB, 256 to 1000000",
        worker_memory,
    ),
}
"""Every setting of the core."""
