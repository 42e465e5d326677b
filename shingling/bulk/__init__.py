"""Near-duplicates among the rows of whole collections of files, without a crawl.

`run.deduplicate` takes a collection through these steps:

1. read: `inputs.sources` cuts each input into parts, which `inputs.payloads` turns into rows;
   `known` reads the rows that the run is to know beforehand;
2. sign: `signing` extracts and signs the rows of each part in worker processes, and stores them
   (`signed_rows`); from here on all rows are read from there;
3. decide: `deciding` finds the rows with equal ids and texts, and the `pairs` of rows that share
   keys, whose texts decide in the order of the rows;
4. write: `output` writes the files, and `storing` puts the rows into a store.

`spark` does the same on a cluster.

Names in `__all__` are public, and imported when they are used: every crawl asks what `room` offers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from shingling.names import when_used

if TYPE_CHECKING:
    from shingling.bulk.options import (
        INPUT_FORMATS as INPUT_FORMATS,
        OUTPUT_FORMATS as OUTPUT_FORMATS,
        Fields as Fields,
        Options as Options,
        Problem as Problem,
        Progress as Progress,
        Summary as Summary,
    )
    from shingling.bulk.run import deduplicate as deduplicate

_MODULE_OF = {
    **dict.fromkeys(("INPUT_FORMATS", "OUTPUT_FORMATS"), "options"),
    **dict.fromkeys(("Fields", "Options", "Problem", "Progress", "Summary"), "options"),
    "deduplicate": "run",
}

STANDS_ON = ("admin",)

__all__ = [*_MODULE_OF]
__getattr__ = when_used(__name__, _MODULE_OF)
