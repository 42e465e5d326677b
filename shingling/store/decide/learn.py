"""What a page teaches of its site's template.

A block that pages with different titles show is template. So that a copy of an article does not
turn its paragraphs into template, a page teaches nothing by what it has in common with one that
it is a copy of: one with much the same text and the same headline in its title. A long text under
another headline may be a copy as well (an edited headline) or not (a notice in the place of the
article): it takes a third headline to make template of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from shingling.store.decide.titles import LONG, PARTS, SURELY, TITLES, have_one_headline
from shingling.text import title_key, title_parts

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from shingling.store.decide.batch import WorkingSet
    from shingling.store.rules import Rules
    from shingling.store.schema.rows import Row
    from shingling.store.templates import Site

_COPY = 0.5  # resemblance of whole texts, from which on pages with one title are copies
_LOOKED_AT = 32


def learn(row: Row, rules: Rules, store: WorkingSet, former: Collection[int] = ()) -> None:
    """Note the blocks and the title of a page that is new or has changed.

    Args:
        row: the page.
        rules: how pages like it are found.
        store: where they are.
        former: blocks that the page had before.
    """
    site, key = store.site(row), title_key(row.title or "")
    if site is None or not key:
        return
    unspecific = site.is_template(key ^ TITLES[-1])
    blocks, parts = store.blocks(row), title_parts(row.title or "")
    again = {*former}
    doubtful: set[int] = set()
    is_copy = False
    for other, estimate in _alike(row, _others(row, rules, store)):
        if title_key(other.title or "") == key:
            again.update(store.blocks(other))
        elif have_one_headline(parts, title_parts(other.title or ""), site):
            again.update(store.blocks(other))
            is_copy = True
        elif estimate >= SURELY and min(row.words, other.words) >= LONG:
            doubtful.update(store.blocks(other))
    title = _number(row, key) if unspecific else (key >> 32) or 1
    site.learn([block for block in blocks if block not in again], title, doubtful)
    if not is_copy:
        for part in parts:
            _climb(part, PARTS, (key >> 32) or 1, site)


def learn_title(row: Row, store: WorkingSet) -> None:
    """Note that a page is like no other: a title that many such pages have tells nothing."""
    site, key = store.site(row), title_key(row.title or "")
    if site is not None and key:
        _climb(key, TITLES, _number(row, 0), site)


def _climb(key: int, steps: Sequence[int], title: int, site: Site) -> None:
    """Note a page under the first of a key's steps that is not yet template."""
    for step in steps:
        if not site.is_template(key ^ step):
            site.learn([key ^ step], title)
            break


def _others(row: Row, rules: Rules, store: WorkingSet) -> list[Row]:
    """Return pages that may be like this one: originals, and their newest duplicates."""
    twins = store.same_text(row)
    candidates = [] if rules.method == "exact" else store.candidates(row, rules)
    heads = {head.id: head for head in (*map(store.head, twins), *candidates) if head is not row}
    others = {other.id: other for other in (*twins, *heads.values())}
    for head, _ in _alike(row, [*heads.values()], one_site=False):
        others.update((member.id, member) for member in store.newest(head) if member is not row)
    return [*others.values()]


def _alike(row: Row, others: Sequence[Row], *, one_site: bool = True) -> list[tuple[Row, float]]:
    """Return which of the others, or of those on its site, have much the same text; how much.

    The nearest come first.
    """
    others = [other for other in others if other.site == row.site or not one_site]
    if not others:
        return []
    estimates = (np.stack([other.minima for other in others]) == row.minima).mean(axis=1)
    nearest = np.argsort(-estimates, kind="stable")[:_LOOKED_AT]
    return [(others[at], estimates[at]) for at in nearest.tolist() if estimates[at] >= _COPY]


def _number(row: Row, title: int) -> int:
    """Return what stands for a page whose title tells nothing: its text under that title."""
    return int.from_bytes(row.text_hash[:4], "little") ^ (title >> 32) or 1
