"""Near-duplicates on Spark: workers find the pairs and measure them, the driver decides them.

The rows of a key come sorted, and only those that later rows may meet are held in memory: a key
that all rows share takes no more memory than any other.
"""

from __future__ import annotations

from functools import partial
from itertools import count
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, functions as f

from shingling.bulk.pairs import KeyJoin, Pairs, decide_near, keys_of, measure_texts
from shingling.bulk.spark.batches import collected, frame_of, of_columns, of_rows
from shingling.similarity.match_rule import MatchRule
from shingling.sketch import FUNCTIONS, fingerprint_set
from shingling.sketch.banding import Banding
from shingling.text import clean

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from shingling.arrays import Flags, Integers, Minima, Octets
    from shingling.bulk.options import Options
    from shingling.bulk.spark.work import SparkWork
    from shingling.sketch import Halves

KEYS = "row long, key long, is_own boolean"
PAIRS = "row long, other long, equal int"
MEASURED = f"{PAIRS}, resemblance double, containment double"
DUPLICATES = "row long, original long, resemblance double, containment double"

_SHARED = """
WITH counted AS (
    SELECT *, count(*) OVER (PARTITION BY key) AS times, max(row) OVER (PARTITION BY key) AS last
    FROM {keys}
)
SELECT row, key, is_own, words, simhash, minima
FROM counted JOIN {signed} USING (row) WHERE times > 1 AND last >= {known}
"""
_CUT = -1  # instead of another row: the row shares a key with more than the limit
_MAX_KEYS_AT_ONCE = 1 << 18  # of a batch that Spark is handed
_OWN_KEYS = 2  # the first ones that `Halves.probes` gives: the row's own halves


def near_duplicates(
    signed: DataFrame, texts: DataFrame, known: int, rows: int, options: Options, work: SparkWork
) -> DataFrame:
    """Find the near-duplicates with their originals: `DUPLICATES`.

    Args:
        signed: good rows with a whole shingle, without those with the text of an earlier one:
            `row`, `words`, `simhash`, `minima`.
        texts: `row` and `text` of all rows.
        known: number of the first rows, on which all is decided.
        rows: number of all rows.
        options: what decides.
        work: folder for what is found.
    """
    match_rule = MatchRule.by(options.rules)
    members = work.write(_members(signed, known, options), "members")
    others = texts.selectExpr("row AS other", "text AS other_text")
    measure = partial(measure_pairs, options=options)
    passes = count(1)

    def find(queries: Flags, removed: Flags, limit: int) -> tuple[Pairs, Flags]:
        """Find pairs, as `Find` says, and measure them."""
        flags = np.packbits(queries), np.packbits(removed)
        look = partial(find_pairs, match_rule=match_rule, flags=flags, limit=limit)
        # By an expression, as Spark leaves a shuffle by the column itself out if a join before it
        # makes one, and may then replace that join by one that keeps no values together.
        keys = members.repartition(f.hash("key")).sortWithinPartitions("key", "row")
        lines = work.write(keys.mapInArrow(look, PAIRS).distinct(), f"pairs-{next(passes)}")
        pairs = lines.where("other >= 0").join(others, "other")
        pairs = pairs.join(texts.where(f"row >= {known}"), "row")
        measured = pairs.sortWithinPartitions("row").mapInArrow(measure, MEASURED)
        row, other, equal, *measures = (column.to_numpy() for column in collected(measured).columns)
        cut = np.zeros(rows, bool)
        cut[collected(lines.where("other < 0")).column("row").to_numpy()] = True
        return Pairs(row << 32 | other, equal.astype(np.uint8), *measures).sorted(), cut

    chosen = decide_near(np.arange(rows) >= known, find, match_rule)
    columns = chosen.rows, chosen.others, chosen.resemblance, chosen.containment
    return work.write(frame_of(work.spark, columns, DUPLICATES), "near")


def _members(signed: DataFrame, known: int, options: Options) -> DataFrame:
    """Rows with the keys that they share, a line for each."""
    distance = options.rules.simhash_distance
    list_keys = partial(keys_of_rows, keys=keys_of(options), distance=distance)
    keys = signed.select("row", "simhash", "minima").mapInArrow(list_keys, KEYS)
    return signed.sparkSession.sql(_SHARED, keys=keys, signed=signed, known=known)


def keys_of_rows(
    batches: Iterable[Any], keys: Banding | Halves | None, distance: int
) -> Iterator[Any]:
    """List the keys that rows are looked up under, and which of these are their own.

    Args:
        batches: with the columns `row`, `simhash` and `minima`.
        keys: of the minima, or of the SimHashes.
        distance: of near-duplicates by SimHash, in bits.

    Yields:
        Batches of the schema `KEYS`.
    """
    assert keys is not None
    width = keys.bands if isinstance(keys, Banding) else 2 * len(keys.masks(distance))
    for whole in batches:
        for start in range(0, whole.num_rows, _MAX_KEYS_AT_ONCE // width + 1):
            batch = whole.slice(start, _MAX_KEYS_AT_ONCE // width + 1)
            own = width
            if isinstance(keys, Banding):
                listed = keys.keys(_minima(batch))
            else:
                simhashes = batch.column("simhash").to_numpy().view(np.uint64)
                listed, own = keys.probes(simhashes, distance), _OWN_KEYS
            rows = np.repeat(batch.column("row").to_numpy(), width)
            is_own = np.tile(np.arange(width) < own, batch.num_rows)
            yield of_columns((rows, listed.reshape(-1), is_own), KEYS)


def _minima(rows: Any) -> Minima:
    """Minima of the rows of a batch or a table: uint32[n, 84]."""
    minima = np.frombuffer(b"".join(rows.column("minima").to_pylist()), "<u4")
    return minima.reshape(-1, FUNCTIONS)


def find_pairs(
    batches: Iterable[Any], match_rule: MatchRule, flags: tuple[Octets, Octets], limit: int
) -> Iterator[Any]:
    """Find the pairs of rows that are worth measuring, as `deciding` does on one machine.

    Args:
        batches: rows with their keys, sorted by key and row.
        match_rule: which pairs are worth it.
        flags: bits, which tell of each row whether it is a query, and whether it is removed.
        limit: number of candidates under a key.

    Yields:
        Batches of the schema `PAIRS`; pairs that share several keys are there several times.
    """
    queries, removed = flags
    min_words = match_rule.rules.min_words
    before: list[Any] = []  # the candidates under the last key
    for batch in batches:
        if not batch.num_rows:
            continue
        own = pa.Table.from_batches([*before, batch])
        names = "key", "row", "is_own", "words", "simhash"
        key, row, is_own, words, simhash = (own.column(name).to_numpy() for name in names)
        minima, simhash = _minima(own), simhash.view(np.uint64)
        stored = is_own & ~_bits(removed, row)
        is_query = _bits(queries, row) & (words >= min_words)
        is_query[: len(row) - batch.num_rows] = False
        join = KeyJoin(key, stored, is_query, limit)
        for left, right in join.pairs():
            worth, equal = match_rule.worth_measuring(
                minima[left] == minima[right], simhash[left], simhash[right]
            )
            worth &= (words[right] >= min_words) & (row[left] != row[right])
            yield of_columns((row[left][worth], row[right][worth], equal[worth]), PAIRS)
        cut = row[join.cut]
        yield of_columns((cut, np.full(len(cut), _CUT), np.zeros(len(cut), np.int64)), PAIRS)
        last = np.flatnonzero((key == key[-1]) & stored)[: limit + 1]
        before = own.take(last).to_batches()


def _bits(packed: Octets, rows: Integers) -> Flags:
    """Bits of rows."""
    bits: Flags = (packed[rows >> 3] >> (7 - (rows & 7)) & 1).astype(bool)
    return bits


def measure_pairs(batches: Iterable[Any], options: Options) -> Iterator[Any]:
    """Measure pairs of rows on their texts.

    Args:
        batches: the columns of `PAIRS`, `text` and `other_text`; pairs of a row come together.
        options: what decides.

    Yields:
        Batches of the schema `MEASURED`.
    """
    row, fingerprints = -1, np.empty(0, np.uint64)
    for batch in batches:
        lines = []
        for line in batch.to_pylist():
            text, other = clean(line["text"]), clean(line["other_text"])
            if line["row"] != row:
                row, fingerprints = line["row"], fingerprint_set(text, options.scheme)
            compared = other, fingerprint_set(other, options.scheme)
            both = measure_texts((text, fingerprints), compared, options)
            pair = row, line["other"], line["equal"]
            lines.append((*pair, both.resemblance, both.containment))
        yield of_rows(lines, MEASURED)
