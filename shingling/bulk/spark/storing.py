"""Exported stores on Spark: one that a run knows, and the one that is made of its rows."""

from __future__ import annotations

import json
import time
from collections import Counter
from functools import partial
from typing import TYPE_CHECKING, Any

from pyspark.errors import PySparkException

from shingling.admin.files import json_lines_of
from shingling.admin.records import Header, Record
from shingling.bulk.known import require_header
from shingling.bulk.spark.batches import of_rows
from shingling.bulk.spark.work import exists
from shingling.bulk.store_records import end_record, header_and_run, page_record
from shingling.bulk.storing import STORE_FILE, STORE_FOLDER
from shingling.errors import BulkError
from shingling.store.index import Index
from shingling.store.schema.rows import SIGNED
from shingling.text import clean

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pyspark.sql import DataFrame

    from shingling.bulk.options import Options
    from shingling.bulk.spark.work import SparkWork

KNOWN = (
    "at long, row long, original long, status string, resemblance double, containment double,"
    " name string, text string, words int, text_hash binary, simhash long, minima binary"
)
_EXPORTED = (
    "record string, id long, original_id long, status string, resemblance double,"
    " containment double, scope string, url string, text string, words int, text_hash string,"
    " simhash string, minima string"
)
_AS_KNOWN = """
SELECT id - 1 AS at, id - 1 AS row, original_id - 1 AS original, status, resemblance, containment,
    url AS name, if(original_id IS NULL, text, NULL) AS text, words, unhex(text_hash) AS text_hash,
    CAST(conv(simhash, 16, -10) AS long) AS simhash, unbase64(minima) AS minima, scope
FROM {records} WHERE record = 'page'
"""
_LAST = 1 << 62  # behind all rows


def known_pages(against: str, options: Options, work: SparkWork) -> tuple[DataFrame, int]:
    """Read the pages of an exported store as rows that are signed and decided.

    Args:
        against: files of JSON lines, their folder, or the folder of a result that has one.
        options: of the run.
        work: folder for the pages.

    Returns:
        A frame of `KNOWN`, in which a row's number is by one lower than the id of the page; and
        the first number after them.

    Raises:
        BulkError: it is not there, is no exported store, is cut off, has no texts, or its scheme
            is not that of the run.
    """
    places = (f"{against}/{name}" for name in (STORE_FOLDER, STORE_FILE))
    place = next(filter(partial(exists, work.spark), places), against)
    try:
        lines = work.spark.read.text(place, lineSep="\n")
        ends = lines.where(r"""value RLIKE '^\\{"record": ?"(store|end)"'""").collect()
    except PySparkException as error:
        raise BulkError(f"{place}: {error}") from error
    bounds = {record["record"]: record for record in (json.loads(row.value) for row in ends)}
    if bounds:
        header = Header.from_record(Record("store", bounds.get("store", {})))
        require_header(header, place, options)
    records = lines.selectExpr(f"from_json(value, '{_EXPORTED}') AS record").select("record.*")
    pages = work.write(work.spark.sql(_AS_KNOWN, records=records), "known")
    number, last = pages.selectExpr("count(*)", "coalesce(max(at), -1)").collect()[0]
    if number != bounds.get("end", {}).get("pages"):
        raise BulkError(f"{place} is no exported store, or not a whole one")
    return pages.where("scope = ''").drop("scope"), last + 1


def store_lines(rows: DataFrame, options: Options) -> DataFrame:
    """Make lines of rows, in their order: the column `value` of an exported store.

    Args:
        rows: pages, whose columns are fields of an exported page.
        options: what decided.
    """
    now = int(time.time())
    counts = Counter(dict(rows.groupBy("status").count().collect()))
    index = Index.for_rules(options.rules, options.scheme)
    header, run = header_and_run(options, index, counts, now)
    first, last = _lines([header.record(), run]), _lines([end_record(header.pages)])
    ends = [(-1, first), (_LAST, last)]
    frame = rows.sparkSession.createDataFrame(ends, "id long, line string")
    both = rows.unionByName(frame, allowMissingColumns=True).orderBy("id")
    return both.mapInArrow(partial(write_pages, now=now), "value string")


def _lines(records: Iterable[Record]) -> str:
    return b"\n".join(json_lines_of(records)).decode()


def write_pages(batches: Iterable[Any], now: int) -> Iterator[Any]:
    """Write lines of an exported store.

    Args:
        batches: as `store_lines` is given, or with a `line` that is written already.
        now: when the pages are stored, seconds since 1970.

    Yields:
        Batches with the column `value`.
    """
    for batch in batches:
        rows = batch.to_pylist()
        lines = [(row.pop("line") or _lines([_page(row, now)]),) for row in rows]
        yield of_rows(lines, "value string")


def _page(row: dict[str, Any], now: int) -> Record:
    row["simhash"] = SIGNED.read(row["simhash"])
    row["text"] = clean(row["text"] or "") or None
    for name in ("title", "language"):
        row[name] = row[name] or None
    return page_record(row, now)
