"""What the pages of a site have in common: its template, learned from the pages as they come.

Pages whose URLs have no host (files) are of one site.

A block of text that pages with different titles show is template. Of a block seen under one
title so far, the store keeps that title. So that a copy of an article does not turn its
paragraphs into template, a page teaches nothing by what it shares with one that it is a copy of:
one with much the same text and the same headline in its title. A long text under another headline
may be a copy as well (an edited headline) or not (a notice in place of the article): its blocks
become template under a third headline only.

Entries are added in rows, one for each batch that has met something new; many rows of a site are
merged into one, in which the oldest blocks that have not become template give way.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from sqlalchemy import bindparam, delete, insert, select

from shingling.similarity import nearest
from shingling.store.model import SplitText
from shingling.store.schema.site_entries import TEMPLATE, merge_entries, pack_entries, pack_newest
from shingling.store.schema.statements import among, chunked
from shingling.store.schema.tables import site_blocks
from shingling.text import has_same_headline, title_key, title_parts

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence

    from sqlalchemy import Connection

    from shingling.store.schema.rows import Row
    from shingling.text import PreparedText


LONG_TEXT = 200  # words from which on a text says more than its title
LIKELY_COPY = 0.9  # resemblance from which on long texts may be copies under two headlines
COPY = 0.5  # resemblance from which on pages with one title are copies
MAX_COPIES = 32  # of a page that are looked at

# A key becomes template after two titles; three chained keys mean six titles are needed: the
# site's name is in all titles, a headline only in those of some versions of a page.
_PART_KEYS = (1, 2, 3)
_TITLE_KEYS = (4, 5, 6)

_MAX_ROWS = 32  # of a site, from which on they are merged
_MAX_RECENT = 2048  # entries in them, from which on they are merged
_MAX_HOST = 253  # characters
_MAX_SITES = 128  # held in memory
_SECOND_TITLE = 1 << 63  # added to a block, it is the key of its second title

_IDS = select(site_blocks.c.site, site_blocks.c.id).where(among(site_blocks.c.site))
_ROWS = (
    select(site_blocks.c.site, site_blocks.c.id, site_blocks.c.entries)
    .where(among(site_blocks.c.site))
    .order_by(site_blocks.c.site, site_blocks.c.id)
)
_INSERT = insert(site_blocks).returning(site_blocks.c.id, sort_by_parameter_order=True)
_MERGE = (
    delete(site_blocks)
    .where(site_blocks.c.site == bindparam("of"))
    .returning(site_blocks.c.id, site_blocks.c.entries)
)


class _Known:
    """What is stored of a site: the title of each block, in sorted arrays and a small dict."""

    def __init__(self, rows: Sequence[tuple[int, bytes]]) -> None:
        self.ids = {row_id for row_id, _ in rows}
        entries = merge_entries(raw for _, raw in rows)
        order = np.argsort(entries["block"])
        self.blocks, self.titles = entries["block"][order], entries["title"][order]
        self.recent: dict[int, int] = {}


SiteCache: TypeAlias = OrderedDict[str, _Known]
"""What is stored of the sites that were met last, from one transaction to the next."""


class Site:
    """The template of a site, as one transaction knows it and adds to it."""

    def __init__(self, known: _Known) -> None:
        self.known = known
        self.fresh: dict[int, int] = {}  # what this transaction has learned

    def learn(
        self, blocks: Sequence[int], title: int, doubtful: Collection[int] = frozenset()
    ) -> None:
        """Note blocks of a page with this title (32 bits, not 0).

        What is doubtful becomes template by a third title, not by a second.
        """
        for block, before in zip(blocks, self._titles(blocks), strict=True):
            if before is None:
                self.fresh[block] = title
            elif before not in (title, TEMPLATE):
                if block in doubtful and not self._is_third(block, title):
                    continue
                self.fresh[block] = TEMPLATE

    def _is_third(self, block: int, title: int) -> bool:
        """Whether a block was seen under another second title; note this one if not."""
        second = block ^ _SECOND_TITLE
        before = self._title(second)
        if before is None:
            self.fresh[second] = title
        return before not in (None, title)

    def learn_chained(self, key: int, chain: Sequence[int], title: int) -> None:
        """Note a title under the first of a key's chained keys that is not yet template."""
        for step in chain:
            if not self.is_template(key ^ step):
                self.learn([key ^ step], title)
                break

    def is_template(self, block: int) -> bool:
        """Whether a block is template."""
        return self._title(block) == TEMPLATE

    def title_parts(self, title: str) -> dict[int, int]:
        """Keys of the parts of a title, but for those that the site has in many titles."""
        return {
            part: bare
            for part, bare in title_parts(title).items()
            if not self.is_template(part ^ _PART_KEYS[-1])
        }

    def split(self, text: PreparedText) -> SplitText:
        """Split a text into what is compared and the template."""
        titles = self._titles(text.keys.tolist())
        mask = np.fromiter((title == TEMPLATE for title in titles), np.bool_, len(titles))
        return SplitText(text, mask)

    def _title(self, block: int) -> int | None:
        for learned in (self.fresh, self.known.recent):
            if block in learned:
                return learned[block]
        known = self.known
        place = int(known.blocks.searchsorted(np.uint64(block)))
        if place < len(known.blocks) and known.blocks[place] == block:
            return int(known.titles[place])
        return None

    def _titles(self, blocks: Sequence[int]) -> list[int | None]:
        found: list[int | None] = [None] * len(blocks)
        known = self.known
        if blocks and len(known.blocks):
            wanted = np.array(blocks, dtype=np.uint64)
            places = np.minimum(np.searchsorted(known.blocks, wanted), len(known.blocks) - 1)
            for at in np.flatnonzero(known.blocks[places] == wanted).tolist():
                found[at] = int(known.titles[places[at]])
        for learned in (known.recent, self.fresh):
            if learned:
                found = [learned.get(*one) for one in zip(blocks, found, strict=True)]
        return found


@dataclass
class Templates:
    """The templates of sites within one transaction.

    Args:
        connection: of the transaction.
        cache: what earlier transactions have left, and this one leaves by `keep`.
        expected: sites that the transaction may ask for: they are read together.
    """

    connection: Connection
    cache: SiteCache
    expected: set[str] = field(default_factory=set)
    _sites: dict[str, Site] = field(default_factory=dict)
    _added: dict[str, int] = field(default_factory=dict)  # ids of rows
    _merged: dict[str, _Known] = field(default_factory=dict)

    def site(self, name: str) -> Site:
        """Template of a site; one with an impossible name has none."""
        if name not in self._sites:
            self._read({name} | self.expected)
            self.expected.clear()
            self._sites.setdefault(name, Site(_Known([])))
        return self._sites[name]

    def _read(self, sites: Iterable[str]) -> None:
        missing = {site for site in sites if len(site) <= _MAX_HOST} - self._sites.keys()
        for part in chunked(missing):
            ids: dict[str, set[int]] = {site: set() for site in part}
            for site, row_id in self.connection.execute(_IDS, {"values": part}):
                ids[site].add(row_id)
            stale = [
                site for site in part if site not in self.cache or self.cache[site].ids != ids[site]
            ]
            rows: dict[str, list[tuple[int, bytes]]] = {site: [] for site in stale}
            if any(ids[site] for site in stale):
                for site, row_id, raw in self.connection.execute(_ROWS, {"values": stale}):
                    rows[site].append((row_id, raw))
            for site in part:
                known = _Known(rows[site]) if site in rows else self.cache[site]
                self._sites[site] = Site(known)

    def split(self, site: str, text: PreparedText) -> SplitText:
        """Split a text of a site into what is compared and the template."""
        return self.site(site).split(text)

    def title_parts(self, row: Row) -> dict[int, int]:
        """Keys of the parts of a page's title, but for those that its site has in many titles."""
        return self.site(row.site).title_parts(row.title or "")

    def learn(
        self,
        row: Row,
        others: Sequence[Row],
        blocks_of: Callable[[Row], Collection[int]],
        former: Row | None = None,
    ) -> None:
        """Learn from the blocks and the title of a page that is new or has changed.

        Args:
            row: the page, which has a title.
            others: pages that it may be a copy of.
            blocks_of: gives the keys of the blocks of a page's text.
            former: the page before it changed.
        """
        site, key = self.site(row.site), title_key(row.title or "")
        says_nothing = site.is_template(key ^ _TITLE_KEYS[-1])
        blocks = blocks_of(row)
        shared = set() if former is None else {*blocks_of(former)}
        doubtful: set[int] = set()
        is_copy = False
        others = [other for other in others if other.site == row.site]
        parts = site.title_parts(row.title or "") if others else {}
        for at, estimate in nearest(row.minima, [o.minima for o in others], COPY, MAX_COPIES):
            other = others[at]
            if title_key(other.title or "") == key:
                shared.update(blocks_of(other))
            elif has_same_headline(parts, site.title_parts(other.title or "")):
                shared.update(blocks_of(other))
                is_copy = True
            elif estimate >= LIKELY_COPY and min(row.words, other.words) >= LONG_TEXT:
                doubtful.update(blocks_of(other))
        title = _number(row, key) if says_nothing else (key >> 32) or 1
        site.learn([block for block in blocks if block not in shared], title, doubtful)
        if not is_copy:
            for part in title_parts(row.title or ""):
                site.learn_chained(part, _PART_KEYS, (key >> 32) or 1)

    def learn_title(self, row: Row) -> None:
        """Learn that a page is like no other: a title of many such pages says nothing."""
        key = title_key(row.title or "")
        if key:
            self.site(row.site).learn_chained(key, _TITLE_KEYS, _number(row, 0))

    def write(self) -> None:
        """Write what was learned."""
        # In one order, so that no two transactions wait for each other's rows.
        learned = {
            name: site
            for name, site in sorted(self._sites.items())
            if site.fresh and len(name) <= _MAX_HOST
        }
        if not learned:
            return
        rows = [
            {"site": name, "entries": pack_entries(site.fresh)} for name, site in learned.items()
        ]
        ids = self.connection.scalars(_INSERT, rows).all()
        for (name, site), row_id in zip(learned.items(), ids, strict=True):
            known = site.known
            recent = len(known.recent) + len(site.fresh)
            if len(known.ids) >= _MAX_ROWS or recent >= _MAX_RECENT:
                self._merged[name] = self._merge(name)
            else:
                self._added[name] = row_id

    def _merge(self, name: str) -> _Known:
        """Put one row in the place of a site's rows."""
        # Another transaction may merge them too: what this one takes out is what it puts in.
        rows = sorted(map(tuple, self.connection.execute(_MERGE, {"of": name})))
        raw = pack_newest(raw for _, raw in rows)
        (row_id,) = self.connection.scalars(_INSERT, [{"site": name, "entries": raw}])
        return _Known([(row_id, raw)])

    def keep(self) -> None:
        """Leave what this transaction, which is committed, has read and learned to later ones."""
        for name, site in self._sites.items():
            if len(name) > _MAX_HOST:
                continue
            if name in self._merged:
                known = self._merged[name]
            else:
                known = site.known
                known.recent.update(site.fresh)
                if name in self._added:
                    known.ids.add(self._added[name])
            self.cache[name] = known
            self.cache.move_to_end(name)
        while len(self.cache) > _MAX_SITES:
            self.cache.popitem(last=False)


def split_page(connection: Connection, site: str, text: PreparedText) -> SplitText:
    """Split a main text of a site, by what is known now."""
    return Templates(connection, OrderedDict()).split(site, text)


def _number(row: Row, title: int) -> int:
    """Title that stands for a page whose own says nothing: its text under that title."""
    return int.from_bytes(row.text_hash[:4], "little") ^ (title >> 32) or 1
