"""Compare a page with another one, by their titles, URLs and texts."""

from __future__ import annotations

import re
from functools import cached_property
from typing import TYPE_CHECKING

from shingling.store.urls import end_alike, folders_of
from shingling.text import (
    has_same_headline,
    headline_keys,
    scripts,
    split_numbering,
    title_key,
    title_parts,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shingling.rules.rules import Rules
    from shingling.similarity.own_text import OwnPassage
    from shingling.store.decide.texts import Similarity, Texts
    from shingling.store.schema.rows import Row

SAME_PAGE = 0.8
"""Resemblance of whole texts at which pages of a site with one title are one."""

_LONG_PATH = 10  # characters of a URL that are no number or word by chance
_NUMBER = re.compile(r"\d+|[^\W\d_]+")


class Pair:
    """A page and another one; each comparison is made once, when it is asked for.

    Args:
        row: the page.
        other: the other one.
        texts: of the batch.
    """

    def __init__(self, row: Row, other: Row, texts: Texts) -> None:
        self.row, self.other, self.texts = row, other, texts
        self.is_on_one_site = row.site == other.site

    @cached_property
    def have_one_title(self) -> bool | None:
        """Whether both have one title or headline; None if one has no title."""
        titles = self.row.title or "", self.other.title or ""
        keys = [*map(title_key, titles)]
        if not all(keys):
            return None
        if keys[0] == keys[1]:
            return True
        parts = self.texts.title_parts(self.row)
        return has_same_headline(*map(parts, titles))

    @property
    def have_other_titles(self) -> bool:
        """Whether both titles are known, and they are not the same."""
        return self.have_one_title is False

    @cached_property
    def are_renamed(self) -> bool:
        """Whether the titles of two pages of a site differ in numbering or script only.

        Their URLs end alike. A number that the URL has as well says which page it is:
        `/lesson-1/quiz` and `/lesson-2/quiz`.
        """
        row, other = self.row, self.other
        if not end_alike(row.url, other.url):
            return False
        (first, title), (second, other_title) = (
            split_numbering(page.title or "") for page in (row, other)
        )
        if _is_in_folders(first, row) and _is_in_folders(second, other):
            return False
        parts = self.texts.title_parts(row)
        are_translated = scripts(title) != scripts(other_title)
        return are_translated or has_same_headline(parts(title), parts(other_title))

    @property
    def are_one_document(self) -> bool:
        """Whether both are of one site and have one title, apart from numbering."""
        return self.is_on_one_site and (self.have_one_title is True or self.are_renamed)

    @property
    def has_template(self) -> bool:
        """Whether a part of one of them is its site's template."""
        splits = map(self.texts.split, (self.row, self.other))
        return any(split.has_template for split in splits if split is not None)

    def similarity(self, least: float) -> Similarity:
        """Measure both without the templates of their sites.

        Pages of one site can only look more alike by its template: whole, they must be alike as
        well. If they are one document, they are one page if they are nearly the same as a whole.

        Args:
            least: resemblance that is asked for.
        """
        left = self.texts.measure(self.row, self.other)
        if not self.is_on_one_site:
            return left
        whole = self.texts.measure(self.row, self.other, whole=True)
        if whole.resemblance >= max(least, SAME_PAGE) and self.are_one_document:
            return whole
        return min(left, whole)

    @property
    def is_all_said(self) -> bool:
        """Whether the other one has every line of the page, and its headline as a line."""
        from shingling.similarity.own_text import own_lines

        both = self.texts.lines(self.row, self.other, 0)
        if both is None:
            return False
        headline = next(iter(title_parts(self.row.title or "")), 0)
        return headline in map(title_key, both[1]) and not own_lines(*both)

    def own_passage(self, rules: Rules) -> OwnPassage | None:
        """Find what the page says that the other one, which is of its site, does not.

        Under another title, any line counts. If titles count as the same, or do not count, so do
        headlines.

        Args:
            rules: how pages are decided.
        """
        from shingling.similarity.own_text import other_number, own_passage

        row, other = self.row, self.other
        min_words, strict = rules.min_words, rules.own_text == "strict"
        both = self.texts.lines(row, other, min_words)
        if both is None:
            return None
        headlines = frozenset[int]()
        if self.have_other_titles and not self.are_renamed and rules.titles != "ignore":
            strict = True
        elif (row.title or "") != (other.title or ""):
            headlines = headline_keys(row.title or "")

        def own(lines: Sequence[str]) -> list[str]:
            return [line for line in _without_path(row, lines) if title_key(line) not in headlines]

        text, other_text = map(self.texts.split, (row, other))
        if text is not None and other_text is not None:
            numbers = {key: own(lines) for key, lines in text.counted_numbers.items()}
            others = {
                key: _without_path(other, lines) for key, lines in other_text.numbered.items()
            }
            if passage := other_number(numbers, others):
                return passage
        return own_passage(own(both[0]), both[1], min_words, strict=strict)


def _without_path(row: Row, lines: Sequence[str]) -> Sequence[str]:
    """Take the path of a page's URL out of lines: pages that are missing repeat it."""
    path = row.url.split("/", 3)[-1]
    return [line.replace(path, "") for line in lines] if len(path) >= _LONG_PATH else lines


def _is_in_folders(number: str, row: Row) -> bool:
    folders = folders_of(row.url).casefold()
    numbers = (part.lstrip("0") for part in _NUMBER.findall(folders))
    return number.casefold() in numbers or ("." in number and number in folders)
