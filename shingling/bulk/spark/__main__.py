"""The program that `spark-submit` is given: deduplicate Parquet files with Spark."""

from __future__ import annotations

import argparse
import json
import sys
from typing import TYPE_CHECKING

from pyspark.sql import SparkSession

from shingling.bulk.options import Fields, Options
from shingling.bulk.spark.deduplicate import deduplicate_parquet
from shingling.errors import ShinglingError
from shingling.rules import (
    DEFAULT_METHOD,
    DEFAULT_MIN_WORDS,
    DEFAULT_SIMHASH_DISTANCE,
    DEFAULT_THRESHOLD,
    METHODS,
)
from shingling.rules.rules import Rules

if TYPE_CHECKING:
    from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> int:
    """Deduplicate Parquet files as the command line says, and print the summary as JSON."""
    parser = argparse.ArgumentParser("spark-submit __main__.py", description=__doc__)
    parser.add_argument("inputs", nargs="+", metavar="INPUT", help="Parquet files, folders, globs")
    parser.add_argument("--out", required=True, help="folder to write to")
    parser.add_argument("--threshold", type=float, default=DEFAULT_THRESHOLD)
    parser.add_argument("--min-words", type=int, default=DEFAULT_MIN_WORDS)
    parser.add_argument("--method", choices=[*METHODS], default=DEFAULT_METHOD)
    parser.add_argument(
        "--distance",
        type=int,
        default=DEFAULT_SIMHASH_DISTANCE,
        help="bits in which SimHashes of near-duplicates differ at most",
    )
    parser.add_argument("--text-field", default="text")
    parser.add_argument("--id-field", help="by default id, or url")
    parser.add_argument("--order", action="append", help="column to order the rows by")
    given = parser.parse_args(arguments)
    running = SparkSession.getActiveSession()
    spark = running or SparkSession.builder.appName("shingling").getOrCreate()
    try:
        rules = Rules(
            given.threshold, given.min_words, given.method, simhash_distance=given.distance
        )
        options = Options(rules, fields=Fields(text=given.text_field, id=given.id_field))
        summary = deduplicate_parquet(spark, given.inputs, given.out, options, given.order)
    except ShinglingError as error:
        print(f"Error: {error}", file=sys.stderr)
        return 1
    finally:
        if running is None:
            spark.stop()
    print(json.dumps(summary.as_dict(), ensure_ascii=False))
    return 0


if __name__ == "__main__":
    sys.exit(main())
