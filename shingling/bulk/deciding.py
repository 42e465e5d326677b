"""Steps 3 and 4 of a run: keys are sorted, and each row is decided by the pairs that it is in.

Each row is decided as `Store.check` would decide it after all rows before it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from sys import getsizeof
from typing import TYPE_CHECKING

import numpy as np

from shingling.bulk.options import keeps_order
from shingling.bulk.pairs import KeyJoin, Pairs, decide_near, keys_of, measure_texts
from shingling.bulk.signed_rows import DECISION, EXACT, KEPT, NEAR, NO_ROW, SHORT
from shingling.rules import METHODS
from shingling.similarity.match_rule import MatchRule
from shingling.sketch import fingerprint_set
from shingling.sketch.banding import Banding

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from shingling.arrays import Flags, Hashes, Integers, Minima, Numbers, Records
    from shingling.bulk.options import Options
    from shingling.bulk.pairs import ComparedText
    from shingling.bulk.signed_rows import SignedRows
    from shingling.similarity.measures import Overlap

_TEXTS_BYTES = 1 << 26  # with their fingerprints, known at once besides those of one row
_HIGH_HALF = np.uint64(0xFFFFFFFF << 32)  # of a key


def decide_rows(signed: SignedRows, options: Options, report: Callable[[float], None]) -> Records:
    """Decide all rows, in the order that the options name.

    Args:
        signed: the rows.
        options: what decides.
        report: called with the share of the keys that are sorted.

    Returns:
        `DECISION`[rows].

    Raises:
        BulkError: a file has changed since it was signed.
        OSError: a file cannot be read.
    """
    order = np.arange(len(signed))
    if not keeps_order(options):
        places = signed.column("order")
        places[: signed.first] = -np.inf  # known rows come first
        order = np.argsort(places, kind="stable")
    by_place = _decide_in_order(signed, order, options, report)
    follows = by_place["original"] != NO_ROW
    by_place["original"][follows] = order[by_place["original"][follows]]
    decided = np.empty_like(by_place)
    decided[order] = by_place
    return decided


def repeated_ids(signed: SignedRows) -> Integers:
    """Find the rows with the id of an earlier row; known rows do not count."""
    counted = np.arange(len(signed)) >= signed.first
    return np.flatnonzero(_first_of_equal(signed.column("id"), counted) != NO_ROW)


def with_more_kept(decided: Records, keep_each: int) -> Records:
    """Decisions by which so many rows of each group stay: its original, and its first others."""
    _, rows, starts, sizes = groups_of(decided)
    places = np.arange(len(rows)) - np.repeat(starts, sizes)
    kept = decided.copy()
    stay = rows[places < keep_each - 1]
    kept["original"][stay], kept["state"][stay] = NO_ROW, KEPT
    return kept


def groups_of(decided: Records, first: int = 0) -> tuple[Numbers, Integers, Integers, Integers]:
    """Collect duplicates in groups, in the order of their originals.

    Args:
        decided: `DECISION`[rows].
        first: the first row that is looked at.

    Returns:
        The originals, uint32[groups]; the duplicates, those of a group together and in their
        order; for each group, the place of the first of these, and their number.
    """
    rows = first + np.flatnonzero(decided["original"][first:] != NO_ROW)
    rows = rows[np.argsort(decided["original"][rows], kind="stable")]
    originals, starts, sizes = np.unique(
        decided["original"][rows], return_index=True, return_counts=True
    )
    return originals, rows, starts, sizes


def _decide_in_order(
    signed: SignedRows, order: Integers, options: Options, report: Callable[[float], None]
) -> Records:
    """Decide rows by their places: the first one is that of row `order[0]`."""
    words = signed.column("words")[order]
    places = np.arange(len(words))
    known = signed.known_decisions()
    long_enough = words >= options.min_exact_words
    same_text = _first_of_equal(signed.column("text")[order], long_enough)
    same_text[: len(known)] = NO_ROW
    compared = (same_text == NO_ROW) & (signed.column("length")[order] > 0)
    compared[: len(known)] &= known["original"] == NO_ROW
    compared &= words >= options.scheme.min_comparable_words
    match_rule = MatchRule.by(options.rules)
    near = Pairs.none()
    if METHODS[options.rules.method].keys is not None:
        with_keys = np.flatnonzero(compared).astype(np.uint32)
        simhashes = signed.column("simhash")[order]
        comparison = _PairFinder(
            signed, order, options, match_rule, with_keys, long_enough, simhashes, report
        )
        queries = long_enough & (places >= len(known))
        near = decide_near(queries, comparison.find, match_rule, comparison.measure)
    decided = np.zeros(len(words), DECISION)
    decided["original"] = NO_ROW
    decided["state"][~long_enough] = SHORT
    decided[: len(known)] = known
    rows = near.rows
    decided["state"][rows] = NEAR
    decided["original"][rows] = near.others
    decided["resemblance"][rows] = near.resemblance
    decided["containment"][rows] = near.containment
    # A row with the text of an earlier one has the original of that row, or that row.
    rows = np.flatnonzero(same_text != NO_ROW)
    firsts = same_text[rows]
    originals = decided["original"][firsts]
    decided["original"][rows] = np.where(originals == NO_ROW, firsts, originals)
    decided["state"][rows] = EXACT
    decided["resemblance"][rows] = decided["containment"][rows] = 1.0  # to the earlier row
    return decided


def _first_of_equal(hashes: Hashes, compared: Flags) -> Numbers:
    """First row with the same 128-bit hash, for every row but that first one.

    Args:
        hashes: uint64[rows, 2]; one of 0 equals no other.
        compared: rows that are looked at: bool[rows].

    Returns:
        uint32[rows], `NO_ROW` for rows without an earlier equal one.
    """
    first = np.full(len(hashes), NO_ROW)
    rows = np.flatnonzero(compared & hashes.any(axis=1)).astype(np.uint32)
    rows = rows[_in_groups(hashes[rows, 0])]  # few have to be sorted by all bits
    _, places, groups = np.unique(hashes[rows], True, True, axis=0)
    first[rows] = rows[places][groups.reshape(-1)]
    first[rows[places]] = NO_ROW
    return first


def _in_groups(keys: Hashes) -> Integers:
    """Places of the keys that are there more than once, sorted by key and place."""
    # Sorting numbers is six times as fast as sorting their places: so a number has both.
    numbers = np.sort((keys & _HIGH_HALF) | np.arange(len(keys), dtype=np.uint64))
    places = (numbers & ~_HIGH_HALF)[_repeated(numbers & _HIGH_HALF)].astype(np.int64)
    places = places[np.argsort(keys[places], kind="stable")]
    return places[_repeated(keys[places])]


def _repeated(sorted_keys: Hashes) -> Flags:
    """Mark the keys that are there more than once."""
    same = np.zeros(len(sorted_keys) + 1, bool)
    same[1:-1] = sorted_keys[1:] == sorted_keys[:-1]
    return same[1:] | same[:-1]


@dataclass
class _PairFinder:
    """Finds pairs of rows that share keys, and compares their texts.

    Args:
        signed: the rows.
        order: their numbers in the order of decisions, which counts them from here on.
        options: what decides.
        match_rule: which pairs are worth measuring.
        compared: the rows that have keys.
        long_enough: rows that may be the originals of others: bool[rows].
        simhashes: uint64[rows].
        report: called with the share of the keys that are sorted.
    """

    signed: SignedRows
    order: Integers
    options: Options
    match_rule: MatchRule
    compared: Numbers
    long_enough: Flags
    simhashes: Hashes
    report: Callable[[float], None]
    _known: dict[int, ComparedText] = field(default_factory=dict)
    _known_bytes: int = 0

    def find(self, queries: Flags, removed: Flags, limit: int) -> tuple[Pairs, Flags]:
        """Find the pairs of rows with those before them, as `Find` says."""
        cut = np.zeros(len(queries), bool)
        pairs = Pairs.none()
        for keys, rows, is_probe, is_own in self._lists():
            join = KeyJoin(keys, is_own & ~removed[rows], is_probe & queries[rows], limit)
            cut[rows[join.cut]] = True
            parts = [self._worth_measuring(rows[row], rows[other]) for row, other in join.pairs()]
            # Now, because pairs of copies share most of their keys.
            pairs = pairs.joined(*parts)
        return pairs.sorted(), cut

    def _lists(self) -> Iterator[tuple[Hashes, Numbers, Flags, Flags]]:
        """Yield lists of keys with their rows: which look there for originals, and whose own it is.

        They are sorted by key and row, without keys of a single row.
        """
        rows, keys_of_index = self.compared, keys_of(self.options)
        if isinstance(keys_of_index, Banding):
            for band in range(keys_of_index.bands):
                keys = self.signed.keys(band)[self.order[rows]]
                places = _in_groups(keys)
                both = np.ones(len(places), bool)
                yield keys[places], rows[places], both, both
                self.report((band + 1) / keys_of_index.bands)
            return
        assert keys_of_index is not None
        masks = keys_of_index.masks(self.options.rules.simhash_distance)
        for half, own in enumerate(keys_of_index.split(self.simhashes[rows]).T):
            for number, mask in enumerate(masks):
                # A row is looked up under keys that differ in a few bits, and stored under its own.
                keys = np.stack((own ^ mask, own), axis=1).reshape(-1) << np.uint64(32)
                places = _in_groups(keys)
                is_own = (places % 2).astype(bool)
                yield keys[places], rows[places // 2], ~is_own, is_own
                self.report((half + (number + 1) / len(masks)) / 2)

    def _worth_measuring(self, rows: Numbers, others: Numbers) -> Pairs:
        """Select the pairs that are worth measuring."""
        chosen = self.long_enough[others]
        if METHODS[self.options.rules.method].distance:  # most pairs, for which no minima are read
            apart = np.bitwise_count(self.simhashes[rows] ^ self.simhashes[others])
            chosen &= apart <= self.options.rules.simhash_distance
        rows, others = rows[chosen], others[chosen]
        worth, equal = self.match_rule.worth_measuring(
            self._minima(rows) == self._minima(others),
            self.simhashes[rows],
            self.simhashes[others],
        )
        return Pairs.unmeasured(rows[worth], others[worth], equal[worth])

    def measure(self, row: int, other: int) -> Overlap:
        """Measure what the texts of two rows have in common."""
        return measure_texts(self._text(row), self._text(other), self.options)

    def _minima(self, rows: Numbers) -> Minima:
        return self.signed.minima_of(self.order[rows])

    def _text(self, row: int) -> ComparedText:
        known = self._known.get(row)
        if known is None:
            if self._known_bytes > _TEXTS_BYTES:
                self._known.clear()
                self._known_bytes = 0
            text = self.signed.text(int(self.order[row]))
            known = self._known[row] = text, fingerprint_set(text, self.options.scheme)
            self._known_bytes += known[1].nbytes + getsizeof(text)
        return known
