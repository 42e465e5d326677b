"""The pages for those who come from elsewhere: what they say is what others give."""

from __future__ import annotations

import json
import sys
from functools import cache
from typing import TYPE_CHECKING

import pytest

from shingling import DocumentFrequencies, Rules, Scheme, Weighting, compare, extract, sign
from shingling.bulk import Options, deduplicate
from shingling.rules import WEIGHTINGS
from shingling.similarity.cosines import cosine
from shingling.sketch import SimhashFeatures, word_hashes
from shingling.sketch.idf import Idf
from shingling.sketch.simhash import feature_hashes
from shingling.text import canonical_words
from tests.bulk.collections import read_lines, write_lines
from tests.peers.algorithms import (
    DROPPED_WORDS,
    Pair,
    TermVectors,
    cosine_of_vectors,
    edited_pairs,
    percent_by_dice,
    percent_of_words,
    pieces,
    simhash32,
)
from tests.plugin.projects.user_project import UserProject
from tests.repository.docs.console import Shell, commands
from tests.repository.docs.pages import DOCS, blocks, read
from tests.support.installed import ROOT
from tests.support.pages import article, html, links
from tests.support.serving import serving

if TYPE_CHECKING:
    from pathlib import Path

THRESHOLDS = (0.5, 0.7, 0.8)


@cache
def pairs() -> list[Pair]:
    return edited_pairs(1000)


def texts() -> list[str]:
    return [pair.text for pair in pairs()] + [pair.copy for pair in pairs()]


def score(removed: set[int], threshold: float) -> tuple[int, int]:
    """Copies that were found, and texts that were removed wrongly."""
    alike = {
        len(pairs()) + place for place, pair in enumerate(pairs()) if pair.resemblance >= threshold
    }
    return len(removed & alike), len(removed - alike)


def duplicates(threshold: float) -> int:
    return sum(pair.resemblance >= threshold for pair in pairs())


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> dict[float, tuple[int, int]]:
    """Score of bulk deduplication at each threshold."""
    folder = tmp_path_factory.mktemp("texts")
    given = ({"id": place, "text": text} for place, text in enumerate(texts()))
    rows = write_lines(folder / "texts.jsonl", given)
    scores = {}
    for threshold in THRESHOLDS:
        out = folder / str(threshold)
        deduplicate([str(rows)], out, Options(rules=Rules(threshold=threshold), workers=0))
        removed = {int(row["id"]) for row in read_lines(out / "removed.jsonl")}
        scores[threshold] = score(removed, threshold)
    return scores


def test_the_table_on_datasketch_is_what_both_find(ours: dict[float, tuple[int, int]]) -> None:
    pytest.importorskip("datasketch")
    from tests.peers.minhash_lsh import datasketch_removed, sketches_of

    page = read("coming-from/datasketch.md")
    sketches = sketches_of(texts())
    for threshold in THRESHOLDS:
        theirs = score(datasketch_removed(sketches, threshold), threshold)
        cells = (threshold, duplicates(threshold), *theirs, *ours[threshold])
        assert f"\n| {' | '.join(map(str, cells))} |\n" in page


def test_the_table_on_text_dedup_is_what_both_find(ours: dict[float, tuple[int, int]]) -> None:
    pytest.importorskip("datasketch")
    from tests.peers.minhash_lsh import text_dedup_removed

    page = read("coming-from/text-dedup.md")
    found, wrong = score(text_dedup_removed(texts()), 0.7)
    assert f"| found of {duplicates(0.7)} |" in page
    assert f"\n| text-dedup, 250 minima, 25 bands of 10 | {found} | {wrong} |\n" in page
    found, wrong = ours[0.7]
    assert f"\n| here, `--threshold 0.7` | {found} | {wrong} |\n" in page


ARTICLES = {
    f"/{number}{query}": html(article(number), f"Article {number}")
    for number in range(4)
    for query in ("", "?from=home")
}
DELTAFETCH_PAGE = read("coming-from/scrapy-deltafetch.md")
WITHOUT = ("-s", "DEDUP_ENABLED=False")
DELTA = ("-s", 'SPIDER_MIDDLEWARES={"delta.AsyncDeltaFetch": 100}', "-s", "DELTAFETCH_ENABLED=1")
SYSTEMS = {
    "Scrapy alone": WITHOUT,
    "scrapy-deltafetch": (*WITHOUT, *DELTA),
    "scrapy-shingling": (),
    "both": DELTA,
}


@pytest.mark.parametrize("system", SYSTEMS)
def test_the_table_on_deltafetch_is_what_crawls_fetch_and_keep(tmp_path: Path, system: str) -> None:
    if DELTA[1] in SYSTEMS[system]:
        pytest.importorskip("scrapy_deltafetch")
    project = UserProject("plain", tmp_path)
    [middleware] = [
        block.text for block in blocks(DELTAFETCH_PAGE) if "AsyncDeltaFetch(" in block.text
    ]
    (project.folder / "delta.py").write_text(middleware, encoding="utf-8")
    site: dict[str, str] = {}
    cells = [system]
    with serving(site) as server:
        for number_of_articles in (3, 4):
            known = {p: page for p, page in ARTICLES.items() if int(p[1]) < number_of_articles}
            site.update({"/": links(known), **known})
            before = len(server.asked)
            crawl = project.crawl("articles", server.url, *SYSTEMS[system])
            fetched = len(server.asked) - before - 1  # without the home page
            cells += [str(fetched), str(len(crawl.items))]
    assert f"\n| {' | '.join(cells)} |\n" in DELTAFETCH_PAGE


PAGES = sorted(page.name for page in (DOCS / "coming-from").glob("*.md"))


def test_the_index_names_every_page() -> None:
    index = read("coming-from/index.md")
    assert all(f"]({name})" in index for name in PAGES if name != "index.md")


@pytest.mark.skipif(sys.platform == "win32", reason="the pages are for a POSIX shell")
@pytest.mark.parametrize("name", [name for name in PAGES if name != "index.md"])
def test_every_command_of_a_page_prints_what_the_page_says(name: str, tmp_path: Path) -> None:
    shell = Shell(tmp_path)
    for block in blocks(read(f"coming-from/{name}")):
        if block.caption is not None:
            shell.write(block)
        elif block.language == "console":
            assert commands(block)
            shell.check(block)


def files(page: str) -> dict[str, str]:
    """Files that a page has its reader write, by name."""
    return {
        block.caption: block.text.strip()
        for block in blocks(read(f"coming-from/{page}"))
        if block.caption is not None
    }


def test_the_stop_list_of_the_page_is_that_of_the_php_class() -> None:
    words = files("php-shingles.md")["stop.txt"].split()
    assert {*words} == DROPPED_WORDS
    assert f"{len(words)} short words" in read("coming-from/php-shingles.md")


def test_the_first_row_of_the_page_on_php_is_what_the_class_gives() -> None:
    page, texts = read("coming-from/php-shingles.md"), files("php-shingles.md")
    theirs = percent_of_words(texts["two.txt"], texts["one.txt"])
    assert f'| "... номер два", "... номер один" | {theirs:.0f} | {theirs:.3f} |' in page
    assert f"per word     {theirs:.3f}" in page


def test_the_number_of_the_page_on_node_is_that_of_its_formula_without_dropped_words() -> None:
    page, texts = read("coming-from/node-shingles.md"), files("node-shingles.md")
    a, b = (canonical_words(json.loads(texts[f"article{n}.json"])["content"]) for n in (1, 2))
    theirs = percent_by_dice(a, b)
    assert f"| here, without dropping any words | {theirs:.3f} |" in page


def test_the_numbers_of_the_page_on_dotnet_are_those_of_its_formulas() -> None:
    page, texts = read("coming-from/dotnet-similarity.md"), files("dotnet-similarity.md")
    counts = []
    for name in ("a.txt", "b.txt"):
        words = canonical_words(texts[name])
        counts.append({word: float(words.count(word)) for word in words})
    plain = f"{cosine_of_vectors(*counts):.3f}".lstrip("0")
    assert f"| counts [1, 1, 1, 1] and [1, 0, 1, 2] | {plain} | {plain} |" in page
    peer = TermVectors([cat.split() for cat in CATS])
    weighted = f"{peer.similarity(0, 1):.4f}".lstrip("0")
    assert f"tf-idf of the three documents above | {weighted} | {weighted} |" in page
    assert f"\n0{weighted}\n{peer.similarity(0, 2)}\n" in page


@pytest.mark.filterwarnings("ignore:unclosed file:ResourceWarning")  # by jieba's own tables
def test_the_table_on_simhashes_is_what_all_three_find(tmp_path: Path) -> None:
    pytest.importorskip("jieba")
    from tests.peers import jieba_simhash as peer

    own, texts = map(list, zip(*peer.generated_rows(), strict=True))

    def wrong(near: dict[int, list[int]]) -> int:
        return sum(own[place] not in {own[one] for one in ones} for place, ones in near.items())

    theirs = peer.removed(map(peer.theirs, texts))
    ours = peer.removed(peer.ours(texts))
    rows = ({"id": place, "text": text} for place, text in enumerate(texts))
    file = write_lines(tmp_path / "rows.jsonl", rows)
    deduplicate([str(file)], tmp_path / "out", Options(workers=0))
    pairs = read_lines(tmp_path / "out" / "removed.jsonl")
    pairs_wrong = sum(own[int(pair["id"])] != own[int(pair["original"])] for pair in pairs)
    page = read("coming-from/mongodb-simhash.md")
    for name, found, mistakes in (
        ("jieba's 30 words by tf-idf, fewer than 3 bits", len(theirs), wrong(theirs)),
        ("here, `--method simhash --distance 2`, tf-idf of the same texts", len(ours), wrong(ours)),
        ("here, default settings (MinHash over five letters)", len(pairs), pairs_wrong),
    ):
        assert f"| {name} | {found - mistakes} | {mistakes} |" in page


# SimHash of 32 bits and cosines, as the articles measure


SAMPLE = ROOT / "crawler" / "sample" / "amd64" / "en"
CATS = ("the cat sat on the mat", "the cat sat on a mat", "we all scream for ice cream")


@pytest.fixture(scope="module")
def manual() -> list[list[str]]:
    """Words of the pages of a manual."""
    return [
        words
        for page in sorted(SAMPLE.glob("*.html"))
        if (words := canonical_words(extract(page.read_bytes()) or ""))
    ]


def test_cosines_over_documents_are_those_of_the_article(manual: list[list[str]]) -> None:
    peer = TermVectors(manual)
    counted = DocumentFrequencies.of_documents(word_hashes(words) for words in manual)
    for name in ("tf-idf", "tf-idf-max"):
        weighting = Weighting(name, frequencies=counted)
        for place in range(len(manual)):
            ours = cosine(manual[0], manual[place], weighting)
            assert ours == pytest.approx(peer.similarity(0, place)), (name, place)


def test_frequencies_come_from_a_learned_table_as_well(manual: list[list[str]]) -> None:
    documents = manual * 2  # a table leaves out the words of one document
    counted = DocumentFrequencies.of_documents(word_hashes(words) for words in documents)
    table = DocumentFrequencies.of_table(Idf.learn(documents, max_words=100_000))
    for name in WEIGHTINGS:
        a = cosine(manual[0], manual[1], Weighting(name, frequencies=counted))
        b = cosine(manual[0], manual[1], Weighting(name, frequencies=table))
        assert a == pytest.approx(b, abs=0.01), name


@pytest.mark.parametrize(("length", "overlap"), [(4, 3), (2, 1), (4, 0), (5, 2)])
@pytest.mark.parametrize("text", [*CATS, article(1)], ids=["mat", "a mat", "cream", "article"])
def test_simhashes_of_overlapping_characters_are_those_of_the_article(
    text: str, length: int, overlap: int
) -> None:
    words = canonical_words(text)
    joined = " ".join(words)
    tokens = pieces(joined, length, overlap)
    features = f"characters+blanks:{length}:{overlap}"
    hashes = feature_hashes(words, features).tolist()
    assert len(hashes) == len(tokens)
    theirs = simhash32(tokens, dict(zip(tokens, hashes, strict=True)).__getitem__)
    scheme = Scheme(simhash=SimhashFeatures(bits=32, features=features))
    assert sign(text, scheme).simhash == theirs


def test_blanks_count_where_they_are_asked_for() -> None:
    a, b = "over night", "overnight"
    for features, same in (("characters:4", True), ("characters+blanks:4", False)):
        scheme = Scheme(simhash=SimhashFeatures(features=features))
        assert (sign(a, scheme).simhash == sign(b, scheme).simhash) is same
        unit = Scheme(4, unit=features.partition(":")[0])
        assert (compare(a, b, unit).resemblance == 1) is same


def test_the_cosine_of_bigrams_is_that_of_their_counts() -> None:
    def counts(text: str) -> dict[str, float]:
        found = pieces(text, 2, 1)
        return {piece: found.count(piece) for piece in found}

    for a in CATS:
        for b in CATS:
            weighting = Weighting("tf", "characters+blanks:2")
            assert compare(a, b, weighting=weighting).cosine == pytest.approx(
                cosine_of_vectors(counts(a), counts(b))
            )
