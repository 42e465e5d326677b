"""Deduplicate a collection on Spark, with the decisions of `bulk` on one machine.

`deduplicate` numbers the rows, has them signed (`signing`), and finds exact duplicates. `rounds`
decides the near-duplicates: in each round `candidates` pairs undecided rows with candidates under
their keys, and `measuring` compares the texts of the pairs. `work` and `batches` move data
between these steps.
"""

from shingling.bulk.spark.deduplicate import Decided, deduplicate_frame, deduplicate_parquet

__all__ = ["Decided", "deduplicate_frame", "deduplicate_parquet"]
