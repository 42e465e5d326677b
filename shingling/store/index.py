"""What the originals of a store are found by, and the keys that one batch of pages meets."""

from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import dataclass, field
from functools import cache, cached_property, lru_cache
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from shingling.errors import BandingError
from shingling.rules import DEFAULT_CONTAINMENT, DEFAULT_METHOD, METHODS, Keys
from shingling.rules.rules import Rules
from shingling.sketch import FUNCTIONS, SUPERSHINGLES, Banding, Halves, winnow
from shingling.store.backends.base import MAX_PAGES_PER_KEY
from shingling.store.model import IndexShape

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from sqlalchemy import Table

    from shingling.arrays import Fingerprints, Integers, Minima
    from shingling.sketch import Scheme
    from shingling.store.backends.base import ChangedKeys, Postings
    from shingling.store.schema.rows import Keyed, Row
    from shingling.store.schema.tables import Tables

_COMMON = 64  # pages with one sample, from which on it tells nothing: a menu, a footer
_SAMPLES_READ = 2 * _COMMON  # pages of one sample; some may leave the index within a batch
_MAX_WHOLES = 32  # pages with common samples that are looked at, those with most first

Buckets: TypeAlias = dict[int, tuple[int, ...]]
"""Ids of pages by key."""

Signed: TypeAlias = "Row | Keyed"
"""What has a scope, minima, uint32[84], and a SimHash without a sign."""


@dataclass(frozen=True)
class Index:
    """Bands of minima, or halves of SimHashes; and samples of shingles, or not.

    Args:
        keys_of: what makes a page's keys.
        sampled: whether pieces of pages are found as well.
    """

    keys_of: Banding | Halves
    sampled: bool = False

    @classmethod
    def for_rules(cls, rules: Rules, scheme: Scheme) -> Index:
        """Cheapest index that finds what these rules look for."""
        keys_of: Banding | Halves
        keys = METHODS[rules.method].keys
        if keys is Keys.SIMHASH_HALVES:
            keys_of = Halves(scheme.simhash.bits)
        elif keys is Keys.SUPERSHINGLES:
            keys_of = Banding(SUPERSHINGLES, FUNCTIONS // SUPERSHINGLES)
        else:
            keys_of = Banding.for_threshold(rules.least_resemblance or rules.threshold)
        return cls(keys_of, rules.containment is not None)

    @classmethod
    @cache
    def stored(cls, of: str, bands: int, rows: int, sampled: bool) -> Index:
        """Index that the columns of the table `scheme` tell."""
        keys_of = Halves(2 * rows) if of == "simhash" else Banding(bands, rows)
        return cls(keys_of, bool(sampled))  # equal arguments, such as 0, share what is cached

    @property
    def shape(self) -> IndexShape:
        """What the table `scheme` keeps of it."""
        if isinstance(self.keys_of, Halves):
            return IndexShape("simhash", 2, self.keys_of.width, self.sampled)
        return IndexShape("minima", self.keys_of.bands, self.keys_of.rows, self.sampled)

    def columns(self) -> dict[str, str | int | bool]:
        """Columns of the table `scheme`."""
        return self.shape._asdict()

    def keys(self, pages: Sequence[Signed]) -> Integers:
        """Keys that pages are stored under: int64[pages, keys of one]."""
        if isinstance(self.keys_of, Halves):
            keys = self.keys_of.keys([page.simhash for page in pages])
        else:
            keys = self.keys_of.keys([page.minima for page in pages])
        return salted(keys, [page.scope for page in pages])

    def probes(self, pages: Sequence[Signed], rules: Rules) -> Integers:
        """Keys under which pages find those that may be like them: int64[pages, keys of one]."""
        if not isinstance(self.keys_of, Halves):
            return self.keys(pages)
        simhashes = [page.simhash for page in pages]
        probes = self.keys_of.probes(simhashes, rules.simhash_distance)
        return salted(probes, [page.scope for page in pages])

    def usual_rules(self) -> Rules:
        """Default rules of the method that the index is for."""
        keys = Keys.BANDS if isinstance(self.keys_of, Banding) else Keys.SIMHASH_HALVES
        method = next(name for name, method in METHODS.items() if method.keys is keys)
        return Rules(method=method, containment=DEFAULT_CONTAINMENT if self.sampled else None)

    def extended(self, rules: Rules, scheme: Scheme) -> Index:
        """Index that finds what these rules look for, and samples as well, if this one has any.

        Bands never get more minima than they have here: the fewer, the more pairs are found.
        """
        keys_of = Index.for_rules(rules, scheme).keys_of
        sampled = self.sampled or rules.containment is not None
        if isinstance(self.keys_of, Banding) and isinstance(keys_of, Banding):
            widths = (rows for rows in range(self.keys_of.rows, 0, -1) if FUNCTIONS % rows == 0)
            indexes = (Index(Banding(FUNCTIONS // rows, rows), sampled) for rows in widths)
            return next(index for index in indexes if not index.shortfall(rules))
        return Index(keys_of, sampled)

    def require(self, rules: Rules) -> None:
        """Check that the index finds what these rules look for.

        Raises:
            BandingError: it does not; the message names the command that makes another.
        """
        if shortfall := self.shortfall(rules):
            raise BandingError(
                f"the index of the store finds {shortfall}: run `{self.command(rules)}` once"
            )

    def command(self, rules: Rules) -> str:
        """Command that makes an index for rules, with the samples that this one has."""
        same = isinstance(self.keys_of, Banding) and rules.method == DEFAULT_METHOD
        command = "scrapy dedup rebuild" + ("" if same else f" --method {rules.method}")
        if METHODS[rules.method].threshold:
            command += f" --threshold {rules.threshold:g}"
        if self.sampled or rules.containment is not None:
            command += " --containment"
        return command

    def shortfall(self, rules: Rules) -> str:
        """Say what the index finds instead of all that rules look for; empty: it finds that."""
        if not rules.finds_near:
            return ""
        missed = [self._shortfall_of_keys(rules)]
        if rules.containment is not None and not self.sampled:
            missed.append("no pieces of pages (DEDUP_CONTAINMENT)")
        return ", and ".join(filter(None, missed))

    def _shortfall_of_keys(self, rules: Rules) -> str:
        keys, banding = METHODS[rules.method].keys, self.keys_of
        if isinstance(banding, Halves):
            if keys is Keys.SIMHASH_HALVES:
                return ""
            return f"only pages whose SimHashes differ in at most {rules.simhash_distance} bits"
        if keys is Keys.SUPERSHINGLES and banding.finds_supershingles:
            return ""
        resemblance = rules.least_resemblance
        if resemblance is None:
            resemblance = banding.reach
        elif banding.finds(resemblance) or banding.rows == 1:  # no other one finds more
            return ""
        share = banding.recall(resemblance)
        return f"about {share:.0%} of the pages with a resemblance of {resemblance:.3g}"


class _Keys(NamedTuple):
    """Keys that a page is stored under, and those under which it finds others."""

    minima: Minima
    stored: Sequence[int]
    probes: Sequence[int]


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
    _by_band: Buckets = field(default_factory=dict)
    _by_sample: Buckets = field(default_factory=dict)
    _placed: set[int] = field(default_factory=set)  # ids in either of them
    # By the scope, and the identity of the minima, which are held with the keys.
    _keys: dict[tuple[str, int], _Keys] = field(default_factory=dict)

    @cached_property
    def _bands(self) -> Postings:
        return self.open_postings(self.tables.bands)

    @cached_property
    def _samples(self) -> Postings:
        return self.open_postings(self.tables.samples)

    def fetch(self, pages: Sequence[Signed]) -> set[int]:
        """Read what is stored under the probes of pages: the ids found."""
        self._make_keys(pages)
        probes = [key for page in pages for key in self._keys_of(page).probes]
        ids_by_key = self._bands.find(probes)
        self._hold(ids_by_key, self._by_band)
        return {page_id for ids in ids_by_key.values() for page_id in ids}

    def fetch_pieces(self, samples: Sequence[Sequence[int]]) -> set[int]:
        """Read what shares samples with texts: the ids of the likeliest."""
        ids_by_key = self._samples.find((key for own in samples for key in own), _SAMPLES_READ)
        self._hold(ids_by_key, self._by_sample)
        return {page_id for own in samples for page_id in self.likely_wholes(own)[:_MAX_WHOLES]}

    def _hold(self, ids_by_key: Mapping[int, Iterable[int]], buckets: Buckets) -> None:
        for key, ids in ids_by_key.items():
            self._placed.update(ids)
            buckets[key] = tuple({*ids, *buckets.get(key, ())})

    def place(self, page: Row, sample_of: Callable[[Row], Sequence[int]]) -> None:
        """Let pages of this batch find a page, before it is written."""
        self._placed.add(page.id)
        alone = (page.id,)  # one for all keys: most of them have no other page
        for keys, buckets in (
            (self._keys_of(page).stored, self._by_band),
            (sample_of(page), self._by_sample),
        ):
            for key in keys:
                ids = buckets.get(key, ())
                if page.id not in ids:
                    buckets[key] = ids + alone

    def drop(self, page_id: int) -> None:
        """Let no page of this batch find a page any more."""
        if page_id in self._placed:
            for buckets in (self._by_band, self._by_sample):
                for key, ids in buckets.items():
                    if page_id in ids:
                        buckets[key] = tuple({*ids} - {page_id})

    def _make_keys(self, pages: Sequence[Signed]) -> None:
        stored = [sorted(set(own)) for own in self.index.keys(pages).tolist()]
        found_by = stored
        if isinstance(self.index.keys_of, Halves):
            found_by = self.index.probes(pages, self.rules).tolist()
        for page, own, probes in zip(pages, stored, found_by, strict=True):
            self._keys[page.scope, id(page.minima)] = _Keys(page.minima, own, probes)

    def _keys_of(self, page: Signed) -> _Keys:
        name = page.scope, id(page.minima)
        if name not in self._keys:
            self._make_keys([page])
        return self._keys[name]

    def candidates(self, page: Signed) -> set[int]:
        """Ids of the pages that may be like a page, of one key the oldest ones."""
        candidates: set[int] = set()
        for key in self._keys_of(page).probes:
            ids = self._by_band.get(key, ())
            if len(ids) > MAX_PAGES_PER_KEY:
                self.full.add(key)
                ids = tuple(sorted(ids)[:MAX_PAGES_PER_KEY])
            candidates.update(ids)
        return candidates

    def likely_wholes(self, sample: Sequence[int]) -> list[int]:
        """Ids of pages that share samples, those with most first, then the oldest."""
        shared: Counter[int] = Counter()
        for key in sample:
            ids = self._by_sample.get(key, ())
            if len(ids) < _COMMON:
                shared.update(ids)
        return sorted(shared, key=lambda page_id: (-shared[page_id], page_id))

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
        bands: list[ChangedKeys] = []
        samples: list[ChangedKeys] = []
        for row, is_found in rows:
            before = row.indexed
            after = row.keyed if is_found else None
            if _is_same(before, after):
                continue
            old, new = (
                () if keyed is None else self._keys_of(keyed).stored for keyed in (before, after)
            )
            bands.append((row.id, old, new))
            if self.index.sampled:
                old = former_sample(row) if before is not None and before.sampled else ()
                new = sample(row) if after is not None and after.sampled else ()
                samples.append((row.id, old, new))
            row.indexed = after
        self._bands.write(bands)
        if self.index.sampled:
            self._samples.write(samples)


def _is_same(before: Keyed | None, after: Keyed | None) -> bool:
    if before is None or after is None:
        return before is after
    return before.minima is after.minima and before.sampled == after.sampled


def keys_of_sample(shingles: Fingerprints, scope: str) -> list[int]:
    """Keys that pieces of a page are found by; signed, as SQL has them."""
    keys: list[int] = salted(winnow(shingles).view("i8"), [scope])[0].tolist()
    return keys


def salted(keys: Integers, scopes: Sequence[str]) -> Integers:
    """Salt keys with scopes, so that pages of another one take no place under them.

    Args:
        keys: int64[pages, keys of one], or int64[keys] of one page.
        scopes: one a page.

    Returns:
        int64[pages, keys of one].
    """
    return keys ^ np.array([*map(_salt, scopes)], np.int64)[:, np.newaxis]


@lru_cache(4096)
def _salt(scope: str) -> int:
    """Salt of a scope, which the migration r0002 has as well; signed, as SQL has it."""
    if not scope:
        return 0
    digest = hashlib.blake2b(scope.encode("utf-8", "replace"), digest_size=8).digest()
    return int.from_bytes(digest, "little", signed=True)
