"""benchmarks/store_growth.py: what it measures, and that all pages are stored meanwhile."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks import store_growth
from benchmarks.growth_pages import SITES, bare_pages, signature_of, text_of
from benchmarks.store_growth import COLUMNS, SINGLES, compared

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

_ONES = SINGLES + 1


def test_bare_pages_are_the_same_each_time_and_alike_only_where_that_is_asked_for() -> None:
    pages = bare_pages(range(200))
    minima = np.array([signature_of(page).minima for page in pages])

    assert bare_pages([150]) == pages[150:151]
    assert len(np.unique(minima)) > 0.999 * minima.size
    assert len({signature_of(page).text_hash for page in pages}) == 200

    copied = np.array([signature_of(page).minima for page in bare_pages(range(200), every=50)])
    alike = (copied[:, None] == copied).mean(axis=2) >= 0.8
    np.fill_diagonal(alike, False)
    assert np.flatnonzero(alike.any(axis=1)[49::50]).tolist() == [0, 1, 2, 3]
    assert all(other % 50 in (0, 49) for other in np.flatnonzero(alike.any(axis=0)).tolist())


def test_pages_with_texts_share_the_template_of_their_site_and_little_else() -> None:
    first, second = (text_of(number)[1].split("\n") for number in (7, 7 + SITES))
    shared = {*first} & {*second}
    assert 6 < len(shared) < 12
    assert {first[0], first[-1]} <= shared
    assert 280 < len(" ".join(first).split()) < 310

    original, copy = (text_of(number, every=20)[1].split("\n") for number in (0, 19))
    assert original[6] == copy[6]
    assert original[0] != copy[0]


def test_every_database_stores_all_pages_and_has_every_figure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    names = ["sqlite", "sqlite-bare"]
    written = tmp_path / "growth.json"
    options = ["--pages", "500", "--databases", ",".join(names), "--duplicates", "0.02"]
    options += ["--folder", str(tmp_path), "--json", str(written), "--batch", "100-256"]
    monkeypatch.setattr(sys, "argv", ["store_growth", *options])

    store_growth.main()

    rows = json.loads(written.read_text())["rows"]
    assert [row["database"] for row in rows] == names
    for row in rows:
        assert row["milestone"] == row["window"] == 500
        assert all(row[column] > 0 for column in COLUMNS), row
        assert row["verdicts"] == {"new": 490, "near": 10}
        assert row["stored"] == 500 + _ONES
        assert row["matches"] == 0
        assert row["one again"] == {"unchanged": _ONES}
        assert sum(row["one new"].values()) == _ONES
    assert [file.name for file in tmp_path.iterdir()] == ["growth.json"]
    assert "sqlite at 500: peak MB <= 300: " in capsys.readouterr().out  # with pytest in it


def test_targets_are_compared_at_their_size_or_at_the_largest_one() -> None:
    figures = {"stored": 1, "look-up ms": 2.0, "bytes a page": 900.0, "peak MB": 600.0}
    rows: list[dict[str, Any]] = [
        {"database": "sqlite-bare", "milestone": 1_000_000, "pages/s": 5500.0, **figures},
        {"database": "sqlite-bare", "milestone": 10_000_000, "pages/s": 2000.0, **figures},
        {"database": "postgres-bare", "reason": "none"},
    ]

    assert [line for line in compared(rows) if "-bare " in line] == [
        "sqlite-bare at 1,000,000: pages/s >= 5,000: met, 5,500, 1.10 of it",
        "sqlite-bare at 10,000,000: pages/s >= 2,500: missed, 2,000, 0.80 of it",
        "sqlite-bare at 10,000,000: look-up ms <= 1: missed, 2, 2.00 of it",
        "sqlite-bare at 10,000,000: bytes a page <= 900: met, 900, 1.00 of it",
        "sqlite-bare at 10,000,000: peak MB <= 500: missed, 600, 1.20 of it",
        "postgres-bare at 1,000,000: pages/s >= 1,500: not measured",
    ]
