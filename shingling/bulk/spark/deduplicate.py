"""Collections that outgrow one machine, deduplicated on Spark with the result of `bulk`.

Needs PySpark 4, here and on the workers: pip install "scrapy-shingling[spark]".
"""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, field
from functools import partial, reduce
from itertools import accumulate
from typing import TYPE_CHECKING
from uuid import uuid4

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession, functions as f

from shingling.bulk.options import Options, Problem, Summary
from shingling.bulk.output import MAX_PROBLEMS_SHOWN, REPEATED_ID_REASON
from shingling.bulk.pairs import MAX_ROWS, keys_of
from shingling.bulk.spark.near import DUPLICATES, NearDuplicates
from shingling.bulk.spark.signing import SIGNED, Signing, sign_rows
from shingling.bulk.spark.work import Work, hadoop
from shingling.errors import BulkError
from shingling.rules import METHODS
from shingling.sketch.banding import Banding, Halves
from shingling.store.ids import USUAL_ID_FIELDS
from shingling.text import plain_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import Column

_ROW, _FILE, _LINE, _INPUT = (f"shingling_{name}" for name in ("row", "file", "line", "input"))
_ROW_BITS = 33  # of Spark's own numbers, behind that of the partition
_RESULT_FOLDERS = ("kept", "removed", "groups", "bad", "summary")


@dataclass(frozen=True)
class Decided:
    """The decisions on a collection, as DataFrames that read the work folder.

    Args:
        kept: the rows that stay, with all their columns, in no order.
        removed: duplicates: `id`, `original`, `status` (`exact` or `near`), `resemblance` and
            `containment` (0 to 1), and for methods by SimHash the `distance` in bits.
        groups: `original` and its `duplicates`, an array in the order of the input.
        bad: bad rows: `id` and `reason`, and of files `file` and `line`.
    """

    kept: DataFrame
    removed: DataFrame
    groups: DataFrame
    bad: DataFrame
    _outcomes: DataFrame = field(repr=False)
    _places: DataFrame = field(repr=False)
    _work: Work = field(repr=False)

    def counts(self) -> Summary:
        """Count kept, removed and bad rows; `problems` has the first bad rows of files."""
        summary = Summary()
        for status, reason, number in (
            self._outcomes.groupBy("status", "reason").count().toLocalIterator()
        ):
            if status == "bad":
                summary.reasons[reason] += number
            else:
                setattr(summary, status, number)
        summary.bad = summary.reasons.total()
        summary.repeated = summary.exact + summary.near
        summary.unique += summary.short
        summary.total = summary.unique + summary.repeated
        if summary.bad:
            summary.problems = self._problems()
        return summary

    def _problems(self) -> list[Problem]:
        bad = self._outcomes.where("status = 'bad'").join(self._places, "row")
        shown = bad.where("file IS NOT NULL").orderBy("row").limit(MAX_PROBLEMS_SHOWN)
        return [Problem(row.file, row.line, row.reason) for row in shown.collect()]

    def discard(self) -> None:
        """Delete the work folder; the DataFrames cannot be read any more."""
        self._work.discard()


def deduplicate_frame(
    rows: DataFrame,
    options: Options | None = None,
    *,
    order: str | Sequence[str] | None = None,
    work: str | None = None,
) -> Decided:
    """Deduplicate the rows of a DataFrame: the result is that of `deduplicate`, row by row.

    Args:
        rows: with a column of texts and one of ids; each row is read once.
        options: `rules`, `scheme`, `fields`, `max_bytes` and `strict` are used. HTML is not read.
        order: columns to order the rows by; of two duplicates the first one stays.
        work: folder that all workers can reach; it is kept until `Decided.discard`. By default
            one in Spark's checkpoint folder.

    Raises:
        BulkError: a column is missing, no order or folder is given, or, with `Options.strict`, a
            row is bad.
    """
    options = options or Options()
    columns = [order] if isinstance(order, str) else [*(order or ())]
    if not columns:
        raise BulkError("a DataFrame has no order of its own: name the columns that it is by")
    _require_columns(rows, [options.fields.text, *columns])
    folder = work or rows.sparkSession.sparkContext.getCheckpointDir()
    if folder is None:
        raise BulkError("name a work folder, or set Spark's checkpoint folder")
    nowhere = {_FILE: f.lit(None).cast("string"), _LINE: f.lit(None).cast("long")}
    own = Work(rows.sparkSession, f"{folder}/shingling-{uuid4().hex}")
    return _decided(rows.withColumns(nowhere), options, columns, own)


def deduplicate_parquet(
    spark: SparkSession,
    inputs: Sequence[str],
    out: str,
    options: Options | None = None,
    order: str | Sequence[str] | None = None,
) -> Summary:
    """Deduplicate Parquet files: the result is that of `deduplicate`, row by row.

    Args:
        spark: the session.
        inputs: paths, URIs or globs of files and folders.
        out: folder for `kept`, `removed`, `groups` and `bad`, each a folder of Parquet files, and
            for `summary`, a folder with a JSON file.
        options: as for `deduplicate_frame`.
        order: columns to order the rows by; by default the order of the inputs, and the files of
            each by their paths.

    Raises:
        BulkError: an input cannot be read, a column is missing, no row can be used, `out` has
            results of another run, or, with `Options.strict`, a row is bad.
    """
    began = time.monotonic()
    options = options or Options()
    columns = [order] if isinstance(order, str) else [*(order or ())]
    for name in _RESULT_FOLDERS:
        path, files = hadoop(spark, f"{out}/{name}")
        if files.exists(path):
            raise BulkError(f"{plain_line(out)}: {name} is there, of another run")
    rows = _read(spark, inputs)
    _require_columns(rows, [options.fields.text, *columns])
    work = Work(spark, f"{out}/work")
    try:
        decided = _decided(rows, options, [*columns, _INPUT, _FILE, _LINE], work)
        summary = decided.counts()
        if not summary.total:
            raise BulkError(f"no row can be used: {plain_line(str(dict(summary.reasons)))}")
        for name in ("kept", "removed", "groups", "bad"):
            frame: DataFrame = getattr(decided, name)
            frame.write.parquet(f"{out}/{name}")
        summary.seconds = time.monotonic() - began
        line = json.dumps(summary.as_dict(), ensure_ascii=False)
        text = spark.createDataFrame([(line,)], "value string")
        text.coalesce(1).write.text(f"{out}/summary")
    finally:
        work.discard()
    return summary


def _read(spark: SparkSession, inputs: Sequence[str]) -> DataFrame:
    frames = []
    for number, name in enumerate(inputs):
        try:
            frame = spark.read.parquet(name)
        except PySparkException as error:
            raise BulkError(f"{plain_line(name)}: {plain_line(str(error))}") from error
        frames.append(
            frame.select(
                *("*", f.col("_metadata.file_path").alias(_FILE)),
                *((f.col("_metadata.row_index") + 1).alias(_LINE), f.lit(number).alias(_INPUT)),
            )
        )
    if not frames:
        raise BulkError("there is no input")
    return reduce(partial(DataFrame.unionByName, allowMissingColumns=True), frames)


def _require_columns(rows: DataFrame, names: Sequence[str]) -> None:
    missing = [name for name in names if name not in rows.columns]
    if missing:
        shown = ", ".join(name for name in rows.columns if not name.startswith("shingling_"))
        raise BulkError(f"there is no column {plain_line(missing[0])}, but {plain_line(shown)}")


def _decided(rows: DataFrame, options: Options, order: Sequence[str], work: Work) -> Decided:
    """Decide rows; those that are not from files have null as their file and line."""
    numbered = _numbered(rows.orderBy(*map(_column, order)), work)
    row = f.col(_ROW).alias("row")
    signed = work.write(_signed(numbered, row, options), "signed")
    number = signed.count()
    if number > MAX_ROWS:
        raise BulkError(f"{number:,} rows are more than one run takes")
    marked = work.write(_marked(signed, options), "marked")
    places = numbered.select(row, f.col(_FILE).alias("file"), f.col(_LINE).alias("line"))
    if options.strict:
        _refuse_bad(marked, places)
    near = work.empty(DUPLICATES)
    if number and METHODS[options.rules.method].keys is not None:
        texts = numbered.select(row, _column(options.fields.text).alias("text"))
        long_enough = marked.where("long_enough AND first IS NULL").select("row")
        comparable = signed.drop("id", "name", "reason", "text_hash").join(long_enough, "row")
        keys = keys_of(options)
        halves = keys if isinstance(keys, Halves) else None
        decided = number, options.rules, options.scheme, halves, work
        near = NearDuplicates(comparable, texts, *decided).decide()
    outcomes = work.write(_outcomes(marked, near, options), "outcomes")
    removed = _removed(outcomes)
    measures = ["resemblance", "containment"]
    if METHODS[options.rules.method].distance:
        removed = _with_distance(removed, signed)
        measures.append("distance")
    of_original = f.sort_array(f.collect_list(f.struct("row", "id"))).getField("id")
    stays = outcomes.where("status IN ('unique', 'short')").select(f.col("row").alias(_ROW))
    bad = outcomes.where("status = 'bad'").join(places, "row")
    return Decided(
        numbered.join(stays, _ROW, "left_semi").drop(_ROW, _FILE, _LINE, _INPUT),
        removed.select("id", "original", "status", *measures),
        removed.groupBy("original_row", "original")
        .agg(of_original.alias("duplicates"))
        .select("original", "duplicates"),
        bad.select(f.col("name").alias("id"), "reason", "file", "line"),
        outcomes,
        places,
        work,
    )


def _numbered(rows: DataFrame, work: Work) -> DataFrame:
    """Give rows numbers from 0 on, in their order."""
    numbered = rows.withColumn(_ROW, f.monotonically_increasing_id())
    numbered = work.write(numbered, "rows")
    part = f.shiftright(_ROW, _ROW_BITS).alias("shingling_part")
    sizes = sorted(map(tuple, numbered.groupBy(part).count().collect()))
    starts = accumulate((size for _, size in sizes), initial=0)
    table = [(number, start) for (number, _), start in zip(sizes, starts, strict=False)]
    frame = work.spark.createDataFrame(table, "shingling_part long, shingling_start long")
    place = f.col(_ROW).bitwiseAND((1 << _ROW_BITS) - 1)
    return (
        numbered.withColumn("shingling_part", part)
        .join(f.broadcast(frame), "shingling_part")
        .withColumn(_ROW, f.col("shingling_start") + place)
        .drop("shingling_part", "shingling_start")
    )


def _column(name: str) -> Column:
    """Column whose name may have dots in it."""
    return f.col("`{}`".format(name.replace("`", "``")))


def _signed(numbered: DataFrame, row: Column, options: Options) -> DataFrame:
    fields = options.fields
    ids = USUAL_ID_FIELDS if fields.id is None else (fields.id,)
    names = {name for name in (*ids, fields.text) if name in numbered.columns}
    place = f.concat(f.col(_FILE), f.lit(":"), f.col(_LINE).cast("string"))
    columns = row, place.alias("place"), f.struct(*map(_column, sorted(names))).alias("values")
    keys = keys_of(options)
    banding = keys if isinstance(keys, Banding) else None
    signing = Signing(options.scheme, banding, fields, options.max_bytes)
    return numbered.select(*columns).mapInArrow(partial(sign_rows, signing=signing), SIGNED)


def _marked(signed: DataFrame, options: Options) -> DataFrame:
    """Mark rows with the id or the text of an earlier row.

    `reason` is also set for a row with the id of an earlier one, `long_enough` for a good row with
    a whole shingle, and `first` is the first row with the same text.
    """
    good = signed.where("reason IS NULL")
    repeated = _later(good.where("id IS NOT NULL"), "id")
    repeated = repeated.select("row", f.lit(REPEATED_ID_REASON).alias("repeated_id"))
    long_enough = f.col("words") >= options.scheme.min_comparable_words
    enough = good.where(f.col("words") >= options.min_exact_words)
    same_text = _later(enough.join(repeated, "row", "left_anti"), "text_hash")
    return (
        signed.select("row", "name", "reason", "words")
        .join(repeated, "row", "left")
        .join(same_text, "row", "left")
        .withColumn("reason", f.coalesce("reason", "repeated_id"))
        .withColumn("long_enough", long_enough & f.col("reason").isNull())
        .select("row", "name", "reason", "words", "long_enough", "first")
    )


def _later(rows: DataFrame, column: str) -> DataFrame:
    """Rows with the value of an earlier row, each with the `first` such row."""
    firsts = rows.groupBy(column).agg(f.min("row").alias("first"), f.count("*").alias("times"))
    repeated = firsts.where("times > 1").drop("times")
    return rows.join(repeated, column).where("row > first").select("row", "first")


def _refuse_bad(marked: DataFrame, places: DataFrame) -> None:
    """Check that there is no bad row.

    Raises:
        BulkError: with the first one.
    """
    bad = marked.where("reason IS NOT NULL").join(places, "row")
    for row in bad.orderBy("row").limit(1).collect():
        where = f"{plain_line(row.file)}, line {row.line:,}: " if row.file is not None else ""
        raise BulkError(f"{where}{row.reason} (--strict)")


def _outcomes(marked: DataFrame, near: DataFrame, options: Options) -> DataFrame:
    """Combine the decisions: the `status` of each row, and of duplicates original and measures.

    A row with the text of an earlier row has the original of that row, or that row.
    """
    measures = "resemblance", "containment"
    same_text = marked.where("first IS NOT NULL").select("row", "first")
    followed = same_text.join(near.withColumnRenamed("row", "first"), "first", "left")
    exact = followed.select(
        *("row", f.coalesce("original", "first").alias("original")),
        *(f.lit(1.0).alias(name) for name in measures),
        f.lit("exact").alias("status"),
    )
    repeated = exact.unionByName(near.withColumn("status", f.lit("near")))
    is_short = f.col("words") < options.min_exact_words
    plain = f.when(is_short, "short").otherwise("unique")
    is_bad = f.col("reason").isNotNull()
    status = f.when(is_bad, "bad").otherwise(f.coalesce("status", plain))
    return (
        marked.join(repeated, "row", "left")
        .withColumn("status", status)
        .select("row", "name", "reason", "status", "original", *measures)
    )


def _removed(outcomes: DataFrame) -> DataFrame:
    originals = outcomes.select(f.col("row").alias("original_row"), f.col("name").alias("original"))
    removed = outcomes.where("original IS NOT NULL")
    removed = removed.withColumnRenamed("original", "original_row")
    return removed.withColumnRenamed("name", "id").join(originals, "original_row")


def _with_distance(removed: DataFrame, signed: DataFrame) -> DataFrame:
    """Add the `distance` of each removed row's SimHash from that of its original, in bits."""
    own = signed.select("row", f.col("simhash").alias("own"))
    other = signed.select(f.col("row").alias("original_row"), f.col("simhash").alias("other"))
    distance = f.bit_count(f.col("own").bitwiseXOR(f.col("other")))
    return removed.join(own, "row").join(other, "original_row").withColumn("distance", distance)
