"""The benchmarks of crawls and of signing, on a few small pages."""

from __future__ import annotations

import os
import tarfile
from typing import TYPE_CHECKING

import pytest

from tests.support.pages import article, html

pytest.importorskip("datasketch")
pytest.importorskip("psutil")

from benchmarks import crawl, sign
from benchmarks.report import Target

if TYPE_CHECKING:
    from pathlib import Path

BODIES = [html(article(number), f"Page {number}").encode() for number in range(8)]


@pytest.mark.skipif(os.name == "nt", reason="CPU seconds of processes are counted by POSIX")
def test_crawls_are_measured_and_judged() -> None:
    variants = ("scrapy", "inline", "cold", "warm")
    figures = crawl.summary(crawl.measure(BODIES, variants, 1, ["-s", "DEDUP_WORKERS=1"]))
    assert tuple(figures) == variants
    assert all(one["pages/s"] > 0 for one in figures.values())
    for name in variants:
        shown = figures[name]
        assert shown["cpu ms"] > shown["own_ms"] > 0
        assert 0 <= shown["lag_p50"] <= shown["lag_p99"] <= shown["lag_max"]
        assert shown["peak_mb"] > 10
    # Both read the archive in a process of its own.
    assert figures["cold"]["worker_ms"] > 1.5 * figures["scrapy"]["worker_ms"]
    ratio = figures["warm"]["pages/s"] / figures["inline"]["pages/s"]
    assert Target("warm / inline", ratio, 12, at_least=True) in crawl.judged(figures, "heavy")


def test_figures_are_at_most_or_at_least_what_they_are_to_be() -> None:
    shown = {"cold": {"pages/s": 40.0, "own_ms": 4.5}, "inline": {"pages/s": 10.0}}
    ratio, milliseconds = crawl.judged(shown, "light")
    assert str(ratio) == "met    cold / inline: 4 (target >= 4)"
    assert (
        str(milliseconds) == "MISSED CPU ms a page, the crawl's process (cold): 4.5 (target <= 4)"
    )


def test_pages_are_chosen_from_all_over_an_archive(tmp_path: Path) -> None:
    file = tmp_path / "pages.tar"
    crawl.write_archive(file, BODIES)
    with tarfile.open(file) as tar:
        assert tar.getnames() == [f"{number:06}.html" for number in range(8)]
    assert crawl.chosen_bodies(file, 4) == BODIES[::2]
    assert crawl.chosen_bodies(file, 100) == BODIES


def test_all_libraries_sign_the_same_texts() -> None:
    figures = sign.measure([article(number, 100) for number in range(3)], 1)
    assert {sign.PURE, "datasketch"} <= figures.keys()
    assert all(ms > 0 for one in figures.values() for ms in one.values())
