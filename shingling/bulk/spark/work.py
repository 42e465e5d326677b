"""A folder that all of Spark's workers can reach, for the results of each step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pyspark.sql import Observation

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import Column, DataFrame, SparkSession


@dataclass(frozen=True)
class Work:
    """A folder of Parquet files; a frame that is read from there is not computed again.

    Args:
        spark: the session.
        folder: its path or URI.
    """

    spark: SparkSession
    folder: str

    def write(self, frame: DataFrame, name: str) -> DataFrame:
        """Write a frame, and read it from there."""
        place = f"{self.folder}/{name}"
        frame.write.parquet(place, mode="overwrite")
        return self.spark.read.schema(frame.schema).parquet(place)

    def write_counted(
        self, frame: DataFrame, name: str, counts: Mapping[str, Column]
    ) -> tuple[DataFrame, dict[str, int]]:
        """Write a frame, and read it from there; also count while writing.

        Args:
            frame: of any columns.
            name: of its folder.
            counts: aggregates of the frame, by name.

        Returns:
            The frame, and the values of the aggregates.
        """
        seen = Observation()
        columns = [column.alias(key) for key, column in counts.items()]
        return self.write(frame.observe(seen, *columns), name), seen.get

    def empty(self, schema: str) -> DataFrame:
        """Make a frame without rows."""
        return self.spark.createDataFrame([], schema)

    def discard(self) -> None:
        """Delete the folder."""
        path, files = hadoop(self.spark, self.folder)
        files.delete(path, True)


def hadoop(spark: SparkSession, place: str) -> tuple[Any, Any]:
    """Hadoop's object of a path, and the file system that it is on."""
    context: Any = spark.sparkContext
    path = context._jvm.org.apache.hadoop.fs.Path(place)
    return path, path.getFileSystem(context._jsc.hadoopConfiguration())
