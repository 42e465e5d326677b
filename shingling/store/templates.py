"""What the pages of a site have in common: its template, learned from the pages as they come.

Pages whose URLs have no host (files) are of one site.

A block of text that pages with different titles show is template; a paragraph only once it was
seen under four titles, so that no single page, and no two that quote it, make template of what
another one says. Of a block seen under one title so far, the store keeps that title. A page
teaches nothing by what it shares with one that it is a copy of.

The table `site_blocks` has packed entries of block and title, and of lines that stand or move (see
`shingling.store.moving`). They are added in rows, one for each batch that has met something new;
many rows of a site are merged into one, in which the oldest
blocks that have not become template give way. Of a site that is known, a store reads only the rows
that others have added since.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import chain, groupby
from operator import itemgetter
from typing import TYPE_CHECKING

import numpy as np

from shingling.store.model import SplitText
from shingling.store.moving import MAX_LINES, LineCounts, LinesMet, has_price
from shingling.store.schema.tables import fetch_rows, select_in
from shingling.text import PARAGRAPH_CHARACTERS, possible_names, title_key, title_parts

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from sqlalchemy import Connection

    from shingling.store.runs import Run
    from shingling.store.schema.rows import Row
    from shingling.text import PreparedText

MAX_TEMPLATE_BLOCKS = 32_768  # of a site
MAX_OTHER_BLOCKS = 8192  # of a site, which may become template
TEMPLATE = 0  # in place of a title

_ENTRY = np.dtype([("block", "<u8"), ("title", "<u4")])
_LINE = np.dtype(
    [("key", "<u8"), ("stood", "<u2"), ("moved", "<u2"), ("last", "<u4"), ("before", "<u4")]
)
_BLOCKS_A_SITE = 64  # that a site is counted with besides its own, for what it takes

# A key becomes template after two titles; three chained keys mean six titles are needed: the
# site's name is in all titles, a headline only in those of some versions of a page.
_PART_STEPS = (1, 2, 3)
_TITLE_STEPS = (4, 5, 6)
_PARAGRAPH_STEPS = (7, 0)  # after the first title: two more, and one
# A name that not most of the first ten titles of a site have is another note: "(used)".
_NAME_STEPS = (8, 9, 10)
_FIRST_TITLES = (11, 12, 13, 14, 15)

# What one page of a few says is its own, though some others quote it. A line's key with this bit
# changed has the count of pages that show the line; 0 with it has that of all pages.
_SHOWN = 1
_FIRST_COUNTED, _NEXT_COUNTED = 64, 16  # pages of a site that are counted: these, then 1 of so many
_MOST_SHOWN = 512  # lines of a page that are counted
_COMMON = 5  # a line is common if one of so many pages shows it,
_FEWEST_COUNTED = 20  # once as many pages are counted
_FEWEST_PARAGRAPHS = 4  # pages that show a passage as long as a paragraph

_SORTED_AS_LARGE = 8  # sorted blocks that take as much memory as one that was looked up
_MAX_LOOKED_UP = 512  # blocks of a site, from one transaction to the next
_MAX_BLOCKS_HELD = 4_000_000  # of all sites: 48 MB
_MAX_SITES_MET = 64  # of which it is known what their pages have shown in one crawl
_MAX_ROWS = 64  # of a site, from which on they are merged
_MAX_HOST = 253  # characters

_STAMPS = (
    "SELECT site, count(*), CAST(sum(id) AS bigint) FROM site_blocks WHERE site {} GROUP BY site"
)
_IDS = "SELECT site, id FROM site_blocks WHERE site {}"
_ROWS = "SELECT site, id, entries, lines FROM site_blocks WHERE id {}"
_INSERT = "INSERT INTO site_blocks (site, entries, lines) VALUES {} RETURNING site, id"
_TAKE_OUT = "DELETE FROM site_blocks WHERE site = ? RETURNING id, entries, lines"
_ROWS_AT_ONCE = 500


class Site:
    """The template of a site: what is stored of it, and what one transaction adds to that.

    Attributes:
        rows: ids of its rows in the table `site_blocks`.
        fresh: titles by block that this transaction has learned.
        number: of the template, which is another one once a block has become template.
        lines: counts of lines that stand or move, by the keys of their blocks.
        fresh_lines: those that this transaction adds.
    """

    def __init__(self) -> None:
        self.rows: list[int] = []
        self.fresh: dict[int, int] = {}
        self.number = 0
        self.lines: dict[int, LineCounts] = {}
        self.fresh_lines: dict[int, LineCounts] = {}
        # What is stored, sorted by block, but for what was learned since it was sorted last.
        self._blocks, self._titles = np.empty(0, np.uint64), np.empty(0, np.uint32)
        # What was learned or looked up since then: titles by block, None: not seen.
        self._looked_up: dict[int, int | None] = {}

    @property
    def size(self) -> int:
        """Blocks that are held, for the memory that they take."""
        looked_up = _SORTED_AS_LARGE * len(self._looked_up)
        lines = _SORTED_AS_LARGE * len(self.lines)
        return len(self._blocks) + looked_up + lines + _BLOCKS_A_SITE

    @property
    def stamp(self) -> list[int]:
        """Number of its rows, and the sum of their ids: others if another one has written."""
        return [len(self.rows), sum(self.rows)]

    def add_rows(self, rows: Mapping[int, tuple[bytes, bytes | None]]) -> None:
        """Add what is stored in rows, given by their ids: entries of blocks, and of lines."""
        self._sort()
        self._add(merge_entries(entries for entries, _ in rows.values()))
        merge_lines((lines for _, lines in rows.values()), self.lines)
        self.rows += rows

    def settle(self) -> None:
        """Take what was learned for stored: the transaction is committed."""
        self.fresh, self.fresh_lines = {}, {}
        if len(self._looked_up) > _MAX_LOOKED_UP:
            self._sort()

    def _sort(self) -> None:
        """Sort in what was learned."""
        seen = {block: title for block, title in self._looked_up.items() if title is not None}
        self._add(seen)
        self._looked_up = {}

    def _add(self, entries: Mapping[int, int]) -> None:
        """Add titles by block; a block that has another title is template then."""
        if not entries:
            return
        added = np.fromiter(entries, np.uint64, len(entries))
        blocks = np.concatenate((self._blocks, added))
        titles = np.concatenate((self._titles, np.fromiter(entries.values(), np.uint32)))
        self._blocks, first, place = np.unique(blocks, return_index=True, return_inverse=True)
        self._titles = titles[first]
        differs = self._titles[place] != titles
        self._titles[place[differs]] = TEMPLATE

    def look_up(self, blocks: Iterable[int]) -> None:
        """Look up what is stored of blocks together, before they are asked for."""
        missing = [*{*blocks}.difference(self._looked_up)]
        if not missing:
            return
        self._looked_up.update(dict.fromkeys(missing))
        wanted = np.array(missing, np.uint64)
        places = self._blocks.searchsorted(wanted)
        there = (places < len(self._blocks)).nonzero()[0]
        there = there[self._blocks[places[there]] == wanted[there]]
        for at, title in zip(there.tolist(), self._titles[places[there]].tolist(), strict=True):
            self._looked_up[missing[at]] = title

    def count_line(self, key: int, crawl: int, *, moved: bool, is_stored: bool) -> None:
        """Count that a line stood, or moved, in a crawl; if it is not stored, for this crawl."""
        counted = LineCounts(not moved, moved, crawl * moved)
        for lines in (self.lines, self.fresh_lines)[: 1 + is_stored]:
            lines[key] = lines.pop(key, LineCounts()).plus(counted)

    def counts_number(self, key: int, lines: Iterable[str]) -> bool:
        """Whether the numbers in lines are not known to move; a price never is."""
        return key not in self.lines or not self.lines[key].moves or has_price(lines)

    def learn(self, block: int, title: int) -> None:
        """Note a block of a page with this title (32 bits, not 0)."""
        before = self.title(block)
        if before not in (title, TEMPLATE):
            self.fresh[block] = self._looked_up[block] = title if before is None else TEMPLATE
            self.number += before is not None

    def learn_text(self, text: PreparedText, without: Collection[int], title: int) -> None:
        """Note the blocks of a page's text with this title, without some of them."""
        blocks = text.keys.tolist()
        self.look_up(blocks)
        for block, characters in zip(blocks, text.characters.tolist(), strict=True):
            if block in without:
                continue
            if characters < PARAGRAPH_CHARACTERS or self._looked_up[block] in (
                None,
                title,
                TEMPLATE,
            ):
                self.learn(block, title)
            else:
                self.learn_chained(block, _PARAGRAPH_STEPS, title)

    def count_page(self, text: PreparedText, title: int) -> None:
        """Count a page with this title, and which lines it shows that were seen before."""
        counted = self.lines.get(_SHOWN, LineCounts()).stood
        if counted >= _FIRST_COUNTED and title % _NEXT_COUNTED:
            return
        blocks = dict.fromkeys(text.keys.tolist())
        self.look_up(blocks)
        shown = [block for block in blocks if self._looked_up[block] is not None]
        for lines in (self.lines, self.fresh_lines):
            for block in (0, *shown[:_MOST_SHOWN]):
                key = block ^ _SHOWN
                lines[key] = lines.pop(key, LineCounts()).stood_once_more()

    def is_common(self, block: int, characters: int) -> bool:
        """Whether so many pages show a block of the template that it says nothing of one page.

        Args:
            block: its key.
            characters: of the passage that it stands in.
        """
        pages, shown = (self.lines.get(key ^ _SHOWN, LineCounts()).stood for key in (0, block))
        of_passage = _FEWEST_PARAGRAPHS if characters >= PARAGRAPH_CHARACTERS else 0
        of_site = pages / _COMMON if pages >= _FEWEST_COUNTED else 0
        return shown + 1 >= max(of_passage, of_site)  # the first page was counted before it

    def title(self, block: int) -> int | None:
        """Title that a block was seen under; None: it was not."""
        if block not in self._looked_up:
            self.look_up([block])
        return self._looked_up[block]

    def learn_chained(self, key: int, chain: Sequence[int], title: int) -> None:
        """Note a title under the first of a key's chained keys that is not yet template."""
        for step in chain:
            if not self.is_template(key ^ step):
                self.learn(key ^ step, title)
                break

    def is_template(self, block: int) -> bool:
        """Whether a block is template."""
        return self.title(block) == TEMPLATE

    def lines_of_template(self, blocks: Mapping[int, int]) -> list[int]:
        """Hashes of lines, given with the keys of their blocks, that are template."""
        self.look_up(blocks.values())
        return [line for line, block in blocks.items() if self._looked_up[block] == TEMPLATE]

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
        is_template = [self._looked_up[block] == TEMPLATE for block in blocks]
        return SplitText(text, np.array(is_template, np.bool_), self.counts_number, self.is_common)


class SiteCache:
    """What is stored of the sites that were met last, from one transaction to the next."""

    def __init__(self) -> None:
        self._sites: dict[str, Site] = {}  # the one that was met last is the last one
        self._size = 0
        self._met: dict[str, LinesMet] = {}  # likewise

    def met_in(self, run: int, name: str) -> LinesMet:
        """Lines that pages of a site have shown in a run; a transaction that failed stays in them.

        Those of the sites that were met longest ago give way.
        """
        met = self._met.pop(name, None)
        self._met[name] = met = LinesMet(run) if met is None or met.run != run else met
        if len(self._met) > _MAX_SITES_MET:
            del self._met[next(iter(self._met))]
        return met

    def take(self, name: str) -> Site:
        """Take out what was known of a site: its rows may be others now."""
        site = self._sites.pop(name, None)
        if site is None:
            return Site()
        self._size -= site.size
        return site

    def keep(self, name: str, site: Site) -> None:
        """Keep a site with what was learned; those that were met longest ago give way."""
        if not site.rows:
            return
        site.settle()
        self._sites[name] = site
        self._size += site.size
        while self._size > _MAX_BLOCKS_HELD and len(self._sites) > 1:
            self.take(next(iter(self._sites)))


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
            self.read_sites([name])
        return self._sites[name]

    def met(self, name: str, run: Run | None) -> LinesMet:
        """Lines that pages of a site have shown in a run."""
        return self.cache.met_in(0 if run is None else run.id, name)

    def read_sites(self, names: Iterable[str]) -> None:
        """Read what is known of sites, unless it was read before."""
        missing = {*names}.difference(self._sites)
        self._sites |= {name: self.cache.take(name) for name in missing}
        stamps = {name: stamp for name, *stamp in select_in(self.connection, _STAMPS, missing)}
        stored: dict[str, set[int]] = {
            name: set() for name in missing if stamps.get(name, [0, 0]) != self._sites[name].stamp
        }
        for name, row_id in select_in(self.connection, _IDS, stored):
            stored[name].add(row_id)
        unread: set[int] = set()
        for name, ids in stored.items():
            if not ids.issuperset(self._sites[name].rows):  # rows were merged, or removed
                self._sites[name] = Site()
            unread |= ids.difference(self._sites[name].rows)
        rows = sorted(select_in(self.connection, _ROWS, unread))
        for name, added in groupby(rows, itemgetter(0)):
            self._sites[name].add_rows({row_id: (raw, lines) for _, row_id, raw, lines in added})

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
        site, key = self.site(row.server), title_key(row.title or "")
        title, parts = (key >> 32) or 1, title_parts(row.title or "")
        # Looked up together, because one look-up takes as long as ten.
        asked = [key ^ _TITLE_STEPS[0], key ^ _TITLE_STEPS[-1], _FIRST_TITLES[0], _FIRST_TITLES[-1]]
        site.look_up([*asked, *(part ^ _PART_STEPS[0] for part in parts)])
        if main_text is not None:
            says_nothing = site.is_template(key ^ _TITLE_STEPS[-1])
            counted = _number(row, key) if says_nothing else title
            if not copies:
                site.count_page(main_text, counted)
            site.learn_text(main_text, shared, counted)
        if all(title_key(other.title or "") == key for other in copies):
            for part in parts:
                site.learn_chained(part, _PART_STEPS, title)
            if not site.is_template(_FIRST_TITLES[-1]):
                site.learn_chained(0, _FIRST_TITLES, title)
                for name in possible_names(row.title or ""):
                    site.learn_chained(name, _NAME_STEPS, title)

    def learn_title(self, row: Row) -> None:
        """Learn that a page is like no other: a title of many such pages says nothing."""
        key = title_key(row.title or "")
        if key:
            self.site(row.server).learn_chained(key, _TITLE_STEPS, _number(row, 0))

    def write(self) -> None:
        """Write what was learned."""
        # In one order, so that no two transactions wait for each other's rows.
        learned = [
            (name, site)
            for name, site in sorted(self._sites.items())
            if (site.fresh or site.fresh_lines) and len(name) <= _MAX_HOST
        ]
        ids = self._insert(
            [
                (name, pack_entries(site.fresh), pack_lines(site.fresh_lines))
                for name, site in learned
            ]
        )
        for name, site in learned:
            site.rows.append(ids[name])
            if len(site.rows) > _MAX_ROWS or len(site.fresh) > MAX_OTHER_BLOCKS:
                self._merge(name)

    def _insert(self, rows: Sequence[tuple[str, bytes, bytes]]) -> dict[str, int]:
        """Insert entries of blocks and lines, and return the ids of their rows by site."""
        ids: dict[str, int] = {}
        for start in range(0, len(rows), _ROWS_AT_ONCE):
            part = rows[start : start + _ROWS_AT_ONCE]
            statement = _INSERT.format(", ".join(["(?, ?, ?)"] * len(part)))
            ids.update(map(tuple, fetch_rows(self.connection, statement, *chain(*part))))
        return ids

    def _merge(self, name: str) -> None:
        """Put one row in the place of all rows of a site."""
        # Another transaction may have added some: what this one takes out is what it puts in.
        taken = sorted(fetch_rows(self.connection, _TAKE_OUT, name))
        raw = merge_newest(entries for _, entries, _ in taken)
        lines = merge_newest_lines(lines for *_, lines in taken)
        ids = self._insert([(name, raw, lines)])
        self._sites[name] = Site()
        self._sites[name].add_rows({ids[name]: (raw, lines)})

    def keep(self) -> None:
        """Leave what this transaction, which is committed, has read and learned to later ones."""
        for name, site in self._sites.items():
            self.cache.keep(name, site)


def _number(row: Row, title: int) -> int:
    """Title that stands for a page whose own says nothing: its text under that title."""
    return int.from_bytes(row.text_hash[:4], "little") ^ (title >> 32) or 1


def pack_entries(entries: Mapping[int, int]) -> bytes:
    """Titles by block as the table keeps them."""
    return np.array([*entries.items()], dtype=_ENTRY).tobytes()


def merge_entries(rows: Iterable[bytes]) -> dict[int, int]:
    """Titles by block, in the order in which they were seen; one with two titles is template."""
    titles: dict[int, int] = {}
    for block, title in np.frombuffer(b"".join(rows), dtype=_ENTRY).tolist():
        if titles.setdefault(block, title) != title:
            titles[block] = TEMPLATE
    return titles


def merge_newest(rows: Iterable[bytes]) -> bytes:
    """Merge rows of a site into one, without the oldest of too many blocks."""
    titles = merge_entries(rows)
    template = [block for block, title in titles.items() if title == TEMPLATE]
    other = [block for block, title in titles.items() if title != TEMPLATE]
    for block in (*template[:-MAX_TEMPLATE_BLOCKS], *other[:-MAX_OTHER_BLOCKS]):
        del titles[block]
    return pack_entries(titles)


def pack_lines(lines: Mapping[int, LineCounts]) -> bytes:
    """Pack counts of lines as the table keeps them."""
    return np.array([(key, *counts) for key, counts in lines.items()], dtype=_LINE).tobytes()


def merge_lines(rows: Iterable[bytes | None], lines: dict[int, LineCounts]) -> None:
    """Add what is stored of lines to their counts; those of which there is news come last."""
    for key, *counts in np.frombuffer(b"".join(filter(None, rows)), dtype=_LINE).tolist():
        lines[key] = lines.pop(key, LineCounts()).plus(LineCounts(*counts))


def merge_newest_lines(rows: Iterable[bytes | None]) -> bytes:
    """Merge counts of lines into one row, without the lines that had no news for longest."""
    lines: dict[int, LineCounts] = {}
    merge_lines(rows, lines)
    return pack_lines({key: lines[key] for key in [*lines][-MAX_LINES:]})
