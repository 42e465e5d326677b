"""The decisions by Spark: rounds in which ever more rows are found to be originals or not.

A row can be decided once nothing that is not known yet can change what becomes of it. In a round,
each undecided row meets the originals under its keys and the first undecided rows of each, the
pivots; exact measures then decide all whose outcome is certain. More pivots in each round, and
rows that are decided in their order within a task, keep the rounds few. At the end, each
duplicate chooses among the originals before it.
"""

from __future__ import annotations

from functools import partial, reduce
from typing import TYPE_CHECKING

from pyspark.sql import DataFrame, Window, functions as f

from shingling.bulk.spark.measuring import (
    CHOSEN,
    DECIDED,
    DUPLICATE,
    LIKELY,
    ORIGINAL,
    OWN,
    WAITS,
    choose,
    decide,
)
from shingling.bulk.spark.meeting import MET, NOBODY, meet
from shingling.sketch import FUNCTIONS

if TYPE_CHECKING:
    from pyspark.sql import WindowSpec

    from shingling.bulk.spark.meeting import Deciding
    from shingling.bulk.spark.work import Work

FIRST_PIVOTS = 4
"""Undecided rows of a key that others meet in the first round."""

MOST_PIVOTS = 256
"""That many at most, after rounds with `GROWTH` times as many each."""

GROWTH = 8

ONE_TASK = 20_000
"""Undecided rows that are few enough to be decided by one task, in their order."""

_OPEN = (WAITS, LIKELY)
_FEW = 8  # times fewer likely duplicates than rows of which less is known: they wait as well
_LOOKED_AT = 8  # originals measured for a row that cannot be an original yet
_TIMES = 3  # that likely duplicates are counted again without those that are none
_BUCKET_BITS = 18  # of rows decided in their order


class Rounds:
    """Decides the rows that share keys.

    Args:
        texts: `row` and `text` of all rows.
        deciding: how rows are decided.
        work: where what a round finds is written.
    """

    def __init__(self, texts: DataFrame, deciding: Deciding, work: Work) -> None:
        self._texts = texts
        self._deciding = deciding
        self._work = work
        self.done = 0

    def duplicates(self, able: DataFrame, rows: int) -> DataFrame:
        """Return the near-duplicates with their originals: `CHOSEN`.

        Args:
            able: the rows that others can be alike to: `row`, `words`, `simhash`, `minima`,
                `keys`.
            rows: how many there are at most; 1 or more.
        """
        all_members = members = self._work.write(self._members(able), "members")
        pivots = FIRST_PIVOTS
        claims: list[DataFrame] = []
        waiting = rows
        while waiting:
            number = len(claims)
            entries = self._work.write(self._met(members, pivots), f"entries-{number}")
            decided = self._decided(entries, in_one_task=waiting <= ONE_TASK)
            counts = {str(verdict): f.count_if(f.col("verdict") == verdict) for verdict in _OPEN}
            decided, seen = self._work.write_counted(decided, f"decided-{number}", counts)
            likely, waiting = seen[str(LIKELY)], seen[str(WAITS)]
            if likely > waiting // _FEW:
                settled = self._settled(decided, members, pivots)
                decided, seen = self._work.write_counted(settled, f"settled-{number}", counts)
                waiting = seen[str(WAITS)]
            else:
                waiting += likely
            claims.append(decided.where(f.col("verdict") == DUPLICATE))
            if waiting:
                members = self._work.write(_left(members, decided), f"members-{number}")
            pivots = min(GROWTH * pivots, MOST_PIVOTS)
        self.done = len(claims)
        return self._chosen(all_members, reduce(DataFrame.unionAll, claims))

    def _members(self, able: DataFrame) -> DataFrame:
        """Return the rows under the keys that more than one has.

        Rows that are too short to be compared, or come first under all their keys, are originals.
        """
        key = Window.partitionBy("key")
        shared = (
            able.select("row", f.explode("keys").alias("key"))
            .withColumn("place", f.row_number().over(key.orderBy("row")))
            .withColumn("rows", f.count("*").over(key))
            .where("rows > 1")
        )
        last = shared.groupBy("row").agg(f.max("place").alias("place"))
        undecided = (f.col("words") >= self._deciding.rules.min_words) & (f.col("place") > 1)
        rows = able.join(last, "row").withColumn("undecided", undecided)
        columns = "row", "undecided", "words", "simhash", "minima"
        return shared.select("key", "row").join(rows.select(*columns), "row")

    def _meet(self, members: DataFrame, pivots: int) -> DataFrame:
        """Return whom the undecided meet, once for each row and other, by row."""
        columns = "key", "row", "undecided", f.col("words").cast("long"), "simhash", "minima"
        met = (
            _together(members.select(*columns), "key")
            .sortWithinPartitions("key", "row")
            .mapInArrow(partial(meet, deciding=self._deciding, pivots=pivots), MET)
        )
        return met.groupBy("row", "other").agg(
            f.max("equal").alias("equal"),
            f.max("original").alias("original"),
            f.max("sure").alias("sure"),
            f.sum("hidden").alias("hidden"),
        )

    def _met(self, members: DataFrame, pivots: int) -> DataFrame:
        """Return whom the undecided meet and may have to be measured with.

        Those behind enough originals that are measured for certain never are. A row that is not
        to be decided as an original yet is measured with the best originals alone; `ahead` is how
        many undecided ones were before each.
        """
        before = _by_likeness().rowsBetween(Window.unboundedPreceding, -1)
        real = f.col("other") >= 0
        certain = f.count_if(f.col("original") & f.col("sure")).over(before)
        ahead = f.count_if(~f.col("original") & real).over(before)
        ranked = (
            self._meet(members, pivots)
            .withColumn("hidden", f.max("hidden").over(Window.partitionBy("row")))
            .withColumn("certain", certain)
            .withColumn("place", f.count_if("original").over(before))
            .withColumn("ahead", f.when(f.col("hidden") > 0, ahead).otherwise(0))
        )
        best = f.col("original") & (f.col("place") < _LOOKED_AT)
        wanted = (f.col("certain") < self._deciding.measured) & ((f.col("hidden") == 0) | best)
        return ranked.where(~real | wanted).drop("certain", "place")

    def _decided(self, entries: DataFrame, *, in_one_task: bool) -> DataFrame:
        bucket = f.lit(0) if in_one_task else f.shiftright("row", _BUCKET_BITS)
        lines = self._with_texts(entries).withColumn("bucket", bucket.cast("long"))
        return (
            _together(lines, "bucket")
            .sortWithinPartitions("bucket", "row", f.desc("equal"), "other")
            .mapInArrow(partial(decide, deciding=self._deciding), DECIDED)
        )

    def _with_texts(self, entries: DataFrame) -> DataFrame:
        """Return entries with the texts of the others, and a line for each row with its own."""
        real = entries.where("other >= 0")
        others = self._texts.withColumnRenamed("row", "other").join(real, "other")
        asks = real.groupBy("row").agg(f.max("hidden").alias("hidden"))
        own = self._texts.join(asks, "row").select(
            *("row", f.col("row").alias("other"), f.lit(OWN).alias("equal")),
            *(f.lit(False).alias("original"), f.lit(False).alias("sure"), "hidden"),
            *(f.lit(0).cast("long").alias("ahead"), "text"),
        )
        nobody = entries.where(f.col("equal") == NOBODY).withColumn("text", f.lit(None))
        return own.unionByName(others).unionByName(nobody)

    def _settled(self, decided: DataFrame, members: DataFrame, pivots: int) -> DataFrame:
        """Return what was decided, without likely duplicates that may be none.

        A likely duplicate is one if, with those that were hidden from it, too few can come before
        the original that it found. Of those hidden, likely duplicates do not count: the first
        of all is one, and so is each behind it, as long as none of them is taken back.
        """
        likely = decided.where(f.col("verdict") == LIKELY)
        for _ in range(_TIMES):
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
        """Return the likely duplicates for which too many rows that are not gone were hidden."""
        before = Window.partitionBy("key").orderBy("row")
        before = before.rowsBetween(Window.unboundedPreceding, -1)
        most, measured = self._deciding.most, self._deciding.measured
        possible = f.count_if(~f.col("undecided")).over(before) < most
        waiting = f.col("undecided") & f.col("possible")
        is_hidden = waiting & (f.col("pivots") >= pivots) & f.col("gone").isNull()
        hidden = (
            members.select("key", "row", "undecided")
            .join(gone.withColumn("gone", f.lit(True)), "row", "left")
            .withColumn("possible", possible)
            .withColumn("pivots", f.count_if(waiting).over(before))
            .withColumn("hidden", f.count_if(is_hidden).over(before))
            .where("gone")
            .groupBy("row")
            .agg(f.sum("hidden").alias("hidden"))
        )
        too_many = f.col("unlike") + f.col("hidden") >= measured
        return likely.join(hidden, "row").where(too_many).select("row")

    def _chosen(self, members: DataFrame, claims: DataFrame) -> DataFrame:
        """Return the duplicates with the originals that they choose.

        Whoever has none to choose from but the one found before, has that.
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
        beaten = estimate + self._deciding.ranking.margin < f.col("resemblance")
        is_behind = f.coalesce(f.col("place") > f.col("found"), f.lit(False))
        entries = self._work.write(
            self._meet(_open(rows), 0)
            .withColumn("place", place)
            .where(f.col("place") <= self._deciding.measured)
            .join(claimed, "row")
            .withColumn("found", found)
            .where(~(is_behind & beaten))
            .withColumn("choices", f.count("*").over(of_row)),
            "choices",
        )
        is_known = (f.col("choices") == 1) & (f.col("other") == f.col("claimed"))
        known = entries.where(is_known).select(
            *("row", f.col("other").alias("original")),
            *("resemblance", "containment"),
        )
        asking = entries.where(~is_known).select(
            *("row", "other", "equal", "original", "sure", "hidden"),
            f.lit(0).cast("long").alias("ahead"),
        )
        lines = self._with_texts(asking).withColumn("bucket", f.lit(0).cast("long"))
        chosen = (
            _together(lines, "row")
            .sortWithinPartitions("row", f.desc("equal"), "other")
            .mapInArrow(partial(choose, deciding=self._deciding), CHOSEN)
        )
        return known.unionByName(chosen)


def _together(frame: DataFrame, column: str) -> DataFrame:
    """Return a frame of which the rows of one value are in one task.

    The expression is of our own: a shuffle by the column itself is left out where a join makes
    one, which Spark may replace while it runs by a join that keeps no values together.
    """
    return frame.repartition(f.hash(column))


def _by_likeness() -> WindowSpec:
    """Return the order in which the others of a row are measured."""
    return Window.partitionBy("row").orderBy(f.desc("equal"), "other")


def _left(members: DataFrame, decided: DataFrame) -> DataFrame:
    """Return the members of the keys under which there are undecided rows still."""
    verdict = f.coalesce("verdict", f.lit(ORIGINAL))
    rows = (
        members.join(decided.select("row", "verdict"), "row", "left")
        .where(verdict != DUPLICATE)
        .withColumn("undecided", f.col("undecided") & verdict.isin(*_OPEN))
        .drop("verdict")
    )
    return _open(rows)


def _open(members: DataFrame) -> DataFrame:
    """Return the members of the keys with undecided rows."""
    return members.join(members.where("undecided").select("key").distinct(), "key", "left_semi")
