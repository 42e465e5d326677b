"""The keys that one batch of pages meets, held in memory until they are written."""

from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from shingling.sketch import sample, text_shingles
from shingling.store.index.postings import MOST

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from shingling.sketch import Fingerprints, Minima, Scheme
    from shingling.store.index.keys import Index, Signed
    from shingling.store.index.postings import Entry, Postings
    from shingling.store.rules import Rules

_SOME = 500  # values in one IN (...)
_COMMON = 64  # pages with one sample, from which on it tells nothing: a menu, a footer
_READ = 2 * _COMMON  # some may leave the index within a batch
_LIKELY = 32  # pages with common samples that are looked at, those with most first


def some(values: Iterable[Any]) -> Iterator[list[Any]]:
    """Yield sorted distinct values in parts that fit into one statement."""
    ordered = sorted(set(values))
    for start in range(0, len(ordered), _SOME):
        yield ordered[start : start + _SOME]


@dataclass
class Changes:
    """Keys with the ids of their pages, to be taken out of a table and to be put into it."""

    gone: list[Entry] = field(default_factory=list)
    come: list[Entry] = field(default_factory=list)

    def add(self, page_id: int, before: Sequence[int], after: Sequence[int]) -> None:
        """Note a page's keys before and after."""
        if not before:
            self.come += [(key, page_id) for key in after]
            return
        self.gone += [(key, page_id) for key in set(before).difference(after)]
        self.come += [(key, page_id) for key in set(after).difference(before)]


class _Buckets:
    """Ids of pages by key; most keys have one page, which needs no set."""

    def __init__(self) -> None:
        self._pages: dict[int, int | set[int]] = {}

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
        """Return all pages."""
        found: set[int] = set()
        for there in self._pages.values():
            if isinstance(there, int):
                found.add(there)
            else:
                found |= there
        return found


class Lookup:
    """The index of a store, as far as one batch needs it.

    It must live within one write transaction: nobody else changes what it reads meanwhile.
    """

    def __init__(
        self, bands: Postings, samples: Postings | None, scheme: Scheme, index: Index
    ) -> None:
        self._bands = bands
        self._stored_samples = samples
        self._scheme = scheme
        self._index = index
        self.full: set[int] = set()  # keys of bands with more pages than are looked at
        self._by_band = _Buckets()
        self._by_sample = _Buckets()
        self._known: set[int] = set()  # ids in either of them
        # By the identity of the minima, which are held with the keys.
        self._keys: dict[int, tuple[Minima, list[int]]] = {}
        self._probes: dict[int, tuple[Minima, list[int]]] = {}
        self._shingles: dict[str, Fingerprints] = {}
        self._samples: dict[tuple[str, str], list[int]] = {}
        self.sampled = index.sampled

    def fetch(self, pages: Sequence[Signed], rules: Rules) -> set[int]:
        """Read what is stored under the probes of pages, and return the ids found."""
        for page, own in zip(pages, self._index.keys(pages), strict=True):
            self._keys[id(page.minima)] = page.minima, sorted(set(own))
        if self._index.probes_are_keys:
            probes = [self._keys[id(page.minima)][1] for page in pages]
        else:
            probes = self._index.probes(pages, rules)
        for page, own in zip(pages, probes, strict=True):
            self._probes[id(page.minima)] = page.minima, own
        found = self._bands.find(key for own in probes for key in own)
        self.full.update(key for key, ids in found.items() if len(ids) > MOST)
        self._note(found, self._by_band, MOST)
        return self._by_band.all()

    def fetch_pieces(self, texts: Iterable[tuple[str, str]]) -> set[int]:
        """Read what shares samples with texts, and return the ids of the likeliest.

        Args:
            texts: each with its scope.
        """
        pieces = [self.sample(scope, text) for scope, text in texts]
        if self._stored_samples is not None:
            found = self._stored_samples.find((key for own in pieces for key in own), _READ)
            self._note(found, self._by_sample, _READ)
        return {page_id for own in pieces for page_id in self.likely(own)[:_LIKELY]}

    def _note(self, found: dict[int, list[int]], into: _Buckets, most: int) -> None:
        for key, ids in found.items():
            for page_id in ids[:most]:
                into.add(page_id, (key,))
                self._known.add(page_id)

    def shingles(self, text: str) -> Fingerprints:
        """Return the fingerprints of a text's shingles, in text order: uint64[n]."""
        if text not in self._shingles:
            self._shingles[text] = text_shingles(text, self._scheme)
        return self._shingles[text]

    def sample(self, scope: str, text: str | None) -> list[int]:
        """Return the keys of some of a text's shingles, by which its pieces are found."""
        if text is None:
            return []
        name = scope, text
        if name not in self._samples:
            telling = len(self._scheme.canonical.words(text)) >= self._scheme.fewest_words
            self._samples[name] = keys_of_sample(self.shingles(text), scope) if telling else []
        return self._samples[name]

    def keys(self, page: Signed) -> list[int]:
        """Return the keys that a page is stored under."""
        name = id(page.minima)
        if name not in self._keys:
            self._keys[name] = page.minima, sorted(set(self._index.keys([page])[0]))
        return self._keys[name][1]

    def add(self, page_id: int, page: Signed, sample: Sequence[int]) -> None:
        """Let pages of this batch find a page, before it is written."""
        self._known.add(page_id)
        self._by_band.add(page_id, self.keys(page))
        self._by_sample.add(page_id, sample)

    def drop(self, page_id: int) -> None:
        """Let pages of this batch find a page no longer."""
        if page_id not in self._known:
            return
        self._by_band.drop(page_id)
        self._by_sample.drop(page_id)

    def candidates(self, page: Signed, rules: Rules) -> set[int]:
        """Return the ids of the pages that may be like a page, of one key the oldest ones."""
        name = id(page.minima)
        if name not in self._probes:
            self._probes[name] = page.minima, self._index.probes([page], rules)[0]
        found: set[int] = set()
        for key, ids in self._by_band.find(self._probes[name][1]):
            if len(ids) > MOST:
                self.full.add(key)
                found.update(sorted(ids)[:MOST])
            else:
                found.update(ids)
        return found

    def likely(self, sample: Sequence[int]) -> list[int]:
        """Return the ids of pages that share samples, those with most first, then the oldest."""
        shared: Counter[int] = Counter()
        for _, found in self._by_sample.find(sample):
            if len(found) < _COMMON:
                shared.update(found)
        ranked = sorted(shared.items(), key=lambda item: (-item[1], item[0]))
        return [page_id for page_id, _ in ranked]

    def write(self, bands_changed: Changes, samples_changed: Changes) -> None:
        """Write what pages are found by."""
        self._bands.write(bands_changed.gone, bands_changed.come)
        if self._stored_samples is not None:
            self._stored_samples.write(samples_changed.gone, samples_changed.come)


def keys_of_sample(shingles: Fingerprints, scope: str) -> list[int]:
    """Return the keys that pieces of a page are found by; signed, as SQL has them.

    They are salted with the scope, so that pages of another one take no place.
    """
    salt = hashlib.blake2b(scope.encode("utf-8", "replace"), digest_size=8).digest()
    salted = sample(shingles) ^ np.uint64(int.from_bytes(salt, "little") if scope else 0)
    keys: list[int] = salted.view("i8").tolist()
    return keys
