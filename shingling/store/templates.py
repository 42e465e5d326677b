"""What the pages of a site have in common: its template, learned from the pages as they come.

Pages whose URLs have no host (files) are of one site.
A block of text that was seen on pages of a site with different titles is template. Of a block
seen under one title so far, the store keeps that title. Entries are added in rows, a row for
each batch that has met something new; many rows of a site are merged into one, in which the
oldest blocks that have not become template give way.
"""

from __future__ import annotations

from collections import OrderedDict
from itertools import compress, groupby
from operator import itemgetter
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from sqlalchemy import bindparam, delete, insert, select

from shingling.store.index.lookup import some
from shingling.store.schema.tables import site_blocks
from shingling.text import split_blocks

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence
    from typing import Any

    from sqlalchemy import BindParameter, Connection

    from shingling.text import Blocks

    Mask = np.ndarray[tuple[int], np.dtype[np.bool_]]
    Entries = np.ndarray[tuple[int], np.dtype[np.void]]  # of `_ENTRY`

MOST_TEMPLATE = 32_768  # blocks of a site
MOST_OTHER = 8192  # that may become template
_ROWS = 32  # of a site, from which on they are merged
_RECENT = 2048  # entries in them, from which on they are merged
_HOST = 253  # characters in a host's name at most
_READ = 64  # rows at a time
_SITES = 128  # held in memory
_TEMPLATE = 0  # in place of a title
_SECOND = 1 << 63  # what tells the key of a second title

_ENTRY = np.dtype([("block", "<u8"), ("title", "<u4")])
_IN: BindParameter[Any] = bindparam("some", expanding=True)
_IDS = select(site_blocks.c.site, site_blocks.c.id).where(site_blocks.c.site.in_(_IN))
_ROWS_OF = (
    select(site_blocks.c.site, site_blocks.c.id, site_blocks.c.entries)
    .where(site_blocks.c.site.in_(_IN))
    .order_by(site_blocks.c.site, site_blocks.c.id)
)
_INSERT = insert(site_blocks).returning(site_blocks.c.id, sort_by_parameter_order=True)
_MERGE = (
    delete(site_blocks)
    .where(site_blocks.c.site == bindparam("of"))
    .returning(site_blocks.c.id, site_blocks.c.entries)
)


class Parted(NamedTuple):
    """A main text, parted into what is compared and the blocks that are its site's template."""

    left: str
    template: tuple[str, ...]

    @property
    def share(self) -> float:
        """Return the share of template, by characters."""
        gone = sum(map(len, self.template))
        return gone / (gone + len(self.left.replace("\n", ""))) if gone else 0.0


class _Known:
    """What is known of a site: the title of each block, in sorted arrays and a small dict."""

    def __init__(self, rows: Sequence[tuple[int, bytes]]) -> None:
        self.ids = {row_id for row_id, _ in rows}
        entries = _merged(raw for _, raw in rows)
        order = np.argsort(entries["block"])
        self.blocks, self.titles = entries["block"][order], entries["title"][order]
        self.recent: dict[int, int] = {}


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
            elif before not in (title, _TEMPLATE):
                if block in doubtful and not self._is_third(block, title):
                    continue
                self.fresh[block] = _TEMPLATE

    def _is_third(self, block: int, title: int) -> bool:
        """Return whether a block was seen under another second title; note this one if not."""
        second = block ^ _SECOND
        before = self._title(second)
        if before is None:
            self.fresh[second] = title
        return before not in (None, title)

    def __bool__(self) -> bool:
        """Return whether anything is known."""
        return bool(self.fresh or self.known.recent or len(self.known.blocks))

    def is_template(self, block: int) -> bool:
        """Return whether a block is template."""
        return self._title(block) == _TEMPLATE

    def mask(self, blocks: Blocks) -> Mask:
        """Return which of the blocks are template: bool[n]."""
        titles = self._titles(blocks.tolist())
        return np.fromiter((title == _TEMPLATE for title in titles), np.bool_, len(titles))

    def part(self, text: str, lines: Sequence[str], blocks: Blocks) -> Parted:
        """Return a text, given with its blocks and their keys, in parts."""
        mask = self.mask(blocks)
        if not mask.any():
            return Parted(text, ())
        gone = mask.tolist()
        left = (line for line, out in zip(lines, gone, strict=True) if not out)
        return Parted("\n".join(left), tuple(compress(lines, gone)))

    def _title(self, block: int) -> int | None:
        """Return what is known of a block."""
        for learned in (self.fresh, self.known.recent):
            if block in learned:
                return learned[block]
        known = self.known
        place = int(known.blocks.searchsorted(np.uint64(block)))
        if place < len(known.blocks) and known.blocks[place] == block:
            return int(known.titles[place])
        return None

    def _titles(self, blocks: Sequence[int]) -> list[int | None]:
        """Return what is known of blocks."""
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


class Templates:
    """The templates of the sites that were met last, from one transaction to the next."""

    def __init__(self) -> None:
        self._known: OrderedDict[str, _Known] = OrderedDict()

    def open(self, connection: Connection) -> OpenTemplates:
        """Return the templates as a transaction sees them."""
        return OpenTemplates(connection, self._known)


class OpenTemplates:
    """Templates within one transaction."""

    def __init__(self, connection: Connection, known: OrderedDict[str, _Known]) -> None:
        self._connection = connection
        self._cache = known
        self._sites: dict[str, Site] = {}
        self._added: dict[str, int] = {}  # ids of rows
        self._merged: dict[str, _Known] = {}

    def load(self, sites: Iterable[str]) -> None:
        """Read what is known of sites, at once."""
        missing = {site for site in sites if len(site) <= _HOST} - self._sites.keys()
        for part in some(missing):
            ids: dict[str, set[int]] = {site: set() for site in part}
            for site, row_id in self._connection.execute(_IDS, {"some": part}):
                ids[site].add(row_id)
            stale = [
                site
                for site in part
                if site not in self._cache or self._cache[site].ids != ids[site]
            ]
            rows: dict[str, list[tuple[int, bytes]]] = {site: [] for site in stale}
            if any(ids[site] for site in stale):
                for site, row_id, raw in self._connection.execute(_ROWS_OF, {"some": stale}):
                    rows[site].append((row_id, raw))
            for site in part:
                known = _Known(rows[site]) if site in rows else self._cache[site]
                self._sites[site] = Site(known)

    def site(self, name: str) -> Site:
        """Return the template of a site; one with an impossible name has none."""
        if name not in self._sites:
            self.load([name])
            self._sites.setdefault(name, Site(_Known([])))
        return self._sites[name]

    def write(self) -> None:
        """Write what was learned."""
        # In one order, so that no two transactions wait for each other's rows.
        learned = {
            name: site
            for name, site in sorted(self._sites.items())
            if site.fresh and len(name) <= _HOST
        }
        if not learned:
            return
        rows = [{"site": name, "entries": _packed(site.fresh)} for name, site in learned.items()]
        ids = self._connection.scalars(_INSERT, rows).all()
        for (name, site), row_id in zip(learned.items(), ids, strict=True):
            known = site.known
            recent = len(known.recent) + len(site.fresh)
            if len(known.ids) >= _ROWS or recent >= _RECENT:
                self._merged[name] = self._merge(name)
            else:
                self._added[name] = row_id

    def _merge(self, name: str) -> _Known:
        """Put one row in the place of a site's rows."""
        # Another transaction may merge them too: what this one takes out is what it puts in.
        rows = sorted(map(tuple, self._connection.execute(_MERGE, {"of": name})))
        raw = _bounded(_merged(raw for _, raw in rows)).tobytes()
        (row_id,) = self._connection.scalars(_INSERT, [{"site": name, "entries": raw}])
        return _Known([(row_id, raw)])

    def keep(self) -> None:
        """Have later transactions know what this one, which is committed, has read and learned."""
        for name, site in self._sites.items():
            if len(name) > _HOST:
                continue
            if name in self._merged:
                known = self._merged[name]
            else:
                known = site.known
                known.recent.update(site.fresh)
                if name in self._added:
                    known.ids.add(self._added[name])
            self._cache[name] = known
            self._cache.move_to_end(name)
        while len(self._cache) > _SITES:
            self._cache.popitem(last=False)


def part_page(connection: Connection, site: str, text: str) -> Parted:
    """Return a main text of a site in parts, by what is known now."""
    return Templates().open(connection).site(site).part(text, *split_blocks(text))


def are_entries(raw: bytes) -> bool:
    """Return whether bytes may be what the store keeps of a site."""
    return len(raw) > 0 and len(raw) % _ENTRY.itemsize == 0


def export_templates(connection: Connection) -> Iterator[tuple[str, bytes]]:
    """Yield the sites that something is known of, and what."""
    query = select(site_blocks.c.site, site_blocks.c.entries)
    ordered = query.order_by(site_blocks.c.site, site_blocks.c.id)
    with connection.execute(ordered.execution_options(yield_per=_READ)) as result:
        for site, rows in groupby(result, key=itemgetter(0)):
            yield site, _bounded(_merged(raw for _, raw in rows)).tobytes()


def forget_site(connection: Connection, site: str) -> None:
    """Forget the template of a site."""
    connection.execute(delete(site_blocks).where(site_blocks.c.site == site))


def _packed(entries: dict[int, int]) -> bytes:
    return np.array([*entries.items()], dtype=_ENTRY).tobytes()


def _merged(rows: Iterable[bytes]) -> Entries:
    """Return one entry a block, the block seen first first; one with two titles is template."""
    entries = np.frombuffer(b"".join(rows), dtype=_ENTRY)
    order = np.argsort(entries["block"], kind="stable")
    grouped = entries[order]
    is_first = np.ones(len(grouped), np.bool_)
    is_first[1:] = grouped["block"][1:] != grouped["block"][:-1]
    merged = grouped[is_first]
    group = np.cumsum(is_first) - 1
    differs = grouped["title"] != merged["title"][group]
    merged["title"][group[differs]] = _TEMPLATE
    return merged[np.argsort(order[is_first])]


def _bounded(entries: Entries) -> Entries:
    """Return the entries without the oldest of too many."""
    is_template = entries["title"] == _TEMPLATE
    template, other = np.flatnonzero(is_template), np.flatnonzero(~is_template)
    gone = np.concatenate([template[:-MOST_TEMPLATE], other[:-MOST_OTHER]])
    return np.delete(entries, gone)
