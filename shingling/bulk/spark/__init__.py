"""Deduplicate a collection on Spark."""

from shingling.bulk.spark.deduplicate import Decided, deduplicate_frame, deduplicate_parquet

__all__ = ["Decided", "deduplicate_frame", "deduplicate_parquet"]
