"""The benchmarks, on a few small pages: what they measure, count and judge."""

from __future__ import annotations

import gzip
import io
import json
import os
import re
import sys
import tarfile
from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from benchmarks import crawl as crawls, sign, store_growth, verdicts
from benchmarks.fetches.sites.articles import Mixed, Wiki
from benchmarks.fetches.sites.declared import (
    Catalogue,
    Magazine,
    MagazineFirst,
    MagazineMixed,
    MagazineStart,
)
from benchmarks.fetches.sites.shops import Shop
from benchmarks.hostile import bombs, mutated, mutations
from benchmarks.hostile.mutations import MUTATIONS, Mutator
from benchmarks.quality import METHODS, Pair, labelled_pairs, score as score_pair
from benchmarks.releases import Read, count
from benchmarks.report import Target
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
from shingling import Store
from tests.support.pages import article, html

if TYPE_CHECKING:
    from pathlib import Path

    from benchmarks.fetches.site import Shown, Site

pytest.importorskip("datasketch")
pytest.importorskip("fastwarc")
pytest.importorskip("psutil")
pytest.importorskip("simhash")


BODIES = [html(article(number), f"Page {number}").encode() for number in range(8)]


def test_every_database_stores_all_pages_and_has_every_figure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["--pages", "200", "--databases", "sqlite", "--folder", str(tmp_path)]
    monkeypatch.setattr(sys, "argv", ["store_growth", *options])

    store_growth.main()

    printed = capsys.readouterr().out
    [figures] = re.findall(r"^ *200 +sqlite +(.*)$", printed, re.M)
    assert [float(figure.replace(",", "")) > 0 for figure in figures.split()] == [True] * 5
    assert " sqlite at 200: peak MB: " in printed
    assert [*tmp_path.iterdir()] == []
    with Store.open(f"sqlite:///{tmp_path / 'pages.db'}") as store:
        [row] = store_growth.fill(store, [200])
        assert row.keys() == {"milestone", *store_growth.COLUMNS}
        assert (store.status().originals, store.status().duplicates) == (200, 0)


def test_targets_are_compared_at_their_size_or_at_the_largest_one() -> None:
    figures = {"look-up ms": 2.0, "bytes a page": 2600.0, "peak MB": 600.0}
    rows: list[dict[str, Any]] = [
        {"database": "sqlite", "milestone": 100_000, "pages/s": 2500.0, **figures},
        {"database": "sqlite", "milestone": 200_000, "pages/s": 2000.0, **figures},
    ]

    assert [str(target) for target in store_growth.targets(rows)] == [
        "met    sqlite at 100,000: pages/s: 2,500 (target >= 2,000)",
        "MISSED sqlite at 100,000: look-up ms: 2 (target <= 1)",
        "met    sqlite at 100,000: bytes a page: 2,600 (target <= 2,600)",
        "MISSED sqlite at 200,000: peak MB: 600 (target <= 300)",
    ]


def test_mutated_pages_are_crawled_and_none_is_lost(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mutations, "SETS", {"waddle": 10})  # the others take seconds to unpack
    mutator = Mutator(data, 5, 1)
    made = [mutator.make(number) for number in range(30)]
    assert made == [mutator.make(number) for number in range(30)]
    assert len({name for one in made for name in one.names} & {*MUTATIONS}) > 10
    [result] = mutated.run(tmp_path, mutator, 30, [("quick", "1", "drop")])
    assert result.wrong == []
    assert result.counts.total() == 30
    assert result.counts["dropped"] > 0
    assert all(target.met for target in mutated.targets([result]))


def test_what_ordinary_pages_notice_of_a_bomb_is_measured(tmp_path: Path) -> None:
    [result] = bombs.run(tmp_path, ["text: dots"], ["quick"], ["1"], size=25_000)
    assert result.lost == 0
    assert len(result.verdicts) == 2
    assert result.wait > 0
    assert result.worker > 10
    assert len(result.row) == len(bombs.COLUMNS)


def test_every_method_calls_a_text_the_same_as_itself_and_not_as_another() -> None:
    text = " ".join(f"word{number}" for number in range(200))
    other = text.replace("word", "another ")
    equal = score_pair(Pair(text, text, True))
    different = score_pair(Pair(text, other, False))

    for method, high, low in zip(METHODS, equal, different, strict=True):
        assert all(np.array(high) >= method.usual), method.name
        assert not all(np.array(low) >= method.usual), method.name


@pytest.mark.data
@pytest.mark.parametrize(
    ("name", "same", "different"),
    [("copycat", 56, 98), ("tgcontest", 117, 133), ("clough-stevenson", 57, 38)],
)
def test_a_set_has_its_pairs(data: Path, name: str, same: int, different: int) -> None:
    answers = Counter(pair.same for pair in labelled_pairs(data, name))
    assert answers == {True: same, False: different}


_RELEASED = " ".join(
    [
        "Rain falls, an old town is flooded, and rivers rise.",
        *(f"{a}{b}word" for a in "abcdefghijklmno" for b in "abcdefghijklmno"),
    ]
)


def test_pages_flagged_under_another_title_are_counted_by_what_differs() -> None:
    pages = [
        Read("a", "Rain falls", _RELEASED),
        Read("b", "Rain falls", _RELEASED),
        Read("c", "Old town is flooded", _RELEASED),
        Read("d", "Rivers rise", f"{_RELEASED} once = twice"),
        Read("e", None, None),
    ]
    found = count("a release", pages)
    assert (found.pages, found.flagged, found.titled) == (5, 3, 2)
    assert (found.reworded, found.symbols) == (1, 1)
    assert not found.met
    assert count("a release", pages[:2]).met


@pytest.mark.skipif(os.name == "nt", reason="CPU seconds of processes are counted by POSIX")
def test_crawls_are_measured_and_judged() -> None:
    variants = ("scrapy", "inline", "cold", "warm")
    figures = crawls.summary(crawls.measure(BODIES, variants, 1, ["-s", "DEDUP_WORKERS=1"]))
    assert tuple(figures) == variants
    assert all(one["pages/s"] > 0 for one in figures.values())
    for name in variants:
        shown = figures[name]
        assert shown["cpu ms"] > shown["own_ms"] > 0
        assert 0 <= shown["lag_p50"] <= shown["lag_p99"] <= shown["lag_max"]
        assert shown["peak_mb"] > 10
    # Both read the archive in a process of its own.
    assert figures["cold"]["worker_ms"] > figures["scrapy"]["worker_ms"]
    ratio = figures["warm"]["pages/s"] / figures["inline"]["pages/s"]
    assert Target("warm / inline", ratio, 12, at_least=True) in crawls.judged(figures, "heavy")


def test_all_libraries_sign_the_same_texts() -> None:
    figures = sign.measure([article(number, 100) for number in range(3)], 1)
    assert {sign.PURE, "datasketch"} <= figures.keys()
    assert all(ms > 0 for one in figures.values() for ms in one.values())


_FILES = [f"html/20120101_site{number % 2}.example_{number}" for number in range(4)]
_WORDS = [f"w{number}" for number in range(104)]  # 100 shingles


def _text(changed: int, letter: str) -> str:
    """Return the words with so many of the last ones, and so of the shingles, changed."""
    kept = len(_WORDS) - changed
    return " ".join([*_WORDS[:kept], *(f"{letter}{number}" for number in range(changed))])


def test_pages_to_find_are_those_like_an_earlier_one_with_the_same_key() -> None:
    texts = [_text(0, ""), _text(50, "b"), _text(11, "c"), _text(10, "c"), _text(12, "d"), "", ""]
    pages = [LabelledPage(f"{at}.html", f"http://a.example/{at}") for at in range(len(texts))]
    truth = Truth(pages, texts, 0.8)
    # 89 shared shingles of 111 in all; page 3 has 90 of page 0, and 90 of page 2 too.
    assert truth.resemblance(2, 0) == pytest.approx(89 / 111)
    assert truth.must_find == {2: 0, 3: 2}
    assert truth.resemblance(5, 6) == 0
    other = LabelledPage("x.html", "http://a.example/x", key="other")
    assert Truth([truth.pages[0], other], texts[:1] * 2, 0.8).must_find == {}
    assert Truth([other, other], texts[:1] * 2, 0.8).must_find == {1: 0}


def test_scores_are_of_all_pages_and_of_every_group() -> None:
    pages = [
        LabelledPage(f"{at}.html", f"http://{at}.example/", "other" * (at == 2), (ALL, half))
        for at, half in enumerate((EVEN, ODD, ODD, EVEN, EVEN))
    ]
    texts = [_text(0, ""), _text(0, ""), _text(90, "c"), _text(2, "d"), _text(30, "e")]
    truth = Truth(pages, texts, 0.8)
    flags = {1: 0, 2: 0, 4: 0}

    assert false_pairs(flags, truth) == [(2, 0)]
    assert missed_pairs(flags, truth) == [(3, 0)]
    tallies = score(flags, truth)
    assert list(tallies) == [ALL, EVEN, ODD]
    assert tallies[ALL] == Tally(5, 3, 1, 1, 2, 1)
    assert tallies[EVEN] == Tally(3, 1, 0, 0, 1, 0)
    assert tallies[ODD] == Tally(2, 2, 1, 1, 1, 1)
    assert tallies[ALL].precision == pytest.approx(2 / 3)
    assert tallies[ALL].recall == 0.5
    assert Tally(1, 0, 0, 0, 0, 0).precision is None


def test_small_pages_are_crawled(tmp_path: Path) -> None:
    """Of four pages of waddle the third is a copy of the first."""
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
    pages = labelled_pages(folder.parent, "waddle", 3)
    assert [page.file for page in pages] == _FILES[:3]
    warc, store = tmp_path / "pages.warc", tmp_path / "store.db"
    write_warc(warc, pages)

    assert verdicts.crawl(warc, pages, store, "-s", "DEDUP_WORKERS=0") == {2: 0}


# Simulated sites: they answer what they link to, and their truth is right


# The others need the main texts of many pages, or differ from one of these in their links alone.
_SITES = (Mixed, Shop, Wiki, Catalogue, MagazineMixed)
_MAX_URLS = 400


def _walk(site: Site) -> dict[str, Shown]:
    """Follow the links of a site, breadth first, as far as a test may."""
    shown: dict[str, Shown] = {}
    todo = [site.start]
    for url in todo:
        if url in shown:
            continue
        if len(shown) >= _MAX_URLS:
            break
        shown[url] = site.show(url, 0)
        location = shown[url].location
        todo += shown[url].links if location is None else (location,)
    return shown


@pytest.mark.parametrize("kind", _SITES, ids=lambda kind: kind.name)
def test_a_seed_gives_one_site_where_urls_of_one_form_show_one_content(
    kind: type[Site], data: Path
) -> None:
    site = kind(1, data)
    found, same, other = map(_walk, (site, kind(1, data), kind(2, data)))
    contents: dict[str, set[str | None]] = {}
    for url, shown in found.items():
        if shown.location is None:
            contents.setdefault(site.form(url), set()).add(shown.content)

    assert found == same
    assert found != other
    assert {form: shown for form, shown in contents.items() if len(shown) > 1} == {}


@pytest.mark.parametrize(
    ("kind", "declared"),
    [(Magazine, "/section/1?p=2"), (MagazineFirst, "/section/1"), (MagazineStart, "/")],
)
def test_the_second_page_of_a_list_declares_what_its_site_does(
    kind: type[Site], declared: str, data: Path
) -> None:
    shown = kind(1, data).show("http://m.magazine.example/section/1?p=2&ref=home", 0)
    assert shown.canonical == f"http://magazine.example{declared}"
    assert declared in shown.html()
