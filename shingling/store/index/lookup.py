"""The keys that one batch of pages meets, held in memory until they are written."""

from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property
from itertools import repeat
from typing import TYPE_CHECKING

import numpy as np

from shingling.sketch import winnow
from shingling.store.index.postings import MAX_PAGES_PER_KEY
from shingling.store.schema.rows import Keyed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from sqlalchemy import Table

    from shingling.rules.rules import Rules
    from shingling.sketch import Fingerprints, Minima
    from shingling.store.index.keys import Index, Signed
    from shingling.store.index.postings import Entry, Postings
    from shingling.store.schema.rows import Row
    from shingling.store.schema.tables import Tables

_COMMON = 64  # pages with one sample, from which on it tells nothing: a menu, a footer
_SAMPLES_READ = 2 * _COMMON  # pages of one sample; some may leave the index within a batch
_MAX_WHOLES = 32  # pages with common samples that are looked at, those with most first


@dataclass
class _Buckets:
    """Ids of pages by key; most keys have one page, which needs no set."""

    _pages: dict[int, int | set[int]] = field(default_factory=dict)

    def add(self, page_id: int, keys: Iterable[int]) -> None:
        """Put a page under keys."""
        pages = self._pages
        for key in keys:
            there = pages.setdefault(key, page_id)
            if there != page_id:
                if isinstance(there, int):
                    pages[key] = {there, page_id}
                else:
                    there.add(page_id)

    def drop(self, page_id: int) -> None:
        """Take a page out, wherever it is."""
        for key in [key for key, there in self._pages.items() if there == page_id]:
            del self._pages[key]
        for there in self._pages.values():
            if isinstance(there, set):
                there.discard(page_id)

    def find(self, keys: Iterable[int]) -> Iterator[tuple[int, set[int]]]:
        """Yield those of the keys that have pages, and the pages."""
        pages = self._pages
        for key in keys:
            there = pages.get(key)
            if there is not None:
                yield key, {there} if isinstance(there, int) else there

    def all(self) -> set[int]:
        """All pages."""
        found: set[int] = set()
        for there in self._pages.values():
            if isinstance(there, int):
                found.add(there)
            else:
                found |= there
        return found


@dataclass
class Lookup:
    """The index of a store, as far as one batch needs it.

    It must live within one write transaction: nobody else changes what it reads meanwhile.

    Args:
        index: what the originals are found by.
        rules: that say how far the SimHashes of near-duplicates may lie apart.
        tables: where the keys are.
        open_postings: opens a table of keys.
        full: keys that were met with more pages than are looked at.
    """

    index: Index
    rules: Rules
    tables: Tables
    open_postings: Callable[[Table], Postings]
    full: set[int] = field(default_factory=set)
    _by_band: _Buckets = field(default_factory=_Buckets)
    _by_sample: _Buckets = field(default_factory=_Buckets)
    _known: set[int] = field(default_factory=set)  # ids in either of them
    # By the identity of the minima, which are held with the keys.
    _keys: dict[int, tuple[Minima, list[int]]] = field(default_factory=dict)
    _probes: dict[int, tuple[Minima, list[int]]] = field(default_factory=dict)

    @cached_property
    def _bands(self) -> Postings:
        return self.open_postings(self.tables.bands)

    @cached_property
    def _samples(self) -> Postings:
        return self.open_postings(self.tables.samples)

    def fetch(self, pages: Sequence[Signed]) -> set[int]:
        """Read what is stored under the probes of pages: the ids found."""
        for page, own in zip(pages, self.index.keys(pages), strict=True):
            self._keys[id(page.minima)] = page.minima, sorted(set(own))
        if self.index.probes_are_keys:
            probes = [self._keys[id(page.minima)][1] for page in pages]
        else:
            probes = self.index.probes(pages, self.rules)
        for page, own in zip(pages, probes, strict=True):
            self._probes[id(page.minima)] = page.minima, own
        found = self._bands.find(key for own in probes for key in own)
        self.full.update(key for key, ids in found.items() if len(ids) > MAX_PAGES_PER_KEY)
        self._note(found, self._by_band, MAX_PAGES_PER_KEY)
        return self._by_band.all()

    def fetch_pieces(self, samples: Sequence[Sequence[int]]) -> set[int]:
        """Read what shares samples with texts: the ids of the likeliest."""
        found = self._samples.find((key for own in samples for key in own), _SAMPLES_READ)
        self._note(found, self._by_sample, _SAMPLES_READ)
        return {page_id for own in samples for page_id in self.likely_wholes(own)[:_MAX_WHOLES]}

    def _note(self, found: dict[int, list[int]], into: _Buckets, limit: int) -> None:
        for key, ids in found.items():
            for page_id in ids[:limit]:
                into.add(page_id, (key,))
                self._known.add(page_id)

    def place(self, page_id: int, page: Signed | None, sample: Sequence[int] = ()) -> None:
        """Let pages of this batch find a page, before it is written; None: no longer."""
        if page is not None:
            self._known.add(page_id)
            self._by_band.add(page_id, self._keys_of(page))
            self._by_sample.add(page_id, sample)
        elif page_id in self._known:
            self._by_band.drop(page_id)
            self._by_sample.drop(page_id)

    def _keys_of(self, page: Signed) -> list[int]:
        name = id(page.minima)
        if name not in self._keys:
            self._keys[name] = page.minima, sorted(set(self.index.keys([page])[0]))
        return self._keys[name][1]

    def candidates(self, page: Signed) -> set[int]:
        """Ids of the pages that may be like a page, of one key the oldest ones."""
        name = id(page.minima)
        if name not in self._probes:
            self._probes[name] = page.minima, self.index.probes([page], self.rules)[0]
        found: set[int] = set()
        for key, ids in self._by_band.find(self._probes[name][1]):
            if len(ids) > MAX_PAGES_PER_KEY:
                self.full.add(key)
                found.update(sorted(ids)[:MAX_PAGES_PER_KEY])
            else:
                found.update(ids)
        return found

    def likely_wholes(self, sample: Sequence[int]) -> list[int]:
        """Ids of pages that share samples, those with most first, then the oldest."""
        shared: Counter[int] = Counter()
        for _, found in self._by_sample.find(sample):
            if len(found) < _COMMON:
                shared.update(found)
        ranked = sorted(shared.items(), key=lambda item: (-item[1], item[0]))
        return [page_id for page_id, _ in ranked]

    def write(
        self,
        rows: Iterable[tuple[Row, bool]],
        sample: Callable[[Row], list[int]],
        former_sample: Callable[[Row], list[int]],
    ) -> None:
        """Write the keys of rows.

        Args:
            rows: each with whether it is to be found from now on.
            sample: gives the keys of samples of a page's text.
            former_sample: gives those of the text that the page was indexed with.
        """
        bands, samples = _Changes(), _Changes()
        for row, is_found in rows:
            before = row.indexed
            if before is None and not is_found:
                continue
            keyed = Keyed(row.minima, row.simhash, row.status != "skipped") if is_found else None
            unchanged = before is not None and before.minima is row.minima
            if unchanged and keyed is not None and keyed.sampled == (before and before.sampled):
                continue
            bands.add(
                row.id,
                self._keys_of(before) if before else [],
                self._keys_of(row) if is_found else [],
            )
            if self.index.sampled:
                samples.add(
                    row.id,
                    former_sample(row) if before and before.sampled else [],
                    sample(row) if keyed and keyed.sampled else [],
                )
            row.indexed = keyed
        self._bands.write(bands.gone, bands.come)
        if self.index.sampled:
            self._samples.write(samples.gone, samples.come)


@dataclass
class _Changes:
    """Keys with the ids of their pages, to be taken out of a table and to be put into it."""

    gone: list[Entry] = field(default_factory=list)
    come: list[Entry] = field(default_factory=list)

    def add(self, page_id: int, before: Sequence[int], after: Sequence[int]) -> None:
        """Note a page's keys before and after."""
        if not before:
            self.come += zip(after, repeat(page_id))
            return
        self.gone += [(key, page_id) for key in set(before).difference(after)]
        self.come += [(key, page_id) for key in set(after).difference(before)]


def keys_of_sample(shingles: Fingerprints, scope: str) -> list[int]:
    """Keys that pieces of a page are found by; signed, as SQL has them.

    They are salted with the scope, so that pages of another one take no place.
    """
    salt = hashlib.blake2b(scope.encode("utf-8", "replace"), digest_size=8).digest()
    salted = winnow(shingles) ^ np.uint64(int.from_bytes(salt, "little") if scope else 0)
    keys: list[int] = salted.view("i8").tolist()
    return keys
