"""benchmarks/store_growth.py: what it measures, and that all pages are stored meanwhile."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

from benchmarks import store_growth
from benchmarks.growth_pages import SITES, text_of
from benchmarks.store_growth import COLUMNS, SINGLES, targets

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

_ONES = SINGLES + 1


def test_pages_with_texts_share_the_template_of_their_site_and_little_else() -> None:
    first, second = (text_of(number)[1].split("\n") for number in (7, 7 + SITES))
    shared = {*first} & {*second}
    assert 6 < len(shared) < 12
    assert {first[0], first[-1]} <= shared
    assert 280 < len(" ".join(first).split()) < 310


def test_every_database_stores_all_pages_and_has_every_figure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    written = tmp_path / "growth.json"
    options = ["--pages", "500", "--databases", "sqlite", "--folder", str(tmp_path)]
    options += ["--json", str(written), "--batch", "100"]
    monkeypatch.setattr(sys, "argv", ["store_growth", *options])

    store_growth.main()

    [row] = json.loads(written.read_text())
    assert row["milestone"] == row["window"] == 500
    assert all(row[column] > 0 for column in COLUMNS), row
    assert row["verdicts"] == {"new": 500}
    assert row["stored"] == 500 + _ONES
    assert row["matches"] == 0
    assert row["one again"] == {"unchanged": _ONES}
    assert row["one new"] == {"new": _ONES}
    assert [file.name for file in tmp_path.iterdir()] == ["growth.json"]
    assert " sqlite at 500: peak MB: " in capsys.readouterr().out


def test_targets_are_compared_at_their_size_or_at_the_largest_one() -> None:
    figures = {"look-up ms": 2.0, "bytes a page": 2600.0, "peak MB": 600.0}
    rows: list[dict[str, Any]] = [
        {"database": "sqlite", "milestone": 100_000, "pages/s": 2500.0, **figures},
        {"database": "sqlite", "milestone": 200_000, "pages/s": 2000.0, **figures},
    ]

    assert [str(target) for target in targets(rows)] == [
        "met    sqlite at 100,000: pages/s: 2,500 (target >= 2,000)",
        "MISSED sqlite at 100,000: look-up ms: 2 (target <= 1)",
        "met    sqlite at 100,000: bytes a page: 2,600 (target <= 2,600)",
        "MISSED sqlite at 200,000: peak MB: 600 (target <= 300)",
    ]
