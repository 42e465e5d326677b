"""benchmarks/verdicts.py: its scores of a made example, and a crawl of small pages."""

from __future__ import annotations

import gzip
import io
import json
import tarfile
from typing import TYPE_CHECKING

import pytest

from benchmarks.verdict_sets import (
    ALL,
    EVEN,
    ODD,
    LabelledPage,
    Tally,
    Truth,
    false_pairs,
    labelled_pages,
    missed_pairs,
    score,
    write_warc,
)
from tests.support.pages import article, html

pytest.importorskip("fastwarc")

from benchmarks.verdicts import crawl

if TYPE_CHECKING:
    from pathlib import Path

_FILES = [f"html/20120101_site{number % 2}.example_{number}" for number in range(4)]
_WORDS = [f"w{number}" for number in range(104)]  # 100 shingles


def _text(changed: int, letter: str) -> str:
    """Return the words with so many of the last ones, and so of the shingles, changed."""
    kept = len(_WORDS) - changed
    return " ".join([*_WORDS[:kept], *(f"{letter}{number}" for number in range(changed))])


def _truth(*texts: str) -> Truth:
    pages = [
        LabelledPage(f"{number}.html", f"http://a.example/{number}") for number in range(len(texts))
    ]
    return Truth(pages, texts, 0.8)


def test_pages_to_find_are_those_like_an_earlier_one_with_the_same_key() -> None:
    texts = [_text(0, ""), _text(50, "b"), _text(11, "c"), _text(10, "c"), _text(12, "d"), "", ""]
    truth = _truth(*texts)
    # 89 shared shingles of 111 in all; page 3 has 90 of page 0, and 90 of page 2 too.
    assert truth.resemblance(2, 0) == pytest.approx(89 / 111)
    assert truth.must_find == {2: 0, 3: 2}
    assert truth.resemblance(5, 6) == 0
    other = LabelledPage("x.html", "http://a.example/x", key="other")
    assert Truth([truth.pages[0], other], texts[:1] * 2, 0.8).must_find == {}
    assert Truth([other, other], texts[:1] * 2, 0.8).must_find == {1: 0}


def test_scores_are_of_all_pages_and_of_every_group() -> None:
    pages = [
        LabelledPage(f"{number}.html", f"http://{number}.example/", groups=(ALL, half), name=name)
        for number, (half, name) in enumerate(
            [(EVEN, "A"), (ODD, "A"), (ODD, "B"), (EVEN, "A"), (EVEN, None)]
        )
    ]
    texts = [_text(0, ""), _text(0, ""), _text(90, "c"), _text(2, "d"), _text(30, "e")]
    truth = Truth(pages, texts, 0.8)
    flags = {1: 0, 2: 0, 4: 0}

    assert false_pairs(flags, truth) == [(2, 0)]
    assert missed_pairs(flags, truth) == [(3, 0)]
    tallies = score(flags, truth)
    assert list(tallies) == [ALL, EVEN, ODD]
    least = truth.resemblance(2, 0)
    assert tallies[ALL] == Tally(5, 3, 1, 2, 1, trapped=1, least=least)
    assert tallies[EVEN] == Tally(3, 1, 0, 1, 0)
    assert tallies[ODD] == Tally(2, 2, 1, 1, 1, trapped=1, least=least)
    assert tallies[ALL].precision == pytest.approx(2 / 3)
    assert tallies[ALL].recall == 0.5
    assert tallies[ALL].f1 == pytest.approx(4 / 7)
    assert tallies[EVEN].f1 == 0
    assert Tally(1, 0, 0, 0, 0).f1 is None


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """A folder of data: four pages of waddle, of which the third is a copy of the first."""
    folder = tmp_path / "data" / "waddle"
    folder.mkdir(parents=True)
    # U+2028 would end a line for str.splitlines.
    texts = [article(1), article(2), f"{article(1)} \u2028 x", article(3)]
    with (
        gzip.open(folder / "manifest.jsonl.gz", "wt", encoding="utf-8") as manifest,
        tarfile.open(folder / "html.tar.xz", "w:xz") as archive,
    ):
        for name, text in zip(_FILES, texts, strict=True):
            row = {"file": name, "lang": "English", "gold": f"<p>{text}</p>"}
            manifest.write(json.dumps(row) + "\n")
            member = tarfile.TarInfo(name)
            body = html(text, text[:30]).encode()
            member.size = len(body)
            archive.addfile(member, io.BytesIO(body))
    return folder.parent


def test_small_pages_are_crawled(tmp_path: Path, small: Path) -> None:
    pages = labelled_pages(small, "waddle", 3)
    assert [page.file for page in pages] == _FILES[:3]
    warc, store = tmp_path / "pages.warc.gz", tmp_path / "store.db"
    write_warc(warc, pages)

    run = crawl(warc, pages, store, "-s", "DEDUP_WORKERS=0")

    assert run.flags == {2: 0}
    assert run.seconds > 0
