"""Whole collections: near-duplicates among the rows of files, without a crawl or a store."""

from shingling.bulk._run import deduplicate
from shingling.bulk._values import FORMATS, MEMORY, OUTPUTS, Fields, Options, Progress, Summary

__all__ = [
    "FORMATS",
    "MEMORY",
    "OUTPUTS",
    "Fields",
    "Options",
    "Progress",
    "Summary",
    "deduplicate",
]
