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
    VERDICT_SETS,
    LabelledPage,
    Tally,
    Truth,
    false_pairs,
    labelled_pages,
    missed_pairs,
    resemblance,
    score,
    shingles,
    write_warc,
)
from shingling.store import Rules
from tests.support.pages import article, html

pytest.importorskip("datasketch")
pytest.importorskip("fastwarc")

from benchmarks import verdicts
from benchmarks.verdicts import PLUGIN, Target, crawl, inline_flags, minhash, rebuild

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

    assert [pair[:2] for pair in false_pairs(flags, truth)] == [(2, 0)]
    assert [pair[:2] for pair in missed_pairs(flags, truth)] == [(3, 0)]
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
    assert Tally(1, 0, 0, 0, 0).as_dict()["f1"] is None


def test_a_target_is_a_least_share_or_nothing_at_all() -> None:
    tally = Tally(pages=9, flagged=4, false=1, must_find=4, found=3)
    assert Target("waddle", PLUGIN, "precision", 0.75).met(tally)
    assert not Target("waddle", PLUGIN, "recall", 0.76).met(tally)
    assert not Target("waddle", PLUGIN, "false").met(tally)


def test_waddle_has_the_same_halves_of_sites_whichever_pages_are_taken() -> None:
    names = ("b.example", "a.example", "www.a.example", "c.example")
    rows = [
        {"file": f"html/20120101_{name}_0", "lang": "Greek", "gold": "<p>one</p>two"}
        for name in names
    ]
    pages = VERDICT_SETS["waddle"].pages(rows)
    assert [page.groups[1] for page in pages] == [ODD, EVEN, EVEN, EVEN]
    assert pages[0].url == "http://b.example/html/20120101_b.example_0"
    assert (pages[0].gold or "").split() == ["one", "two"]


def test_pages_of_the_web_have_their_own_urls_where_no_other_has() -> None:
    given = ["https://a.example/1 ", "https://b.example/", "https://b.example/", None, "hard::x"]
    rows = [{"file": f"html/{number}.html", "url": url} for number, url in enumerate(given)]
    assert [page.url for page in VERDICT_SETS["article-extraction"].pages(rows)] == [
        "https://a.example/1",
        *(f"http://unknown.example/html/{number}.html" for number in range(1, 5)),
    ]


def test_peers_flag_pages_like_those_that_they_have_kept() -> None:
    texts = [_text(0, ""), _text(90, "b"), "", _text(1, "c"), _text(0, "")]
    sketches = [minhash(text) if text else None for text in texts]
    assert inline_flags(sketches, 0.8) == {3: 0, 4: 0}
    assert verdicts.simhash_flags(["", *(article(seed) for seed in (1, 2, 1)), ""]) == {3: 1}


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


def test_small_pages_are_crawled_and_decided_again(tmp_path: Path, small: Path) -> None:
    pages = labelled_pages(small, "waddle", 3)
    assert [page.file for page in pages] == _FILES[:3]
    warc, store = tmp_path / "pages.warc.gz", tmp_path / "store.db"
    write_warc(warc, pages)

    run = crawl(warc, pages, store, "-s", "DEDUP_WORKERS=0")

    assert run.flags == {2: 0}
    assert (run.measured[2] or 0) > 0.9
    assert run.seconds > 0
    for text, page in zip(run.texts, pages, strict=True):
        assert resemblance(shingles(text), shingles(page.gold or "")) > 0.9
    again = rebuild(run, pages, store, Rules())
    assert again.flags == {2: 0}
    assert again.measured[2] == pytest.approx(run.measured[2], abs=1e-4)
