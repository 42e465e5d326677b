"""What a page teaches of its site's template.

A block that pages with different titles show is template. So that a copy of an article does not
turn its paragraphs into template, a page teaches nothing by what it has in common with one that
it is a copy of: one with much the same text and the same title, or a title that the site's name,
a section or the like was added to.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from shingling.text import title_key, title_parts

if TYPE_CHECKING:
    from collections.abc import Collection

    from shingling.store._rows import Row
    from shingling.store._templates import Site
    from shingling.store._values import Rules
    from shingling.store._working_set import WorkingSet

_COPY = 0.5  # resemblance of whole texts, from which on pages with one title are copies
_TITLE = 1  # what tells the key of a title from that of a part with the same words


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
    unspecific = site.is_template(key ^ _TITLE)
    blocks, parts = store.blocks(row), title_parts(row.title or "")
    again = {*former}
    for other in (*store.same_text(row), *store.candidates(row, rules)):
        if other.site != row.site or float(np.mean(row.minima == other.minima)) < _COPY:
            continue
        if title_key(other.title or "") == key:
            if unspecific:
                again.update(store.blocks(other))
        elif _is_added_to(parts, title_parts(other.title or ""), site):
            again.update(store.blocks(other))
            parts = frozenset()
    title = _number(row.text_hash) if unspecific else (key >> 32) or 1
    site.learn((block for block in blocks if block not in again), title)
    site.learn(parts, (key >> 32) or 1)


def learn_title(row: Row, store: WorkingSet) -> None:
    """Note that a page is like no other: its title does not tell pages apart if it is another's."""
    site, key = store.site(row), title_key(row.title or "")
    if site is not None and key:
        site.learn([key ^ _TITLE], _number(row.text_hash))


def _is_added_to(a: frozenset[int], b: frozenset[int], site: Site) -> bool:
    """Return whether two titles are the same but for parts that one of them lacks."""
    a, b = (frozenset(part for part in parts if not site.is_template(part)) for parts in (a, b))
    return bool(a and b) and (a <= b or b <= a)


def _number(text_hash: bytes) -> int:
    return int.from_bytes(text_hash[:4], "little") or 1
