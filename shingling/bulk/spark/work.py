"""A folder that all of Spark's workers can reach, for the results of each step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@dataclass(frozen=True)
class SparkWork:
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

    def discard(self) -> None:
        """Delete the folder."""
        path, files = _hadoop(self.spark, self.folder)
        files.delete(path, True)


def exists(spark: SparkSession, place: str) -> bool:
    """Whether there is a file or a folder."""
    path, files = _hadoop(spark, place)
    is_there: bool = files.exists(path)
    return is_there


def _hadoop(spark: SparkSession, place: str) -> tuple[Any, Any]:
    """Hadoop's object of a path, and the file system that it is on."""
    context: Any = spark.sparkContext
    path = context._jvm.org.apache.hadoop.fs.Path(place)
    return path, path.getFileSystem(context._jsc.hadoopConfiguration())
