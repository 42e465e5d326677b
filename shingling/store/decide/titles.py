"""What titles tell of two pages: whether they are one, or two that look alike.

On one site, another title is strong evidence for another document: two pages of a reference
manual differ in little else. Only a long text says more than its title, which may be an edited
headline.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from shingling.text import differ_in_numbers_only, title_key, title_parts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shingling.store.decide.batch import WorkingSet
    from shingling.store.schema.rows import Row
    from shingling.store.templates import Site

LONG = 200  # words
SURELY = 0.9  # resemblance from which on long texts may be copies under another headline
# A part of a title, and a title, have three keys, which become template one after the other, each
# by two pages: the site's name is in all titles, a headline in those of some versions of a page.
PARTS: Sequence[int] = (1, 2, 3)
TITLES: Sequence[int] = (4, 5, 6)


def same_title(a: str, b: str, site: Site | None) -> bool:
    """Return whether two titles of a site are the same, or have one headline."""
    if title_key(a) == title_key(b):
        return True
    return have_one_headline(title_parts(a), title_parts(b), site)


def have_one_headline(a: dict[int, int], b: dict[int, int], site: Site | None) -> bool:
    """Return whether two titles have one headline, and one has all that the other has besides.

    The name of the site, and what else it has in titles, does not count, nor do numbers but for
    those of the headline: the longest part.
    """
    if site is not None:
        a, b = (
            {part: bare for part, bare in parts.items() if not site.is_template(part ^ PARTS[-1])}
            for parts in (a, b)
        )
    if not a or not b or next(iter(a)) != next(iter(b)):
        return False
    first, second = {*a.values()}, {*b.values()}
    return first <= second or second <= first


def are_two(row: Row, other: Row, alike: float, store: WorkingSet) -> bool:
    """Return whether two pages are two documents by their titles, however alike they are.

    On one site, pages with other titles are one only if both are long, without the site's
    template, and their texts are the same; or nearly so, and neither the texts nor the titles
    differ in numbers and symbols alone.

    Args:
        row: one of them.
        other: the other one.
        alike: the resemblance of their texts, or their containment.
        store: where they are.
    """
    if row.site != other.site or store.have_one_title(row, other) is not False:
        return False
    if min(store.words_left(row), store.words_left(other)) < LONG:
        return True
    if row.text_hash == other.text_hash:
        return False
    return (
        alike < SURELY
        or differ_in_numbers_only(row.title or "", other.title or "")
        or store.differ_in_numbers_only(row, other)
    )
