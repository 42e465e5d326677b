"""The keys that one batch of pages meets, held in memory until they are written."""

from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from shingling.sketch import sample, shingles_of
from shingling.store._postings import MOST

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from shingling.sketch import Fingerprints, Scheme
    from shingling.store._index import Index, Signed
    from shingling.store._postings import Entry, Postings
    from shingling.store._values import Rules

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
        self.gone += [(key, page_id) for key in set(before).difference(after)]
        self.come += [(key, page_id) for key in set(after).difference(before)]


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
        self._by_band: dict[int, set[int]] = {}
        self._by_sample: dict[int, set[int]] = {}
        self._known: set[int] = set()  # ids in either of them
        self._keys: dict[tuple[bytes, int], list[int]] = {}
        self._probes: dict[tuple[bytes, int], list[int]] = {}
        self._shingles: dict[str, Fingerprints] = {}
        self._telling: dict[str, bool] = {}
        self._samples: dict[tuple[str, str], list[int]] = {}
        self.sampled = index.sampled

    def fetch(self, pages: Sequence[Signed], rules: Rules) -> set[int]:
        """Read what is stored under the probes of pages, and return the ids found."""
        for page, own in zip(pages, self._index.keys(pages), strict=True):
            self._keys[_name(page)] = sorted(set(own))
        if self._index.probes_are_keys:
            probes = [self._keys[_name(page)] for page in pages]
        else:
            probes = self._index.probes(pages, rules)
        for page, own in zip(pages, probes, strict=True):
            self._probes[_name(page)] = own
        found = self._bands.find(key for own in probes for key in own)
        self.full.update(key for key, ids in found.items() if len(ids) > MOST)
        self._note(found, self._by_band, MOST)
        return {page_id for ids in self._by_band.values() for page_id in ids}

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

    def _note(self, found: dict[int, list[int]], into: dict[int, set[int]], most: int) -> None:
        for key, ids in found.items():
            into.setdefault(key, set()).update(ids[:most])
            self._known.update(ids[:most])

    def shingles(self, text: str) -> Fingerprints:
        """Return the fingerprints of a text's shingles, in text order: uint64[n]."""
        if text not in self._shingles:
            words = self._scheme.canonical.words(text)
            self._shingles[text] = shingles_of(words, self._scheme)
            self._telling[text] = len(words) >= self._scheme.fewest_words
        return self._shingles[text]

    def sample(self, scope: str, text: str | None) -> list[int]:
        """Return the keys of some of a text's shingles, by which its pieces are found."""
        if text is None:
            return []
        name = scope, text
        if name not in self._samples:
            shingles = self.shingles(text)
            telling = self._telling[text]
            self._samples[name] = keys_of_sample(shingles, scope) if telling else []
        return self._samples[name]

    def keys(self, page: Signed) -> list[int]:
        """Return the keys that a page is stored under."""
        name = _name(page)
        if name not in self._keys:
            self._keys[name] = sorted(set(self._index.keys([page])[0]))
        return self._keys[name]

    def add(self, page_id: int, page: Signed, sample: Sequence[int]) -> None:
        """Let pages of this batch find a page, before it is written."""
        self._known.add(page_id)
        for key in self.keys(page):
            self._by_band.setdefault(key, set()).add(page_id)
        for key in sample:
            self._by_sample.setdefault(key, set()).add(page_id)

    def drop(self, page_id: int) -> None:
        """Let pages of this batch find a page no longer."""
        if page_id not in self._known:
            return
        for found in (self._by_band, self._by_sample):
            for ids in found.values():
                ids.discard(page_id)

    def candidates(self, page: Signed, rules: Rules) -> set[int]:
        """Return the ids of the pages that may be like a page, of one key the oldest ones."""
        name = _name(page)
        if name not in self._probes:
            self._probes[name] = self._index.probes([page], rules)[0]
        found: set[int] = set()
        for key in self._probes[name]:
            ids = self._by_band.get(key, set())
            if len(ids) > MOST:
                self.full.add(key)
                found.update(sorted(ids)[:MOST])
            else:
                found.update(ids)
        return found

    def likely(self, sample: Sequence[int]) -> list[int]:
        """Return the ids of pages that share samples, those with most first, then the oldest."""
        shared: Counter[int] = Counter()
        for key in sample:
            found = self._by_sample.get(key, ())
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


def _name(page: Signed) -> tuple[bytes, int]:
    return page.minima.tobytes(), page.simhash
