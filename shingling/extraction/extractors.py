"""Extractors of the main text: those built in, those of other packages, and a user's own.

To add one here, add it to `BUILT_IN`. Another package adds one by an entry point in the group
`shingling.extractors`. Importing this module costs nothing: settings are checked with it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeAlias

from shingling.errors import SettingsError
from shingling.rules import DEFAULT_EXTRACTOR

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    from shingling.extraction.parsed import Parser

logger = logging.getLogger(__name__)

ENTRY_POINTS = "shingling.extractors"
"""The group of entry points by which other packages offer extractors."""

_RESILIPARSE = "shingling.extraction.resiliparse"
_TRAFILATURA = "shingling.extraction.trafilatura"
_LXML = ("trafilatura", "lxml")
# Imported to see whether Resiliparse is there: its parser here takes longer, with numpy.
_RESILIPARSE_MODULES = ("resiliparse.extract.html2text", "resiliparse.parse.html")


@dataclass(frozen=True)
class Extracted:
    """What an extractor function may return instead of the text alone.

    Args:
        text: the main text; None or blank if the page has none.
        title: used instead of the page's `<title>`, unless None.
        language: ISO 639 code, used instead of the one that the page declares, unless None.
    """

    text: str | None
    title: str | None = None
    language: str | None = None


ExtractorFunction: TypeAlias = Callable[[str, str | None], Extracted | str | None]
"""Takes the HTML of a page and its URL, and gives its main text, or None if there is none."""


@dataclass(frozen=True)
class Extractor:
    """An extractor, and what its text depends on.

    Args:
        name: as `DEDUP_EXTRACTOR` has it.
        parser: where the class of its parsed pages is, as `module:name`.
        function: where its function is, likewise; None if parsed pages give the main text.
        distributions: packages whose versions decide what it gives. If there are none, nobody
            knows when its text changes, and known bodies are extracted again.
        modules: that it cannot do without, of packages that may not be installed.
    """

    name: str
    parser: str
    function: str | None = None
    distributions: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()

    def load_function(self) -> ExtractorFunction | None:
        """Import the function; None if parsed pages give the main text.

        Raises:
            SettingsError: it cannot be imported, or is not a function, or another package that
                is needed cannot be imported.
        """
        try:
            for module in self.modules:
                import_module(module)
        except ImportError as error:
            raise SettingsError(
                f"{self.name} is not installed ({error}): pip install {self.name}"
            ) from error
        if self.function is None:
            return None
        try:
            function: ExtractorFunction = _imported(self.function)
        except Exception as error:  # whatever importing a user's module raises
            raise SettingsError(f"{self._described()} cannot be imported: {error}") from error
        if not callable(function):
            raise SettingsError(f"{self._described()} is not a function")
        return function

    def load_parser(self) -> Parser:
        """Import the class of its parsed pages."""
        parser: Parser = _imported(self.parser)
        return parser

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
        Extractor(
            "quick",
            f"{_RESILIPARSE}:QuickPage",
            distributions=("resiliparse", *_LXML),
            modules=_RESILIPARSE_MODULES,
        ),
        Extractor("trafilatura", f"{_TRAFILATURA}:TrafilaturaPage", distributions=_LXML),
        Extractor(
            "resiliparse",
            f"{_RESILIPARSE}:ResiliparsePage",
            distributions=("resiliparse",),
            modules=_RESILIPARSE_MODULES,
        ),
    )
}
"""The extractors of this package by name."""


def default_extractor() -> Extractor:
    """Find the extractor that is used unless another one is asked for."""
    return find_extractor(DEFAULT_EXTRACTOR)


@cache
def _quick() -> Extractor:
    """`quick`, or in its place trafilatura's fast mode if Resiliparse cannot be imported."""
    quick = BUILT_IN["quick"]
    try:
        quick.load_function()
    except SettingsError as error:
        logger.warning(
            "Resiliparse cannot be imported (%s): the extractor `quick` is trafilatura's fast"
            " mode, which takes longer and gives other texts",
            error.__cause__,
        )
        return Extractor(quick.name, f"{_TRAFILATURA}:FastTrafilaturaPage", distributions=_LXML)
    return quick


def find_extractor(name: str) -> Extractor:
    """Find an extractor by its name, or by the import path of a function (with a dot).

    Raises:
        SettingsError: no package offers an extractor of that name, or several do.
    """
    if name == DEFAULT_EXTRACTOR:
        return _quick()
    if name in BUILT_IN:
        return BUILT_IN[name]
    if "." in name:
        module, _, attribute = name.rpartition(".")
        return Extractor(name, _quick().parser, f"{module}:{attribute}")
    from importlib.metadata import entry_points  # workers need none of it

    offered = entry_points(group=ENTRY_POINTS)
    matching = [entry_point for entry_point in offered if entry_point.name == name]
    if not matching:
        known = ", ".join([*BUILT_IN, *sorted(offered.names - BUILT_IN.keys())])
        raise SettingsError(
            f"extractor {name!r} is not known: {known},"
            " or the import path of a function, as myproject.extractors.extract"
        )
    extractors = {_from_entry_point(entry_point) for entry_point in matching}
    if len(extractors) > 1:
        packages = sorted(extractor.distributions[0] for extractor in extractors)
        raise SettingsError(f"extractor {name!r} is offered by {' and '.join(packages)}")
    return extractors.pop()


def _from_entry_point(entry_point: EntryPoint) -> Extractor:
    assert entry_point.dist is not None
    package, quick = entry_point.dist.metadata["Name"], _quick()
    # Title and language come from the parsed page.
    distributions = (package, *quick.distributions)
    return Extractor(entry_point.name, quick.parser, entry_point.value, distributions)


def _imported(place: str) -> Any:
    """Import what `module:name` names."""
    module, _, attribute = place.partition(":")
    return getattr(import_module(module), attribute)


@cache
def _version(extractor: Extractor) -> str:
    from importlib.metadata import version

    versions = (f"{name} {version(name)}" for name in extractor.distributions)
    return " ".join((extractor.name, *versions))
