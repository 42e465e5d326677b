"""What the pages of a site have in common: its template, learned from the pages as they come.

Pages whose URLs have no host (files) are of one site.

A block of text that pages with different titles show is template; a paragraph only once it was
seen under four titles, so that no single page, and no two that quote it, make template of what
another one says. Of a block seen under one title so far, the store keeps that title. A page
teaches nothing by what it shares with one that it is a copy of.

The table `site_blocks` has packed entries of block and title. They are added in rows, one for each
batch that has met something new; many rows of a site are merged into one, in which the oldest
blocks that have not become template give way. Of a site that is known, a store reads only the rows
that others have added since.
"""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from copy import copy
from dataclasses import dataclass, field
from itertools import chain, groupby
from operator import itemgetter
from typing import TYPE_CHECKING

import numpy as np

from shingling.store.model import SplitText
from shingling.store.schema.tables import fetch_rows, select_in
from shingling.store.urls import site_of
from shingling.text import PARAGRAPH_CHARACTERS, possible_names, title_key, title_parts

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from sqlalchemy import Connection

    from shingling.arrays import Hashes, Integers, Numbers, Records
    from shingling.store.model import Page
    from shingling.store.schema.rows import Row
    from shingling.text import PreparedText

MAX_TEMPLATE_BLOCKS = 32_768  # of a site
MAX_OTHER_BLOCKS = 8192  # of a site, which may become template
TEMPLATE = 0  # in place of a title

_ENTRY = np.dtype([("block", "<u8"), ("title", "<u4")])
_BLOCKS_A_SITE = 64  # that a site is counted with besides its own, for what it takes

# A key becomes template after two titles; three chained keys mean six titles are needed: the
# site's name is in all titles, a headline only in those of some versions of a page.
_PART_STEPS = (1, 2, 3)
_TITLE_STEPS = (4, 5, 6)
_PARAGRAPH_STEPS = (7, 0)  # after the first title: two more, and one
# A name that not most of the first ten titles of a site have is another note: "(used)".
_NAME_STEPS = (8, 9, 10)
_FIRST_TITLES = (11, 12, 13, 14, 15)

_MAX_BLOCKS_HELD = 4_000_000  # of all sites: 48 MB
_MAX_ROWS = 64  # of a site, from which on they are merged
_MAX_HOST = 253  # characters

_STAMPS = "SELECT site, count(*), sum(id) FROM site_blocks WHERE site {} GROUP BY site"
_IDS = "SELECT site, id FROM site_blocks WHERE site {}"
_ROWS = "SELECT site, id, entries FROM site_blocks WHERE id {}"
_INSERT = "INSERT INTO site_blocks (site, entries) VALUES {} RETURNING site, id"
_TAKE_OUT = "DELETE FROM site_blocks WHERE site = ? RETURNING id, entries"
_ROWS_AT_ONCE = 500


class KnownSite:
    """What is stored of a site: the title of each block, in sorted arrays.

    Args:
        rows: of the table `site_blocks`, with their ids.

    Attributes:
        rows: their ids.
    """

    def __init__(self, rows: Sequence[tuple[int, bytes]] = ()) -> None:
        self.rows: list[int] = []
        self._blocks, self._titles = np.empty(0, np.uint64), np.empty(0, np.uint32)
        self.add_rows(rows)

    @property
    def stamp(self) -> tuple[int, int]:
        """Number of the rows, and sum of their ids: it changes with every change of the rows."""
        return len(self.rows), sum(self.rows)

    @property
    def size(self) -> int:
        """Blocks that are held, for the memory that they take."""
        return len(self._blocks) + _BLOCKS_A_SITE

    def titles(self, blocks: Sequence[int]) -> list[int | None]:
        """Title that each block is stored with, or None."""
        found: list[int | None] = [None] * len(blocks)
        there, places = self._find(np.array(blocks, dtype=np.uint64))
        for at, title in zip(there.tolist(), self._titles[places].tolist(), strict=True):
            found[at] = title
        return found

    def add(self, learned: dict[int, int], rows: Sequence[int]) -> None:
        """Add what was learned, and is stored now, in rows with these ids."""
        self.rows = [*rows]
        if learned:
            blocks = np.fromiter(learned, np.uint64, len(learned))
            self._add(blocks, np.fromiter(learned.values(), np.uint32, len(learned)))

    def add_rows(self, rows: Sequence[tuple[int, bytes]]) -> None:
        """Add rows that others have written; a block with another title is template then."""
        entries = merge_entries(raw for _, raw in rows)
        there, places = self._find(entries["block"])
        differs = self._titles[places] != entries["title"][there]
        entries["title"][there[differs]] = TEMPLATE
        self._add(entries["block"], entries["title"])
        self.rows = [*self.rows, *(row_id for row_id, _ in rows)]

    def _find(self, blocks: Hashes) -> tuple[Integers, Integers]:
        """Which of some blocks are held, and where."""
        places = self._blocks.searchsorted(blocks)
        there = (places < len(self._blocks)).nonzero()[0]
        there = there[self._blocks[places[there]] == blocks[there]]
        return there, places[there]

    def _add(self, blocks: Hashes, titles: Numbers) -> None:
        """Add entries, which take the place of those that are held of the same blocks."""
        joined = np.concatenate((self._blocks, blocks))
        order = np.argsort(joined, kind="stable")
        ordered = joined[order]
        is_last = np.ones(len(order), np.bool_)
        np.not_equal(ordered[1:], ordered[:-1], out=is_last[:-1])
        self._blocks = ordered[is_last]
        self._titles = np.concatenate((self._titles, titles))[order[is_last]]


class SiteCache:
    """What is stored of the sites that were met last, from one transaction to the next."""

    def __init__(self) -> None:
        self._sites: OrderedDict[str, KnownSite] = OrderedDict()
        self._size = 0

    def get(self, name: str) -> KnownSite:
        """Take what was known of a site: its rows may be others now."""
        return self._sites.get(name) or KnownSite()

    def keep(self, name: str, site: Site) -> None:
        """Keep a site with what was learned; those that were met longest ago give way."""
        self._forget(name)
        if not site.rows:
            return
        site.known.add(site.fresh, site.rows)
        self._sites[name] = site.known
        self._size += site.known.size
        while self._size > _MAX_BLOCKS_HELD and len(self._sites) > 1:
            self._forget(next(iter(self._sites)))

    def _forget(self, name: str) -> None:
        known = self._sites.pop(name, None)
        if known is not None:
            self._size -= known.size


class Site:
    """The template of a site, as one transaction knows it and adds to it.

    Attributes:
        known: what was stored before.
        fresh: titles by block that this transaction has learned.
        rows: ids of the rows with both, once they are written.
        number: of the template, which is another one once a block has become template.
    """

    def __init__(self, known: KnownSite) -> None:
        self.known, self.rows = known, known.rows
        self.number = 0
        self.fresh: dict[int, int] = {}
        self._titles: dict[int, int | None] = {}  # of blocks that were asked for

    def look_up(self, blocks: Sequence[int]) -> None:
        """Look up blocks together, before they are asked for."""
        missing = [*{*blocks}.difference(self._titles)]
        if missing:
            self._titles.update(zip(missing, self.known.titles(missing), strict=True))

    def learn(self, block: int, title: int) -> None:
        """Note a block of a page with this title (32 bits, not 0)."""
        before = self.title(block)
        if before not in (title, TEMPLATE):
            self.fresh[block] = self._titles[block] = title if before is None else TEMPLATE
            self.number += before is not None

    def learn_text(self, text: PreparedText, without: Collection[int], title: int) -> None:
        """Note the blocks of a page's text with this title, without some of them."""
        blocks = text.keys.tolist()
        self.look_up(blocks)
        for block, characters in zip(blocks, text.characters.tolist(), strict=True):
            if block in without:
                continue
            if characters < PARAGRAPH_CHARACTERS or self._titles[block] in (None, title, TEMPLATE):
                self.learn(block, title)
            else:
                self.learn_chained(block, _PARAGRAPH_STEPS, title)

    def title(self, block: int) -> int | None:
        """Title that a block was seen under; None: it was not."""
        if block not in self._titles:
            self.look_up([block])
        return self._titles[block]

    def learn_chained(self, key: int, chain: Sequence[int], title: int) -> None:
        """Note a title under the first of a key's chained keys that is not yet template."""
        for step in chain:
            if self.title(key ^ step) != TEMPLATE:
                self.learn(key ^ step, title)
                break

    def is_template(self, block: int) -> bool:
        """Whether a block is template."""
        return self.title(block) == TEMPLATE

    def title_parts(self, title: str) -> dict[int, int]:
        """Keys of the parts of a title, but for those that the site has in many titles."""
        parts = title_parts(title)
        for name, rest in possible_names(title).items():
            if self.is_template(name ^ _NAME_STEPS[-1]):
                parts = title_parts(rest) | {name: name}
        return {
            part: bare
            for part, bare in parts.items()
            if not self.is_template(part ^ _PART_STEPS[-1])
        }

    def split(self, text: PreparedText) -> SplitText:
        """Split a text into what is compared and the template."""
        blocks = text.keys.tolist()
        self.look_up(blocks)
        titles = self._titles
        return SplitText(text, np.array([titles[block] == TEMPLATE for block in blocks], np.bool_))


@dataclass
class Templates:
    """The templates of sites within one transaction.

    Args:
        connection: of the transaction.
        cache: what earlier transactions have left, and this one leaves by `keep`.
    """

    connection: Connection
    cache: SiteCache
    _sites: dict[str, Site] = field(default_factory=dict)

    def site(self, name: str) -> Site:
        """Template of a site; one with an impossible name has none."""
        if name not in self._sites:
            self.read([name])
        return self._sites[name]

    def read(self, names: Iterable[str]) -> None:
        """Read what is known of sites, unless it was read before."""
        missing = {*names}.difference(self._sites)
        if not missing:
            return
        known = {name: self.cache.get(name) for name in missing}
        stamps = dict.fromkeys(missing, KnownSite().stamp)
        for name, number, total in select_in(self.connection, _STAMPS, missing):
            stamps[name] = number, int(total)
        known |= self._changed(
            {name: site for name, site in known.items() if site.stamp != stamps[name]}
        )
        for name, site in known.items():
            self._sites[name] = Site(site)

    def _changed(self, known: Mapping[str, KnownSite]) -> dict[str, KnownSite]:
        """Read what is stored now of sites that others have written to, but for what is known."""
        stored = {name: set[int]() for name in known}
        for name, row_id in select_in(self.connection, _IDS, known):
            stored[name].add(row_id)
        now = {
            name: site if stored[name].issuperset(site.rows) else KnownSite()
            for name, site in known.items()
        }
        wanted = chain.from_iterable(
            stored[name].difference(site.rows) for name, site in now.items()
        )
        rows = sorted(map(tuple, select_in(self.connection, _ROWS, wanted)))
        for name, own in groupby(rows, key=itemgetter(0)):
            now[name] = copy(now[name])  # the cache has only what is committed
            now[name].add_rows([(row_id, raw) for _, row_id, raw in own])
        return now

    def look_up(self, pages: Iterable[Page]) -> None:
        """Look up all that pages may teach: the keys of their blocks and titles."""
        keys = defaultdict[str, list[int]](list)
        for page in pages:
            keys[site_of(page.url)] += _keys_of(page)
        self.read(keys)
        for name, own in keys.items():
            self._sites[name].look_up(own)

    def learn(
        self,
        row: Row,
        copies: Sequence[Row],
        main_text: PreparedText | None,
        shared: Collection[int],
    ) -> None:
        """Learn from the blocks and the title of a page that is new or has changed.

        Args:
            row: the page, which has a title.
            copies: pages of its site that it may be a copy of.
            main_text: of the page; None if it is not kept.
            shared: keys of the blocks of its copies, and of the page before it changed.
        """
        site, key = self.site(row.site), title_key(row.title or "")
        title = (key >> 32) or 1
        if main_text is not None:
            says_nothing = site.is_template(key ^ _TITLE_STEPS[-1])
            site.learn_text(main_text, shared, _number(row, key) if says_nothing else title)
        if all(title_key(other.title or "") == key for other in copies):
            for part in title_parts(row.title or ""):
                site.learn_chained(part, _PART_STEPS, title)
            if not site.is_template(_FIRST_TITLES[-1]):
                site.learn_chained(0, _FIRST_TITLES, title)
                for name in possible_names(row.title or ""):
                    site.learn_chained(name, _NAME_STEPS, title)

    def learn_title(self, row: Row) -> None:
        """Learn that a page is like no other: a title of many such pages says nothing."""
        key = title_key(row.title or "")
        if key:
            self.site(row.site).learn_chained(key, _TITLE_STEPS, _number(row, 0))

    def write(self) -> None:
        """Write what was learned."""
        # In one order, so that no two transactions wait for each other's rows.
        learned = [
            (name, site)
            for name, site in sorted(self._sites.items())
            if site.fresh and len(name) <= _MAX_HOST
        ]
        ids = self._insert([(name, pack_entries(site.fresh)) for name, site in learned])
        for name, site in learned:
            site.rows = [*site.known.rows, ids[name]]
            if len(site.rows) > _MAX_ROWS or len(site.fresh) > MAX_OTHER_BLOCKS:
                self._merge(name)

    def _insert(self, rows: Sequence[tuple[str, bytes]]) -> dict[str, int]:
        """Insert entries of sites, and return the ids of their rows by site."""
        ids: dict[str, int] = {}
        for start in range(0, len(rows), _ROWS_AT_ONCE):
            part = rows[start : start + _ROWS_AT_ONCE]
            statement = _INSERT.format(", ".join(["(?, ?)"] * len(part)))
            ids.update(map(tuple, fetch_rows(self.connection, statement, *chain(*part))))
        return ids

    def _merge(self, name: str) -> None:
        """Put one row in the place of all rows of a site."""
        # Another transaction may have added some: what this one takes out is what it puts in.
        taken = sorted(map(tuple, fetch_rows(self.connection, _TAKE_OUT, name)))
        raw = merge_newest(entries for _, entries in taken).tobytes()
        ids = self._insert([(name, raw)])
        self._sites[name] = Site(KnownSite([(ids[name], raw)]))

    def keep(self) -> None:
        """Leave what this transaction, which is committed, has read and learned to later ones."""
        for name, site in self._sites.items():
            self.cache.keep(name, site)


def _keys_of(page: Page) -> list[int]:
    """Keys of a page's blocks, and those under which its title and its parts are learned."""
    keys = [] if page.main_text is None else page.main_text.keys.tolist()
    if page.title:
        keys += [*_FIRST_TITLES, *(title_key(page.title) ^ step for step in _TITLE_STEPS)]
        keys += [part ^ step for part in title_parts(page.title) for step in _PART_STEPS]
    return keys


def _number(row: Row, title: int) -> int:
    """Title that stands for a page whose own says nothing: its text under that title."""
    return int.from_bytes(row.text_hash[:4], "little") ^ (title >> 32) or 1


def pack_entries(entries: dict[int, int]) -> bytes:
    """Titles by block as the table keeps them."""
    return np.array([*entries.items()], dtype=_ENTRY).tobytes()


def merge_entries(rows: Iterable[bytes]) -> Records:
    """One entry a block, in the order in which they were seen; one with two titles is template.

    Rows that are no entries, in a damaged store, are left out.
    """
    entries = np.frombuffer(b"".join(filter(are_entries, rows)), dtype=_ENTRY)
    _, first, place = np.unique(entries["block"], return_index=True, return_inverse=True)
    merged = entries[first]
    differs = entries["title"] != merged["title"][place]
    merged["title"][place[differs]] = TEMPLATE
    return merged[np.argsort(first)]


def merge_newest(rows: Iterable[bytes]) -> Records:
    """Merge rows of a site into one, without the oldest of too many blocks."""
    entries = merge_entries(rows)
    is_template = entries["title"] == TEMPLATE
    template, other = np.flatnonzero(is_template), np.flatnonzero(~is_template)
    gone = np.concatenate([template[:-MAX_TEMPLATE_BLOCKS], other[:-MAX_OTHER_BLOCKS]])
    return np.delete(entries, gone)


def are_entries(raw: object) -> bool:
    """Whether a value may be what the store keeps of a site."""
    return type(raw) is bytes and len(raw) > 0 and len(raw) % _ENTRY.itemsize == 0
