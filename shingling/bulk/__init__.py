"""Near-duplicates among the rows of whole collections of files, without a crawl.

`run.deduplicate` takes a collection through these steps:

1. read: `files.sources` cuts each input into parts, which `files.payloads` turns into rows;
2. sign: `signing` extracts and signs the rows of each part in worker processes, and writes them
   as a chunk (`signing.chunks`); from here on all rows are read from there (`signed_rows`);
3. sort: `sorting` finds the rows with equal ids, equal texts, and equal or near keys;
4. decide: `greedy` takes the rows in their order, with candidates out of `buckets`, whose texts
   `measuring` compares;
5. write: `output` writes the files, and `storing` puts the rows into a store.

`spark` does the same on a cluster.
"""

from shingling.bulk.options import (
    DEFAULT_MEMORY_BYTES,
    INPUT_FORMATS,
    OUTPUT_FORMATS,
    Fields,
    Options,
    Problem,
    Progress,
    Summary,
)
from shingling.bulk.run import deduplicate

__all__ = [
    "DEFAULT_MEMORY_BYTES",
    "INPUT_FORMATS",
    "OUTPUT_FORMATS",
    "Fields",
    "Options",
    "Problem",
    "Progress",
    "Summary",
    "deduplicate",
]
