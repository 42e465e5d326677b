"""The program that `spark-submit` is given: deduplicate Parquet files with Spark."""

from __future__ import annotations

import argparse
import json
import sys
from typing import TYPE_CHECKING

from pyspark.sql import SparkSession
from scrapy.exceptions import UsageError
from scrapy.settings import BaseSettings

from shingling.bulk.commands import COMMANDS, options_of
from shingling.bulk.spark.deduplicate import deduplicate_parquet
from shingling.console.options import CommandOptions
from shingling.errors import ShinglingError
from shingling.plugin.settings import DedupSettings

if TYPE_CHECKING:
    from collections.abc import Sequence

_SETTINGS = ("DEDUP_MIN_WORDS", "DEDUP_SHINGLE_SIZE", "DEDUP_SCHEME")
_NOT_HERE = dict.fromkeys(
    ("html_field", "format", "query", "workers", "into_store", "restart", "every")
) | {"to": "jsonl"}
_OTHER_HELP = {
    "input": "Parquet files, folders, globs",
    "--against": "leave out what is a duplicate of these rows as well: an exported store, or the"
    " folder of a result with one",
    "--export": "write the folder `store` as well, for `import` and `--against`",
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Deduplicate Parquet files as the command line says, and print the summary as JSON."""
    parser = argparse.ArgumentParser("spark-submit __main__.py", description=__doc__)
    for name, how, _ in COMMANDS[0].options:
        if name.removeprefix("--").replace("-", "_") not in _NOT_HERE:
            shown = _OTHER_HELP.get(name, how["help"])
            parser.add_argument(name, **how | {"help": shown})
    parser.set_defaults(**_NOT_HERE)
    for name in _SETTINGS:
        option = name.removeprefix("DEDUP_").lower().replace("_", "-")
        parser.add_argument(f"--{option}", dest=name, help=f"as the setting {name}")
    parser.add_argument("--order", action="append", help="column to order the rows by")
    given = parser.parse_args(arguments)
    running = SparkSession.getActiveSession()
    spark = running or SparkSession.builder.appName("shingling").getOrCreate()
    try:
        values = {name: value for name in _SETTINGS if (value := getattr(given, name)) is not None}
        settings = DedupSettings.from_settings(BaseSettings(values), crawl=False)
        options = options_of(CommandOptions(**vars(given), settings=settings))
        summary = deduplicate_parquet(
            spark, given.input, given.out, options, given.order, against=given.against
        )
    except (ShinglingError, UsageError) as error:
        print(f"Error: {error}", file=sys.stderr)
        return 1
    finally:
        if running is None:
            spark.stop()
    print(json.dumps(summary.as_dict(), ensure_ascii=False))
    return 0


if __name__ == "__main__":
    sys.exit(main())
