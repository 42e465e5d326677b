"""datatrove's MinHash over JSON lines; run by `benchmarks.bulk`, in another environment.

datatrove wants a trafilatura of another age than this project:

    python -m venv .venv/datatrove
    .venv/datatrove/bin/pip install "datatrove[io,processing]" spacy
"""

from __future__ import annotations

import os
import sys
from typing import Any

SIZE = 5
BUCKETS, HASHES = 28, 3


def main(parts: str, out: str) -> None:
    """Deduplicate the rows of a folder, each file of which is a task; what stays is in `kept`."""
    from datatrove.executor import LocalPipelineExecutor
    from datatrove.pipeline.dedup import (
        MinhashDedupBuckets,
        MinhashDedupCluster,
        MinhashDedupFilter,
        MinhashDedupSignature,
    )
    from datatrove.pipeline.dedup.minhash import MinhashConfig
    from datatrove.pipeline.readers import JsonlReader
    from datatrove.pipeline.writers.jsonl import JsonlWriter

    config = MinhashConfig(n_grams=SIZE, num_buckets=BUCKETS, hashes_per_bucket=HASHES)
    cores = len(os.sched_getaffinity(0))
    reader = JsonlReader(parts, glob_pattern="*.jsonl")
    work = [f"{out}/{name}" for name in ("signatures", "buckets", "remove")]
    steps: list[tuple[list[Any], int]] = [
        ([reader, MinhashDedupSignature(output_folder=work[0], config=config)], cores),
        ([MinhashDedupBuckets(work[0], work[1], config=config)], BUCKETS),
        ([MinhashDedupCluster(work[1], work[2], config=config)], 1),
        (
            [
                reader,
                MinhashDedupFilter(work[2]),
                JsonlWriter(f"{out}/kept", compression=None),
            ],
            cores,
        ),
    ]
    for number, (pipeline, tasks) in enumerate(steps):
        LocalPipelineExecutor(
            pipeline=pipeline, tasks=tasks, workers=cores, logging_dir=f"{out}/log {number}"
        ).run()


if __name__ == "__main__":
    main(*sys.argv[1:])
