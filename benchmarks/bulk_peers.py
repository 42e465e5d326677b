"""Other tools over the rows of `benchmarks.bulk`, in an environment of their own.

datatrove and text-dedup want other versions of libraries than this project:

    python -m venv .venv/peers
    .venv/peers/bin/pip install "datatrove[io,processing]" spacy datasketch gaoya rensa text-dedup

Each function gets a file of JSON lines (`id`, `text`) and a folder, and writes the ids that stay
to `kept.jsonl` there. Each looks for pairs of resemblance 0.5 in shingles of five words.
"""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
from itertools import islice
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

THRESHOLD = 0.5
SIZE = 5
BUCKETS, HASHES = 28, 3  # as this project has them
FUNCTIONS = 128  # of a loop over a library: their default
_BATCH = 500  # rows
_CORES = len(os.sched_getaffinity(0))


def datasketch(file: Path, out: Path) -> None:
    """Sign in all processes; look each row up in one `MinHashLSH`."""
    from datasketch import MinHashLSH

    index = MinHashLSH(threshold=THRESHOLD, num_perm=FUNCTIONS)
    _loop(file, out, _of_datasketch, lambda name, found: _added(index, name, found))


def _added(index: Any, name: str, minhash: Any) -> bool:
    if index.query(minhash):
        return False
    index.insert(name, minhash, check_duplication=False)
    return True


def _of_datasketch(shingles: list[str]) -> Any:
    from datasketch import MinHash

    minhash = MinHash(num_perm=FUNCTIONS)
    minhash.update_batch([shingle.encode() for shingle in shingles])
    return minhash


def rensa(file: Path, out: Path) -> None:
    """Sign in all processes; look each row up in one `RMinHashDeduplicator`."""
    from rensa import RMinHashDeduplicator

    index = RMinHashDeduplicator(THRESHOLD, FUNCTIONS, use_lsh=True, num_bands=32)
    _loop(file, out, _of_rensa, index.add)


def _of_rensa(shingles: list[str]) -> Any:
    from rensa import RMinHash

    minhash = RMinHash(FUNCTIONS, 42)
    minhash.update(shingles)
    return minhash


def gaoya(file: Path, out: Path) -> None:
    """Look each row up in one `MinHashStringIndex`, which signs it itself."""
    from gaoya.minhash import MinHashStringIndex

    index = MinHashStringIndex(
        hash_size=32,
        jaccard_threshold=THRESHOLD,
        num_bands=42,
        band_size=3,
        analyzer="word",
        lowercase=True,
        ngram_range=(SIZE, SIZE),
    )
    with (out / "kept.jsonl").open("w", encoding="utf-8") as kept:
        for name, text in _rows(file):
            if not index.query(text):
                index.insert_document(int(name), text)
                kept.write(json.dumps({"id": name}) + "\n")


def datatrove(file: Path, out: Path) -> None:
    """Run the four steps of MinHash and a writer, one part of the rows for each core."""
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
    reader = JsonlReader(str(file.with_suffix(".parts")), glob_pattern="*.jsonl")
    work = [f"{out}/{name}" for name in ("signatures", "buckets", "remove")]
    steps: list[tuple[list[Any], int]] = [
        ([reader, MinhashDedupSignature(output_folder=work[0], config=config)], _CORES),
        ([MinhashDedupBuckets(work[0], work[1], config=config)], BUCKETS),
        ([MinhashDedupCluster(work[1], work[2], config=config)], 1),
        (
            [
                reader,
                MinhashDedupFilter(work[2]),
                JsonlWriter(f"{out}/kept", compression=None),
            ],
            _CORES,
        ),
    ]
    for number, (pipeline, tasks) in enumerate(steps):
        LocalPipelineExecutor(
            pipeline=pipeline, tasks=tasks, workers=_CORES, logging_dir=f"{out}/log {number}"
        ).run()


def text_dedup(file: Path, out: Path) -> None:
    """Run the command `text_dedup.minhash`, with the bands of this project.

    It keeps any row of a group. The first of each is written, so that rows are judged alike.
    """
    command = [sys.executable, "-m", "text_dedup.minhash", "--path", "json", "--split", "train"]
    command += ["--data_files", str(file), "--column", "text", "--debug"]
    command += ["--cache_dir", str(out / "cache"), "--output", str(out / "result")]
    command += ["--ngram", str(SIZE), "--threshold", str(THRESHOLD), "--hash_func", "xxh3"]
    command += ["--num_perm", str(BUCKETS * HASHES), "--b", str(BUCKETS), "--r", str(HASHES)]
    command += ["--num_proc", str(_CORES), "--batch_size", "10000"]
    subprocess.run(command, check=True)
    groups = pickle.loads((out / "result" / "uf.pkl").read_bytes())  # noqa: S301 (its own)
    firsts: dict[int, int] = {}
    with (out / "kept.jsonl").open("w", encoding="utf-8") as kept:
        for at, (name, _) in enumerate(_rows(file)):
            if firsts.setdefault(groups.find(at), at) == at:
                kept.write(json.dumps({"id": name}) + "\n")


def _loop(
    file: Path,
    out: Path,
    sign: Callable[[list[str]], Any],
    add: Callable[[str, Any], bool],
) -> None:
    """Sign rows in a pool of processes, and write those that are added."""
    with (
        get_context("fork").Pool(_CORES) as pool,
        file.open(encoding="utf-8") as lines,
        (out / "kept.jsonl").open("w", encoding="utf-8") as kept,
    ):
        batches = ((sign, batch) for batch in iter(lambda: [*islice(lines, _BATCH)], []))
        for batch in pool.imap(_signed, batches):
            for name, found in batch:
                if add(name, found):
                    kept.write(json.dumps({"id": name}) + "\n")


def _signed(given: tuple[Callable[[list[str]], Any], list[str]]) -> list[tuple[str, Any]]:
    sign, lines = given
    found = []
    for row in map(json.loads, lines):
        words = row["text"].lower().split()
        shingles = [" ".join(words[at : at + SIZE]) for at in range(len(words) - SIZE + 1)]
        found.append((row["id"], sign(shingles)))
    return found


def _rows(file: Path) -> Iterator[tuple[str, str]]:
    with file.open(encoding="utf-8") as lines:
        for row in map(json.loads, lines):
            yield row["id"], row["text"]


PEERS = {
    "datasketch": datasketch,
    "datatrove": datatrove,
    "gaoya": gaoya,
    "rensa": rensa,
    "text-dedup": text_dedup,
}

if __name__ == "__main__":
    PEERS[sys.argv[1]](Path(sys.argv[2]), Path(sys.argv[3]))
