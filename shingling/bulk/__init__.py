"""Whole collections: near-duplicates among the rows of files, without a crawl or a store."""

from shingling.bulk.options import (
    FORMATS,
    MEMORY,
    OUTPUTS,
    Fields,
    Options,
    Problem,
    Progress,
    Summary,
)
from shingling.bulk.run import deduplicate

__all__ = [
    "FORMATS",
    "MEMORY",
    "OUTPUTS",
    "Fields",
    "Options",
    "Problem",
    "Progress",
    "Summary",
    "deduplicate",
]
