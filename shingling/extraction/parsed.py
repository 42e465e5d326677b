"""A parsed page: one tree gives its main text, title, language and canonical link."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from functools import cached_property
from typing import TYPE_CHECKING, Self, TypeAlias

from shingling.text import canonical_words, plain_line

if TYPE_CHECKING:
    from collections.abc import Iterator

ENOUGH_WORDS = 80
"""Words of a text below which it may lack what is between two headings."""

_ENOUGH_CHARACTERS = 2000  # of which the words need not be counted
_MAX_TITLE_CHARACTERS = 500
# What single-page applications keep the data of a page in.
_STATE = re.compile(r"__(?:(?:INITIAL|PRELOADED|APOLLO|REDUX)_STATE|NEXT_DATA|NUXT|DATA)__")


class ParsedPage(ABC):
    """A page and its tree. A subclass is a parser, with the main text as one extractor sees it."""

    @classmethod
    @abstractmethod
    def parse(cls, html: str) -> Self | None:
        """Parse a page; None if it is not HTML.

        Args:
            html: without NUL and lone surrogates.
        """

    @classmethod
    def parse_head(cls, html: str) -> ParsedPage | None:
        """Parse the beginning of a page, if no main text is asked for."""
        return cls.parse(html)

    @abstractmethod
    def main_text(self, url: str | None) -> str | None:
        """Extract the main text.

        Args:
            url: where the page came from; helps some extractors.
        """

    @cached_property
    def title(self) -> str | None:
        """Its `<title>`, as one line."""
        return plain_title(self._title_text() or "")

    @property
    def language(self) -> str | None:
        """ISO 639 code of the language that it declares."""
        return language_code(self._root_attribute("lang") or self._root_attribute("xml:lang"))

    @property
    def canonical(self) -> str | None:
        """The URL that it declares as canonical, as it is written there."""
        for rel, href in self._links():
            if "canonical" in (rel or "").lower().split():
                return href.strip()
        return None

    @property
    def has_data(self) -> bool:
        """Whether it has data for scripts: JSON, or the state of a framework."""
        for kind, script in self._scripts():
            if "json" in (kind or "").lower() or _STATE.search(script):
                return True
        return self._has_json_attribute()

    @abstractmethod
    def _title_text(self) -> str | None:
        """Text of its title element: the one of its head, if there are several."""

    @abstractmethod
    def _root_attribute(self, name: str) -> str | None:
        """Value of an attribute of `<html>`."""

    @abstractmethod
    def _links(self) -> list[tuple[str | None, str]]:
        """`rel` and `href` of its link elements that have the second."""

    @abstractmethod
    def _scripts(self) -> Iterator[tuple[str | None, str]]:
        """`type` and content of its script elements."""

    @abstractmethod
    def _has_json_attribute(self) -> bool:
        """Whether the value of an attribute begins as a JSON object, or a list of them."""


Parser: TypeAlias = type[ParsedPage]
"""A class of parsed pages."""


def plain_title(title: str) -> str | None:
    """Put a title on one line, and cut it at 500 characters; None if nothing is left."""
    return plain_line(title[: 4 * _MAX_TITLE_CHARACTERS])[:_MAX_TITLE_CHARACTERS] or None


def language_code(declared: str | None) -> str | None:
    """ISO 639 code at the beginning of a language tag, as `en` of `en-GB`."""
    match = re.match(r"([a-zA-Z]{2,3})(?![a-zA-Z])", (declared or "").strip())
    return match[1].lower() if match else None


def is_enough(text: str | None) -> bool:
    """Whether a text is too long to be only what is around an article."""
    return text is not None and (len(text) > _ENOUGH_CHARACTERS or words(text) >= ENOUGH_WORDS)


def words(text: str | None) -> int:
    """Count the words of a text."""
    return len(canonical_words(text or ""))
