"""Deduplicate a collection on Spark, with the decisions of `bulk` on one machine.

`deduplicate` numbers the rows, has them signed (`signing`), and finds exact duplicates. In `near`,
workers pair rows by their keys and measure the pairs, which the driver decides as one machine does.
`storing` reads the store of known rows, and writes that of all. `work` and `batches` move data
between these steps.
"""

from shingling.errors import BulkError, require

require("spark", "Spark", "pyspark", error=BulkError)

from shingling.bulk.spark.deduplicate import (  # noqa: E402
    Decided,
    deduplicate_frame,
    deduplicate_parquet,
)

__all__ = ["Decided", "deduplicate_frame", "deduplicate_parquet"]
