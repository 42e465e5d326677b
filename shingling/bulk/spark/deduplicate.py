"""Collections that outgrow one machine, deduplicated on Spark with the result of `bulk`.

Needs PySpark, here and on the workers: pip install "scrapy-shingling[spark]".
"""

from __future__ import annotations

import json
import time
from collections import Counter
from dataclasses import dataclass, field
from functools import partial, reduce
from typing import TYPE_CHECKING
from uuid import uuid4

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession, functions as f
from pyspark.sql.types import StringType

from shingling.bulk.options import Options, Problem, Summary, keeps_order, order_field
from shingling.bulk.output import MAX_PROBLEMS_SHOWN
from shingling.bulk.pairs import MAX_ROWS
from shingling.bulk.spark.near import DUPLICATES, near_duplicates
from shingling.bulk.spark.signing import SIGNED, TEXTS, read_texts, sign_rows
from shingling.bulk.spark.storing import KNOWN, known_pages, store_lines
from shingling.bulk.spark.work import SparkWork, exists
from shingling.errors import BulkError
from shingling.rules import METHODS
from shingling.store.ids import USUAL_ID_FIELDS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import Column

_AT, _FILE, _LINE, _INPUT = (f"shingling_{name}" for name in ("at", "file", "line", "input"))
_PART_BITS = 33  # of Spark's own numbers, behind that of the partition
_FRAMES = ("kept", "removed", "groups", "bad")

_MARKED = """
WITH good AS (SELECT * FROM {signed} WHERE reason IS NULL),
ids AS (
    SELECT id, min(at) AS first FROM good WHERE id IS NOT NULL GROUP BY id HAVING count(*) > 1
),
same_ids AS (SELECT row, true AS same_id FROM good JOIN ids USING (id) WHERE at > first),
enough AS (SELECT row, text_hash FROM good WHERE words >= {least}),
texts AS (
    SELECT text_hash, min(row) AS first FROM enough GROUP BY text_hash HAVING count(*) > 1
),
copies AS (
    SELECT row, first FROM enough JOIN texts USING (text_hash) WHERE row > first AND row >= {known}
)
SELECT at, row, same_id, reason, has_text, words, simhash, first,
    if(same_id, coalesce(name, concat('row:', at + 1 - {known})), coalesce(id, name)) AS name,
    first IS NULL AND words >= {comparable} AS is_compared
FROM {signed} LEFT JOIN same_ids USING (row) LEFT JOIN copies USING (row)
"""
"""Marks rows with the id of an earlier one, and those with the text of one by the first such.

Known rows have no ids, and are not marked.
"""

_COMPARED = """
SELECT row, words, simhash, minima FROM {signed}
    JOIN (SELECT row FROM {marked} WHERE is_compared AND reason IS NULL) USING (row)
    LEFT ANTI JOIN (SELECT row FROM {known} WHERE original IS NOT NULL OR text IS NULL) USING (row)
"""
"""Gives the rows that have keys: of known rows, only originals with their text."""

_OUTCOMES = """
WITH decided AS (
    SELECT row, original, 'near' AS status, resemblance, containment FROM {near}
    UNION ALL SELECT row, original, status, resemblance, containment FROM {known}
),
copies AS (
    SELECT copy.row, coalesce(original, first) AS original, 'exact' AS status, 1D, 1D
    FROM {marked} AS copy LEFT JOIN decided ON first = decided.row WHERE first IS NOT NULL
),
duplicates AS (SELECT * FROM decided UNION ALL SELECT * FROM copies)
SELECT at, row, name, simhash, original, resemblance, containment,
    coalesce(
        status,
        CASE WHEN NOT has_text THEN 'empty' WHEN words < {least} THEN 'skipped' ELSE 'new' END
    ) AS status
FROM {marked} LEFT JOIN duplicates USING (row) WHERE reason IS NULL
"""
"""Decides good rows: one with the text of an earlier row has the original of that, or that row."""

_STAYING = """
WITH turns AS (
    SELECT row, row_number() OVER (PARTITION BY original ORDER BY at) AS turn
    FROM {outcomes} WHERE original IS NOT NULL
),
more AS (SELECT row, true AS stays FROM turns WHERE turn < {each})
SELECT at, row, name, simhash, if(stays, NULL, original) AS original, resemblance, containment,
    if(stays, 'new', status) AS status
FROM {outcomes} LEFT JOIN more USING (row)
"""
"""Decides that so many rows of each group stay: its original, and its first others."""

_REMOVED = """
SELECT page.at, page.name AS id, head.name AS original, page.original AS original_row, page.status,
    page.resemblance, page.containment, bit_count(page.simhash ^ head.simhash) AS distance
FROM {staying} AS page JOIN {outcomes} AS head ON page.original = head.row
"""
"""Gives removed rows with their originals."""

_GROUPS = """
SELECT original, sort_array(collect_list(struct(at, id))).id AS duplicates
FROM {removed} GROUP BY original_row, original
"""
"""Gives originals with their duplicates, in the order of the input."""

_STORED = """
SELECT page.at + 1 AS id, page.status, page.name AS url, words, text_hash, page.simhash, minima,
    text, title, language, head.at + 1 AS original_id, head.name AS original, page.resemblance,
    page.containment
FROM {outcomes} AS page JOIN {signed} USING (row) JOIN {texts} USING (row)
    LEFT JOIN {outcomes} AS head ON page.original = head.row
WHERE words > 0
"""
"""Gives the pages of a store: a row without a word is none."""

_SIGNATURE = ("at", "row", "name", "words", "text_hash", "simhash", "minima")


@dataclass(frozen=True)
class Decided:
    """The decisions on a collection, as DataFrames that read the work folder.

    Args:
        kept: the rows that stay, with all their columns, in no order.
        removed: duplicates: `id`, `original`, `status` (`exact` or `near`), `resemblance` and
            `containment` (0 to 1), and for methods by SimHash the `distance` in bits.
        groups: `original` and its `duplicates`, an array in the order of the input.
        bad: bad rows in their order: `id` and `reason`, and of files `file` and `line`.
        store: with `Options.export`, lines of an exported store, in the order of the rows, known
            ones first; otherwise None.
    """

    kept: DataFrame
    removed: DataFrame
    groups: DataFrame
    bad: DataFrame
    store: DataFrame | None
    _outcomes: DataFrame = field(repr=False)
    _same_id: DataFrame = field(repr=False)
    _work: SparkWork = field(repr=False)

    def counts(self) -> Summary:
        """Count kept, removed and bad rows; `problems` has the first bad rows of files."""
        numbers = Counter(dict(self._outcomes.groupBy("status").count().collect()))
        reasons = Counter(dict(self.bad.groupBy("reason").count().collect()))
        statuses = "exact", "near", "skipped", "empty"
        exact, near, short, empty = (numbers[status] for status in statuses)
        total, repeated, bad = numbers.total(), exact + near, reasons.total()
        summary = Summary(
            total, total - repeated, repeated, exact, near, short, empty, bad, reasons=reasons
        )
        summary.same_id, example = self._same_id.selectExpr("count(*)", "min_by(name, at)").first()
        summary.same_id_example = example or ""
        if bad:
            shown = self.bad.where("file IS NOT NULL").limit(MAX_PROBLEMS_SHOWN).collect()
            summary.problems = [Problem(row.file, row.line, row.reason) for row in shown]
        return summary

    def discard(self) -> None:
        """Delete the work folder; the DataFrames cannot be read any more."""
        self._work.discard()


def deduplicate_frame(
    rows: DataFrame,
    options: Options | None = None,
    *,
    order: str | Sequence[str] | None = None,
    work: str | None = None,
    against: str | None = None,
) -> Decided:
    """Deduplicate the rows of a DataFrame: the result is that of `deduplicate`, row by row.

    Args:
        rows: with a column of texts and one of ids; each row is read once.
        options: `rules`, `scheme`, `fields`, `keep`, `order_field`, `keep_each`, `export`,
            `skip_words`, `max_bytes` and `strict` are used. HTML is not read.
        order: columns to order the rows by; of two duplicates the first one stays.
        work: folder that all workers can reach; it is kept until `Decided.discard`. By default
            one in Spark's checkpoint folder.
        against: rows that are known: files of an exported store, or the folder of a result that
            has one. What is a duplicate of them is removed.

    Raises:
        BulkError: a column is missing, no order or folder is given, the known rows cannot be
            read, or, with `Options.strict`, a row is bad.
    """
    options = options or Options()
    columns = _required(rows, options, order)
    if not columns:
        raise BulkError("a DataFrame has no order of its own: name the columns that it is by")
    folder = work or rows.sparkSession.sparkContext.getCheckpointDir()
    if folder is None:
        raise BulkError("name a work folder, or set Spark's checkpoint folder")
    nowhere = f"CAST(NULL AS string) AS {_FILE}", f"CAST(NULL AS long) AS {_LINE}"
    own = SparkWork(rows.sparkSession, f"{folder}/shingling-{uuid4().hex}")
    return _decided(rows.selectExpr("*", *nowhere), options, columns, against, own)


def deduplicate_parquet(
    spark: SparkSession,
    inputs: Sequence[str],
    out: str,
    options: Options | None = None,
    order: str | Sequence[str] | None = None,
    *,
    against: str | None = None,
) -> Summary:
    """Deduplicate Parquet files: the result is that of `deduplicate`, row by row.

    Args:
        spark: the session.
        inputs: paths, URIs or globs of files and folders.
        out: folder for `kept`, `removed`, `groups` and `bad`, each a folder of Parquet files, for
            `summary`, a folder with a JSON file, and with `Options.export` for `store`, a folder
            of JSON lines.
        options: as for `deduplicate_frame`.
        order: columns to order the rows by; by default the order of the inputs, and the files of
            each by their paths.
        against: as for `deduplicate_frame`.

    Raises:
        BulkError: an input or the known rows cannot be read, a column is missing, no row can be
            used, `out` has results of another run, or, with `Options.strict`, a row is bad.
    """
    began = time.monotonic()
    options = options or Options()
    for name in (*_FRAMES, "store", "summary"):
        if exists(spark, f"{out}/{name}"):
            raise BulkError(f"{out}: {name} is there, of another run")
    rows = _read(spark, inputs)
    columns = [*_required(rows, options, order), _INPUT, _FILE, _LINE]
    work = SparkWork(spark, f"{out}/work")
    try:
        decided = _decided(rows, options, columns, against, work)
        summary = decided.counts()
        if summary.total == summary.without_text:
            named = {f"without {options.fields.text}": summary.without_text, **summary.reasons}
            raise BulkError(f"no row can be used: {named}")
        for name in _FRAMES:
            frame: DataFrame = getattr(decided, name)
            frame.write.parquet(f"{out}/{name}")
        if decided.store is not None:
            decided.store.write.text(f"{out}/store")
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
            raise BulkError(f"{name}: {error}") from error
        places = f"_metadata.file_path AS {_FILE}", f"_metadata.row_index + 1 AS {_LINE}"
        frames.append(frame.selectExpr("*", *places, f"{number} AS {_INPUT}"))
    if not frames:
        raise BulkError("there is no input")
    return reduce(partial(DataFrame.unionByName, allowMissingColumns=True), frames)


def _required(
    rows: DataFrame, options: Options, order: str | Sequence[str] | None
) -> Sequence[str]:
    """Columns to order by.

    Raises:
        BulkError: one of them is missing, or that of the texts.
    """
    columns = [order] if isinstance(order, str) else [*(order or ())]
    for name in (options.fields.text, *columns):
        if name not in rows.columns:
            shown = ", ".join(name for name in rows.columns if not name.startswith("shingling_"))
            raise BulkError(f"there is no column {name}, but {shown}")
    return columns


def _decided(
    rows: DataFrame, options: Options, columns: Sequence[str], against: str | None, work: SparkWork
) -> Decided:
    """Decide rows; those that are not from files have null as their file and line.

    Rows have a number `at` in the order of the input, behind those that are known, and a number
    `row` in the order in which they are decided.
    """
    known, first = work.spark.createDataFrame([], KNOWN), 0
    if against is not None:
        known, first = known_pages(against, options, work)
    numbered = _numbered(rows.orderBy(*map(_column, columns)), "rows", first, work)
    places = numbered.selectExpr(f"{_AT} AS at", f"{_FILE} AS file", f"{_LINE} AS line")
    signed = work.write(_signed(numbered, options), "signed")
    rows_and_known = first + signed.count()
    if rows_and_known > MAX_ROWS:
        raise BulkError(f"{rows_and_known:,} rows are more than one run takes")
    texts = _texts(numbered, options)
    if keeps_order(options):
        signed, texts = (frame.withColumn("row", f.col("at")) for frame in (signed, texts))
    else:
        turns = _numbered(signed.select("at", "place").orderBy("place", "at"), "turns", first, work)
        turns = turns.selectExpr("at", f"{_AT} AS row")
        signed, texts = (frame.join(turns, "at") for frame in (signed, texts))
    signed = signed.unionByName(known.select(*_SIGNATURE), allowMissingColumns=True)
    texts = texts.unionByName(known.select("at", "row", "text"), allowMissingColumns=True)
    least, comparable = options.min_exact_words, options.scheme.min_comparable_words
    marked = work.spark.sql(_MARKED, signed=signed, least=least, comparable=comparable, known=first)
    marked = work.write(marked, "marked")
    bad = marked.where("reason IS NOT NULL").join(places, "at").orderBy("at")
    if options.strict:
        for row in bad.limit(1).collect():
            where = f"{row.file}, line {row.line:,}: " if row.file is not None else ""
            raise BulkError(f"{where}{row.reason} (--strict)")
    near = work.spark.createDataFrame([], DUPLICATES)
    if METHODS[options.rules.method].keys is not None:
        compared = work.spark.sql(_COMPARED, signed=signed, marked=marked, known=known)
        near = near_duplicates(compared, texts, first, rows_and_known, options, work)
    outcomes = work.spark.sql(_OUTCOMES, marked=marked, near=near, known=known, least=least)
    outcomes = work.write(outcomes, "outcomes")
    staying = outcomes
    if options.keep_each > 1:
        staying = work.spark.sql(_STAYING, outcomes=outcomes, each=options.keep_each)
    staying = staying.where(f"row >= {first}")
    removed = work.spark.sql(_REMOVED, staying=staying, outcomes=outcomes)
    groups = work.spark.sql(_GROUPS, removed=removed)
    kept = staying.where("original IS NULL").selectExpr(f"at AS {_AT}")
    has_distance = METHODS[options.rules.method].distance
    store = None
    if options.export:
        pages = work.spark.sql(_STORED, outcomes=outcomes, signed=signed, texts=texts)
        store = store_lines(pages, options)
    return Decided(
        numbered.join(kept, _AT, "left_semi").drop(_AT, _FILE, _LINE, _INPUT),
        removed.drop("at", "original_row", *([] if has_distance else ["distance"])),
        groups,
        bad.selectExpr("name AS id", "reason", "file", "line"),
        store,
        staying,
        marked.where("same_id"),
        work,
    )


def _numbered(rows: DataFrame, name: str, first: int, work: SparkWork) -> DataFrame:
    """Give rows numbers, in their order, from the first one on."""
    numbered = work.write(rows.withColumn(_AT, f.monotonically_increasing_id()), name)
    part = f"shiftright({_AT}, {_PART_BITS}) AS shingling_part"
    sizes = numbered.groupBy(f.expr(part)).count()
    start = f"sum(count) OVER (ORDER BY shingling_part) - count + {first} AS shingling_start"
    starts = work.write(sizes.selectExpr("shingling_part", start), f"{name}-parts")
    place = f"shingling_start + ({_AT} & {(1 << _PART_BITS) - 1})"
    joined = numbered.selectExpr("*", part).join(f.broadcast(starts), "shingling_part")
    return joined.withColumn(_AT, f.expr(place)).drop("shingling_part", "shingling_start")


def _column(name: str) -> Column:
    """Column whose name may have dots in it."""
    return f.col("`{}`".format(name.replace("`", "``")))


def _texts(numbered: DataFrame, options: Options) -> DataFrame:
    """Texts that are compared, with titles and languages: `TEXTS`."""
    others = (
        (_column(name) if name in numbered.columns else f.lit(None)).cast("string").alias(name)
        for name in ("title", "language")
    )
    text = _column(options.fields.text).alias("text")
    texts = numbered.select(f.col(_AT).alias("at"), text, *others)
    if options.skip_words or texts.schema["text"].dataType != StringType():
        texts = texts.mapInArrow(partial(read_texts, skip_words=options.skip_words), TEXTS)
    return texts


def _signed(numbered: DataFrame, options: Options) -> DataFrame:
    fields = options.fields
    ids = USUAL_ID_FIELDS if fields.id is None else (fields.id,)
    names = {*ids, fields.text, order_field(options)} & {*numbered.columns}
    place = f.expr(f"concat({_FILE}, ':', {_LINE})").alias("place")
    values = f.struct(*map(_column, sorted(filter(None, names)))).alias("values")
    rows = numbered.select(f.col(_AT).alias("at"), place, values)
    return rows.mapInArrow(partial(sign_rows, options=options), SIGNED)
