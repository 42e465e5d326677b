"""Near-duplicates, decided on Spark in rounds.

A row can be decided once no undecided row can change its outcome. In a round, the candidates of
each undecided row are the originals under its keys, and the first undecided rows of each key, the
pivots; exact measures then decide all rows whose outcome is certain. More pivots in each round,
and rows that are decided in their order within a task, keep the rounds few. At the end, each
duplicate chooses among the originals before it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial, reduce
from typing import TYPE_CHECKING

from pyspark.sql import DataFrame, Window, functions as f

from shingling.bulk.spark.candidates import (
    CANDIDATES,
    NO_CANDIDATE,
    PROBES,
    find_candidates,
    probe_halves,
)
from shingling.bulk.spark.measuring import (
    CHOSEN,
    DECIDED,
    DUPLICATE,
    LIKELY,
    ORIGINAL,
    OWN_TEXT,
    WAITS,
    choose,
    decide,
)
from shingling.sketch import FUNCTIONS

if TYPE_CHECKING:
    from pyspark.sql import WindowSpec

    from shingling.bulk.spark.candidates import Deciding
    from shingling.bulk.spark.work import Work

FIRST_PIVOTS = 4
"""Undecided rows of a key that are candidates in the first round."""

MAX_PIVOTS = 256
PIVOT_GROWTH = 8
"""Factor by which the pivots grow from round to round, up to `MAX_PIVOTS`."""

MAX_ROWS_IN_ONE_TASK = 20_000
"""Undecided rows up to which a single task decides them all, in their order."""

_UNDECIDED = (WAITS, LIKELY)
_WAITING_PER_LIKELY = 8  # with more waiting rows for each likely duplicate, those wait as well
_MAX_MEASURED_EARLY = 8  # originals, for a row that cannot be found to be an original yet
_MAX_RECOUNTS = 3  # of the hidden rows, each time without likely duplicates that are taken back
_BLOCK_BITS = 18  # a task decides blocks of 2^18 row numbers in their order


@dataclass
class Rounds:
    """Decides the rows that share keys.

    Args:
        texts: `row` and `text` of all rows.
        deciding: how rows are decided.
        work: folder for the results of each round.
        done: number of rounds.
    """

    texts: DataFrame
    deciding: Deciding
    work: Work
    done: int = 0

    def duplicates(self, comparable: DataFrame, rows: int) -> DataFrame:
        """Find the near-duplicates with their originals, `CHOSEN`.

        Args:
            comparable: rows that are long enough and no exact duplicates: `row`, `words`,
                `simhash`, `minima`, `keys`.
            rows: upper bound of their number, 1 or more.
        """
        all_members = members = self.work.write(self._members(comparable), "members")
        pivots = FIRST_PIVOTS
        claims: list[DataFrame] = []
        waiting = rows
        while waiting:
            number = len(claims)
            pairs = self.work.write(self._pairs(members, pivots), f"pairs-{number}")
            decided = self._decided(pairs, in_one_task=waiting <= MAX_ROWS_IN_ONE_TASK)
            counts = {
                str(verdict): f.count_if(f.col("verdict") == verdict) for verdict in _UNDECIDED
            }
            decided, seen = self.work.write_counted(decided, f"decided-{number}", counts)
            likely, waiting = seen[str(LIKELY)], seen[str(WAITS)]
            if likely > waiting // _WAITING_PER_LIKELY:
                settled = self._settled(decided, members, pivots)
                decided, seen = self.work.write_counted(settled, f"settled-{number}", counts)
                waiting = seen[str(WAITS)]
            else:
                waiting += likely
            claims.append(decided.where(f.col("verdict") == DUPLICATE))
            if waiting:
                members = self.work.write(_still_undecided(members, decided), f"members-{number}")
            pivots = min(PIVOT_GROWTH * pivots, MAX_PIVOTS)
        self.done = len(claims)
        return self._chosen(all_members, reduce(DataFrame.unionAll, claims))

    def _members(self, comparable: DataFrame) -> DataFrame:
        """Rows with the keys that they share, a line for each.

        Rows that are too short for near-duplicates, or come first under all their keys, are
        originals.
        """
        key = Window.partitionBy("key")
        shared = (
            self._keys(comparable)
            .withColumn("first", f.min(f.when(f.col("stored"), f.col("row"))).over(key))
            .withColumn("last", f.max("row").over(key))
            .where("first < last AND (stored OR first < row)")
        )
        is_later = f.max(f.col("first") < f.col("row"))
        later = shared.groupBy("row").agg(is_later.alias("is_later"))
        undecided = (f.col("words") >= self.deciding.following.rules.min_words) & f.col("is_later")
        rows = comparable.join(later, "row").withColumn("undecided", undecided)
        columns = "row", "undecided", "words", "simhash", "minima"
        return shared.select("key", "row", "stored").join(rows.select(*columns), "row")

    def _keys(self, comparable: DataFrame) -> DataFrame:
        """Keys of rows, a line for each: `row`, `key`, and whether it is `stored` under it."""
        if self.deciding.halves is None:
            stored = f.lit(True).alias("stored")
            return comparable.select("row", f.explode("keys").alias("key"), stored)
        probe = partial(probe_halves, deciding=self.deciding)
        return comparable.select("row", "simhash").mapInArrow(probe, PROBES)

    def _candidates(self, members: DataFrame, pivots: int) -> DataFrame:
        """Candidates of the undecided rows, each once, whatever number of keys they share."""
        words = f.col("words").cast("long")
        columns = "key", "row", "stored", "undecided", words, "simhash", "minima"
        find = partial(find_candidates, deciding=self.deciding, pivots=pivots)
        by_key = (
            _together(members.select(*columns), "key")
            .sortWithinPartitions("key", "row")
            .mapInArrow(find, CANDIDATES)
        )
        return by_key.groupBy("row", "other").agg(
            f.max("equal").alias("equal"),
            f.max("original").alias("original"),
            f.max("sure").alias("sure"),
            f.sum("hidden").alias("hidden"),
        )

    def _pairs(self, members: DataFrame, pivots: int) -> DataFrame:
        """Candidates that may have to be measured for the undecided rows.

        A candidate after enough originals that are certain to be measured never is. A row that
        cannot be found to be an original yet is measured with the best originals only; `ahead`
        is the number of undecided candidates that were before each.
        """
        before = _by_likeness().rowsBetween(Window.unboundedPreceding, -1)
        real = f.col("other") >= 0
        certain = f.count_if(f.col("original") & f.col("sure")).over(before)
        ahead = f.count_if(~f.col("original") & real).over(before)
        ranked = (
            self._candidates(members, pivots)
            .withColumn("hidden", f.max("hidden").over(Window.partitionBy("row")))
            .withColumn("certain", certain)
            .withColumn("place", f.count_if("original").over(before))
            .withColumn("ahead", f.when(f.col("hidden") > 0, ahead).otherwise(0))
        )
        best = f.col("original") & (f.col("place") < _MAX_MEASURED_EARLY)
        wanted = (f.col("certain") < self.deciding.max_measured) & ((f.col("hidden") == 0) | best)
        return ranked.where(~real | wanted).drop("certain", "place")

    def _decided(self, pairs: DataFrame, *, in_one_task: bool) -> DataFrame:
        block = f.lit(0) if in_one_task else f.shiftright("row", _BLOCK_BITS)
        lines = self._with_texts(pairs).withColumn("block", block.cast("long"))
        return (
            _together(lines, "block")
            .sortWithinPartitions("block", "row", f.desc("equal"), "other")
            .mapInArrow(partial(decide, deciding=self.deciding), DECIDED)
        )

    def _with_texts(self, pairs: DataFrame) -> DataFrame:
        """Add the texts of the candidates, and for each row a line with its own text."""
        real = pairs.where("other >= 0")
        others = self.texts.withColumnRenamed("row", "other").join(real, "other")
        asks = real.groupBy("row").agg(f.max("hidden").alias("hidden"))
        own = self.texts.join(asks, "row").select(
            *("row", f.col("row").alias("other"), f.lit(OWN_TEXT).alias("equal")),
            *(f.lit(False).alias("original"), f.lit(False).alias("sure"), "hidden"),
            *(f.lit(0).cast("long").alias("ahead"), "text"),
        )
        hidden = pairs.where(f.col("equal") == NO_CANDIDATE).withColumn("text", f.lit(None))
        return own.unionByName(others).unionByName(hidden)

    def _settled(self, decided: DataFrame, members: DataFrame, pivots: int) -> DataFrame:
        """Turn likely duplicates into duplicates where that is certain, else let them wait.

        It is certain if, even with the rows that were hidden from it, too few candidates can come
        before the original that it found. Likely duplicates among the hidden rows do not count:
        the first one of all is a duplicate, and so is each after it unless one is taken back.
        """
        likely = decided.where(f.col("verdict") == LIKELY)
        for _ in range(_MAX_RECOUNTS):
            gone = likely.select("row").unionAll(
                decided.where(f.col("verdict") == DUPLICATE).select("row")
            )
            doubtful = self._doubtful(likely, gone, members, pivots)
            earliest = doubtful.agg(f.min("row")).collect()[0][0]
            if earliest is None:
                break
            likely = likely.join(doubtful, "row", "left_anti")
        else:
            likely = likely.where(f.col("row") < earliest)
        taken = likely.select("row", f.lit(DUPLICATE).alias("settled"))
        verdict = f.when(f.col("verdict") == LIKELY, f.coalesce("settled", f.lit(WAITS)))
        return (
            decided.join(taken, "row", "left")
            .withColumn("verdict", verdict.otherwise(f.col("verdict")).cast("int"))
            .drop("settled")
        )

    def _doubtful(
        self, likely: DataFrame, gone: DataFrame, members: DataFrame, pivots: int
    ) -> DataFrame:
        """Likely duplicates from which too many rows were hidden that are not `gone`."""
        before = Window.partitionBy("key").orderBy("row")
        before = before.rowsBetween(Window.unboundedPreceding, -1)
        max_originals, max_measured = self.deciding.max_originals, self.deciding.max_measured
        is_original = f.col("stored") & ~f.col("undecided")
        possible = f.count_if(is_original).over(before) < max_originals
        waiting = f.col("stored") & f.col("undecided") & f.col("possible")
        is_hidden = waiting & (f.col("pivots") >= pivots) & f.col("gone").isNull()
        hidden = (
            members.select("key", "row", "stored", "undecided")
            .join(gone.withColumn("gone", f.lit(True)), "row", "left")
            .withColumn("possible", possible)
            .withColumn("pivots", f.count_if(waiting).over(before))
            .withColumn("hidden", f.count_if(is_hidden).over(before))
            .where("gone")
            .groupBy("row")
            .agg(f.sum("hidden").alias("hidden"))
        )
        too_many = f.col("unlike") + f.col("hidden") >= max_measured
        return likely.join(hidden, "row").where(too_many).select("row")

    def _chosen(self, members: DataFrame, claims: DataFrame) -> DataFrame:
        """Choose the original of each duplicate.

        A duplicate whose only candidate is the original that was found in a round has that one.
        """
        claimed = claims.select(
            *("row", f.col("other").alias("claimed")),
            *("resemblance", "containment"),
        )
        rows = members.drop("undecided").join(
            claims.select("row", f.lit(True).alias("undecided")), "row", "left"
        )
        rows = rows.withColumn("undecided", f.col("undecided").isNotNull())
        place = f.row_number().over(_by_likeness())
        of_row = Window.partitionBy("row")
        found = f.min(f.when(f.col("other") == f.col("claimed"), f.col("place"))).over(of_row)
        estimate = f.col("equal") / FUNCTIONS
        beaten = estimate + self.deciding.following.margin < f.col("resemblance")
        is_behind = f.coalesce(f.col("place") > f.col("found"), f.lit(False))
        pairs = self.work.write(
            self._candidates(_with_undecided(rows), 0)
            .withColumn("place", place)
            .where(f.col("place") <= self.deciding.max_measured)
            .join(claimed, "row")
            .withColumn("found", found)
            .where(~(is_behind & beaten))
            .withColumn("choices", f.count("*").over(of_row)),
            "choices",
        )
        is_known = (f.col("choices") == 1) & (f.col("other") == f.col("claimed"))
        known = pairs.where(is_known).select(
            *("row", f.col("other").alias("original")),
            *("resemblance", "containment"),
        )
        open_pairs = pairs.where(~is_known).select(
            *("row", "other", "equal", "original", "sure", "hidden"),
            f.lit(0).cast("long").alias("ahead"),
        )
        lines = self._with_texts(open_pairs).withColumn("block", f.lit(0).cast("long"))
        chosen = (
            _together(lines, "row")
            .sortWithinPartitions("row", f.desc("equal"), "other")
            .mapInArrow(partial(choose, deciding=self.deciding), CHOSEN)
        )
        return known.unionByName(chosen)


def _together(frame: DataFrame, column: str) -> DataFrame:
    """Shuffle a frame so that all rows with one value are in one task.

    By an expression, as Spark leaves a shuffle by the column itself out if a join before it makes
    one, and may then replace that join at run time by one that keeps no values together.
    """
    return frame.repartition(f.hash(column))


def _by_likeness() -> WindowSpec:
    """Order in which the candidates of a row are measured."""
    return Window.partitionBy("row").orderBy(f.desc("equal"), "other")


def _still_undecided(members: DataFrame, decided: DataFrame) -> DataFrame:
    """Members of the keys that still have undecided rows after a round."""
    verdict = f.coalesce("verdict", f.lit(ORIGINAL))
    rows = (
        members.join(decided.select("row", "verdict"), "row", "left")
        .where(verdict != DUPLICATE)
        .withColumn("undecided", f.col("undecided") & verdict.isin(*_UNDECIDED))
        .drop("verdict")
    )
    return _with_undecided(rows)


def _with_undecided(members: DataFrame) -> DataFrame:
    """Members of the keys with undecided rows."""
    return members.join(members.where("undecided").select("key").distinct(), "key", "left_semi")
