"""The index of SimHashes against brute force, on 20,000 of them."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import numpy as np
import pytest

from shingling.sketch import Halves

if TYPE_CHECKING:
    from pathlib import Path

STORED = 20_000
PLANTED = 500  # pairs of each distance are among them


def _flip(values: np.ndarray, bits: int, width: int, chance: np.random.Generator) -> np.ndarray:
    """Return values that each differ in so many bits of their own."""
    places = chance.permuted(np.tile(np.arange(width), (len(values), 1)), axis=1)[:, :bits]
    masks = (np.uint64(1) << places.astype(np.uint64)).sum(axis=1, dtype=np.uint64)
    flipped: np.ndarray = values ^ masks
    return flipped


@pytest.mark.parametrize(("width", "most_inspected"), [(64, 1), (32, 100)])
def test_everything_within_three_bits_is_found_and_little_else_is_inspected(
    tmp_path: Path, width: int, most_inspected: int
) -> None:
    chance = np.random.default_rng(3)
    stored = chance.integers(0, 2**width, STORED, np.uint64)
    queries = np.concatenate([_flip(stored[:PLANTED], bits, width, chance) for bits in range(6)])
    halves = Halves(width)
    keys = halves.keys(stored.tolist())
    with closing(sqlite3.connect(tmp_path / "index.db")) as db:
        db.execute(
            "CREATE TABLE bands (key INTEGER, page INTEGER, PRIMARY KEY (key, page)) WITHOUT ROWID"
        )
        rows = [(key, page) for page, own in enumerate(keys.tolist()) for key in own]
        db.executemany("INSERT INTO bands VALUES (?, ?)", sorted(rows))
        inspected = 0
        for query, probes in zip(queries, halves.probes(queries.tolist(), 3), strict=True):
            marks = ", ".join("?" * len(probes))
            found = {
                page
                for (page,) in db.execute(
                    f"SELECT page FROM bands WHERE key IN ({marks})",  # noqa: S608 (only marks)
                    probes.tolist(),
                )
            }
            inspected += len(found)
            within = np.flatnonzero(np.bitwise_count(stored ^ query) <= 3)
            assert found.issuperset(within.tolist())
    assert inspected / len(queries) <= most_inspected + 1
    # Random SimHashes come in as the formula says, 66 n / 2^32 of 64 bits, 34 n / 2^16 of 32.
    by_chance = 66 * STORED / 2**32 if width == 64 else 34 * STORED / 2**16
    assert inspected / len(queries) == pytest.approx(by_chance + 1, rel=0.5)
