"""Near-duplicates on Spark: workers find the pairs and measure them, the driver decides them.

The rows of a key come sorted, and only those that later rows may meet are held in memory: a key
that all rows share takes no more memory than any other.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, Window, functions as f

from shingling.bulk.pairs import Meeting, Pairs, decide
from shingling.bulk.spark.batches import of_columns, of_rows
from shingling.similarity import overlap, unless_forged
from shingling.similarity.match_rule import MatchRule
from shingling.sketch import FUNCTIONS, fingerprint_set
from shingling.text import clean

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from shingling.arrays import Flags, Hashes, Integers, Minima, Octets
    from shingling.bulk.spark.work import Work
    from shingling.rules.rules import Rules
    from shingling.sketch import Halves, Scheme

KEYS = "row long, key long, is_own boolean"
PAIRS = "row long, other long, equal int"
MEASURED = f"{PAIRS}, resemblance double, containment double"
DUPLICATES = "row long, original long, resemblance double, containment double"

_CUT = -1  # instead of another row: the row met more than the limit
_MAX_KEYS_AT_ONCE = 1 << 18  # of a batch that Spark is handed
_OWN_KEYS = 2  # the first ones that `Halves.probes` gives: the row's own halves


@dataclass
class NearDuplicates:
    """Decides the rows that share keys.

    Args:
        signed: good rows with a whole shingle, without those with the text of an earlier one:
            `row`, `words`, `simhash`, `minima`, `keys`.
        texts: `row` and `text` of all rows.
        rows: their number.
        rules: what decides.
        scheme: of the signatures.
        halves: of SimHashes, if rows are found by those.
        work: folder for what is found.
    """

    signed: DataFrame
    texts: DataFrame
    rows: int
    rules: Rules
    scheme: Scheme
    halves: Halves | None
    work: Work
    _passes: int = 0

    def decide(self) -> DataFrame:
        """Find the near-duplicates with their originals: `DUPLICATES`."""
        following = MatchRule.by(self.rules)
        members = self.work.write(self._members(), "members")
        chosen = decide(self.rows, partial(self._find, members, following), following)
        if not len(chosen.ids):
            return self.work.empty(DUPLICATES)
        columns = chosen.rows, chosen.others, chosen.resemblance, chosen.containment
        table = pa.Table.from_batches([of_columns(columns, DUPLICATES)])
        return self.work.write(self.work.spark.createDataFrame(table), "near")

    def _members(self) -> DataFrame:
        """Rows with the keys that they share, a line for each."""
        if self.halves is None:
            keys = self.signed.select("row", f.explode("keys").alias("key"))
            keys = keys.withColumn("is_own", f.lit(True))
        else:
            distance = self.rules.simhash_distance
            probe = partial(probe_halves, halves=self.halves, distance=distance)
            keys = self.signed.select("row", "simhash").mapInArrow(probe, KEYS)
        of_key = f.count("*").over(Window.partitionBy("key"))
        shared = keys.withColumn("times", of_key).where("times > 1").drop("times")
        return shared.join(self.signed.drop("keys"), "row")

    def _find(
        self, members: DataFrame, following: MatchRule, asks: Flags, removed: Flags, limit: int
    ) -> tuple[Pairs, Flags]:
        """Find pairs, as `Find` says, and measure them."""
        self._passes += 1
        flags = np.packbits(asks), np.packbits(removed)
        find = partial(find_pairs, following=following, flags=flags, limit=limit)
        found = _together(members, "key").sortWithinPartitions("key", "row")
        found = found.mapInArrow(find, PAIRS).distinct()
        found = self.work.write(found, f"pairs-{self._passes}")
        texts, other = self.texts, f.col("row").alias("other")
        others = texts.select(other, f.col("text").alias("other_text"))
        measure = partial(
            measure_pairs, scheme=self.scheme, by_hashes=not following.min_resemblance
        )
        pairs = found.where("other >= 0").join(others, "other").join(texts, "row")
        measured = pairs.sortWithinPartitions("row").mapInArrow(measure, MEASURED)
        table = self.work.write(measured, f"measured-{self._passes}").toArrow()
        row, other, equal, *measures = (column.to_numpy() for column in table.columns)
        cut = np.zeros(self.rows, bool)
        cut[found.where("other < 0").select("row").toArrow()["row"].to_numpy()] = True
        return Pairs(row << 32 | other, equal.astype(np.uint8), *measures).sorted(), cut


def _together(frame: DataFrame, column: str) -> DataFrame:
    """Shuffle a frame so that all rows with one value are in one task.

    By an expression, as Spark leaves a shuffle by the column itself out if a join before it makes
    one, and may then replace that join at run time by one that keeps no values together.
    """
    return frame.repartition(f.hash(column))


def probe_halves(batches: Iterable[Any], halves: Halves, distance: int) -> Iterator[Any]:
    """List the keys that rows are looked up under; of these, two are their own.

    Args:
        batches: with the columns `row` and `simhash`.
        halves: of the SimHashes.
        distance: of near-duplicates, in bits.

    Yields:
        Batches of the schema `KEYS`.
    """
    at_once = max(_MAX_KEYS_AT_ONCE // (2 * len(halves.masks(distance))), 1)
    for whole in batches:
        for start in range(0, whole.num_rows, at_once):
            batch = whole.slice(start, at_once)
            rows, simhashes = (batch.column(name).to_numpy() for name in ("row", "simhash"))
            keys = halves.probes(simhashes.view(np.uint64), distance)
            is_own = np.tile(np.arange(keys.shape[1]) < _OWN_KEYS, len(rows))
            yield of_columns((np.repeat(rows, keys.shape[1]), keys.reshape(-1), is_own), KEYS)


class _Members(NamedTuple):
    """Rows under keys, by key and row."""

    key: Integers
    row: Integers
    is_own: Flags
    asks: Flags
    words: Integers
    simhash: Hashes
    minima: Minima

    @classmethod
    def of(cls, batch: Any) -> _Members:
        """Rows of a batch, all of which ask."""
        names = "key", "row", "is_own", "words", "simhash"
        key, row, is_own, words, simhash = (
            batch.column(name).to_numpy(zero_copy_only=False) for name in names
        )
        minima = np.frombuffer(b"".join(batch.column("minima").to_pylist()), "<u4")
        asks = np.ones(len(row), bool)
        hashes = simhash.view(np.uint64)
        return cls(key, row, is_own, asks, words, hashes, minima.reshape(-1, FUNCTIONS))

    def take(self, places: Any) -> _Members:
        """Select rows by their places."""
        return _Members(*(column[places] for column in self))

    def after(self, before: _Members) -> _Members:
        """Put these rows after others."""
        pairs = zip(before, self, strict=True)
        return _Members(*(np.concatenate([*both]) for both in pairs))


def find_pairs(
    batches: Iterable[Any], following: MatchRule, flags: tuple[Octets, Octets], limit: int
) -> Iterator[Any]:
    """Find the pairs of rows that are worth measuring, as `deciding` does on one machine.

    Args:
        batches: rows with their keys, sorted by key and row.
        following: which pairs are worth it.
        flags: bits, which tell of each row whether it asks, and whether it is no candidate.
        limit: number of candidates under a key.

    Yields:
        Batches of the schema `PAIRS`; pairs that share several keys are there several times.
    """
    asks, removed = flags
    min_words = following.rules.min_words
    before: _Members | None = None  # the candidates under the last key
    for batch in batches:
        if not batch.num_rows:
            continue
        own = _Members.of(batch)
        if before is not None:
            own = own.after(before)
        stored = own.is_own & ~_bits(removed, own.row)
        asking = own.asks & _bits(asks, own.row) & (own.words >= min_words)
        meeting = Meeting(own.key, stored, asking, limit)
        for left, right in meeting.pairs():
            worth, equal = following.worth_measuring(
                own.minima[left] == own.minima[right], own.simhash[left], own.simhash[right]
            )
            worth &= (own.words[right] >= min_words) & (own.row[left] != own.row[right])
            yield of_columns((own.row[left][worth], own.row[right][worth], equal[worth]), PAIRS)
        cut = own.row[meeting.cut]
        yield of_columns((cut, np.full(len(cut), _CUT), np.zeros(len(cut), np.int64)), PAIRS)
        last = np.flatnonzero((own.key == own.key[-1]) & stored)[: limit + 1]
        before = own.take(last)._replace(asks=np.zeros(len(last), bool))


def _bits(packed: Octets, rows: Integers) -> Flags:
    """Bits of rows."""
    found: Flags = (packed[rows >> 3] >> (7 - (rows & 7)) & 1).astype(bool)
    return found


def measure_pairs(batches: Iterable[Any], scheme: Scheme, *, by_hashes: bool) -> Iterator[Any]:
    """Measure pairs of rows on their texts.

    Args:
        batches: the columns of `PAIRS`, `text` and `other_text`; pairs of a row come together.
        scheme: of the fingerprints.
        by_hashes: whether the method has no threshold, so that forged hashes could decide.

    Yields:
        Batches of the schema `MEASURED`.
    """
    row, fingerprints = -1, np.empty(0, np.uint64)
    for batch in batches:
        lines = []
        for line in batch.to_pylist():
            text, other = clean(line["text"]), clean(line["other_text"])
            if line["row"] != row:
                row, fingerprints = line["row"], fingerprint_set(text, scheme)
            both = overlap(fingerprints, fingerprint_set(other, scheme))
            if by_hashes:
                both = unless_forged(both, text, other, scheme)
            pair = row, line["other"], line["equal"]
            lines.append((*pair, both.resemblance, both.containment))
        yield of_rows(lines, MEASURED)
