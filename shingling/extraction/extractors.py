"""Extractors of the main text: those built in, those of other packages, and a user's own.

To add one here, add it to `BUILT_IN`. Another package adds one by an entry point in the group
`shingling.extractors`. Importing this module costs nothing: settings are checked with it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib import import_module, metadata
from typing import TYPE_CHECKING, TypeAlias

from shingling.defaults import DEFAULT_EXTRACTOR
from shingling.errors import SettingsError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

ENTRY_POINTS = "shingling.extractors"
"""The group of entry points by which other packages offer extractors."""

# Title, language and the parsed page come from these, whoever extracts the text.
_PARSERS = ("trafilatura", "lxml")


@dataclass(frozen=True)
class Extracted:
    """What an extractor function may return in place of the text alone.

    Args:
        text: the main text; None or blank where the page has none.
        title: used in place of the page's `<title>`, unless None.
        language: ISO 639 code, used in place of the one that the page declares, unless None.
    """

    text: str | None
    title: str | None = None
    language: str | None = None


ExtractorFunction: TypeAlias = Callable[[str, str | None], Extracted | str | None]
"""Takes the HTML of a page and its URL, and gives its main text, or None where there is none."""


@dataclass(frozen=True)
class Extractor:
    """An extractor, and what its text depends on.

    Args:
        name: as `DEDUP_EXTRACTOR` has it.
        function: where its function is, as `module:name`; None is built into `extract_page`.
        distributions: packages whose versions decide what it gives. If there are none, nobody
            knows when its text changes, and known bodies are extracted again.
        extra: of this package, which installs it.
    """

    name: str
    function: str | None
    distributions: tuple[str, ...] = ()
    extra: str | None = None

    def load(self) -> ExtractorFunction | None:
        """Import the function; None is built into `extract_page`.

        Raises:
            SettingsError: it cannot be imported, or is not a function.
        """
        if self.function is None:
            return None
        module, _, attribute = self.function.partition(":")
        try:
            function: ExtractorFunction = getattr(import_module(module), attribute)
        except Exception as error:  # whatever importing a user's module raises
            if self.extra is not None:
                raise SettingsError(
                    f"{self.name} is not installed ({error}):"
                    f' pip install "scrapy-shingling[{self.extra}]"'
                ) from error
            raise SettingsError(f"{self._described()} cannot be imported: {error}") from error
        if not callable(function):
            raise SettingsError(f"{self._described()} is not a function")
        return function

    def version(self) -> str | None:
        """Its name and the versions that its text depends on; None if these are not known."""
        return _version(self) if self.distributions else None

    def _described(self) -> str:
        if not self.distributions:
            return f"extractor {self.name!r}"
        return f"extractor {self.name!r} ({self.function} of {self.distributions[0]})"


BUILT_IN = {
    extractor.name: extractor
    for extractor in (
        Extractor(DEFAULT_EXTRACTOR, None, _PARSERS),
        Extractor(
            "resiliparse",
            "shingling.extraction.resiliparse:resiliparse",
            ("resiliparse", *_PARSERS),
            extra="resiliparse",
        ),
    )
}
"""The extractors of this package by name."""


def find_extractor(name: str) -> Extractor:
    """Find an extractor by its name, or by the import path of a function (with a dot).

    Raises:
        SettingsError: no package offers an extractor of that name, or several do.
    """
    if name in BUILT_IN:
        return BUILT_IN[name]
    if "." in name:
        module, _, attribute = name.rpartition(".")
        return Extractor(name, f"{module}:{attribute}")
    offered = metadata.entry_points(group=ENTRY_POINTS)
    found = [entry_point for entry_point in offered if entry_point.name == name]
    if not found:
        known = ", ".join([*BUILT_IN, *sorted(offered.names - BUILT_IN.keys())])
        raise SettingsError(
            f"extractor {name!r} is not known: {known},"
            " or the import path of a function, as myproject.extractors.extract"
        )
    extractors = {_from_entry_point(entry_point) for entry_point in found}
    if len(extractors) > 1:
        packages = sorted(extractor.distributions[0] for extractor in extractors)
        raise SettingsError(f"extractor {name!r} is offered by {' and '.join(packages)}")
    return extractors.pop()


def _from_entry_point(entry_point: EntryPoint) -> Extractor:
    assert entry_point.dist is not None
    package = entry_point.dist.metadata["Name"]
    return Extractor(entry_point.name, entry_point.value, (package, *_PARSERS))


@cache
def _version(extractor: Extractor) -> str:
    versions = (f"{name} {metadata.version(name)}" for name in extractor.distributions)
    return " ".join((extractor.name, *versions))
