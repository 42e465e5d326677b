"""Deduplicate a collection on Spark, with the decisions of `bulk` on one machine.

`deduplicate` numbers the rows, has them signed (`signing`), and finds exact duplicates. In `near`,
workers pair rows by their keys and measure the pairs, which the driver decides as one machine does.
`storing` reads the store of known rows, and writes that of all. `work` and `batches` move data
between these steps.
"""

try:
    import pyspark  # noqa: F401 (says which extra is missing)
except ImportError as error:
    raise ModuleNotFoundError("Spark needs pyspark: pip install pyspark (extra spark)") from error

from shingling.bulk.spark.deduplicate import Decided, deduplicate_frame, deduplicate_parquet

__all__ = ["Decided", "deduplicate_frame", "deduplicate_parquet"]
