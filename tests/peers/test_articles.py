"""Tables of the pages on systems that articles describe: both numbers, on the same texts."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from shingling import Canonicaliser
from shingling.bulk import Options, deduplicate
from shingling.text import canonical_words
from tests.peers import checksum_shingles
from tests.peers.test_measures import CATS
from tests.peers.tfidf_cosine import TermVectors, cosine_of_vectors
from tests.repository.docs.pages import blocks, read

if TYPE_CHECKING:
    from pathlib import Path


def files(page: str) -> dict[str, str]:
    """Files that a page has its reader write, by name."""
    return {
        block.caption: block.text.strip()
        for block in blocks(read(f"coming-from/{page}"))
        if block.caption is not None
    }


def test_the_stop_list_of_the_page_is_that_of_the_php_class() -> None:
    words = files("php-shingles.md")["stop.txt"].split()
    assert {*words} == checksum_shingles.DROPPED_WORDS
    assert f"{len(words)} short words" in read("coming-from/php-shingles.md")


def test_the_first_row_of_the_page_on_php_is_what_the_class_gives() -> None:
    page, texts = read("coming-from/php-shingles.md"), files("php-shingles.md")
    theirs = checksum_shingles.percent_of_words(texts["two.txt"], texts["one.txt"])
    assert f'| "... номер два", "... номер один" | {theirs:.0f} | {theirs:.3f} |' in page
    assert f"per word     {theirs:.3f}" in page


def test_the_number_of_the_page_on_node_is_that_of_its_formula_without_dropped_words() -> None:
    page, texts = read("coming-from/node-shingles.md"), files("node-shingles.md")
    a, b = (canonical_words(json.loads(texts[f"article{n}.json"])["content"]) for n in (1, 2))
    theirs = checksum_shingles.percent_by_dice(a, b)
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
    from tests.peers.jieba_simhash import removed
    from tests.sketch.test_keywords import flagged_by_keywords, generated_rows

    rows = generated_rows()
    own = [number for number, _ in rows]
    near = removed(text for _, text in rows)
    wrong = sum(own[place] not in {own[one] for one in found} for place, found in near.items())
    flagged, flagged_wrong = flagged_by_keywords(Canonicaliser(language="zh", chinese="jieba"))
    file, out = tmp_path / "rows.jsonl", tmp_path / "out"
    file.write_text(
        "\n".join(json.dumps({"id": place, "text": text}) for place, (_, text) in enumerate(rows)),
        encoding="utf-8",
    )
    deduplicate([str(file)], out, Options(workers=0))
    pairs = [json.loads(line) for line in (out / "removed.jsonl").read_text("utf-8").splitlines()]
    pairs_wrong = sum(own[int(pair["id"])] != own[int(pair["original"])] for pair in pairs)
    page = read("coming-from/mongodb-simhash.md")
    for name, found, mistakes in (
        ("jieba's 30 words by tf-idf, fewer than 3 bits", len(near), wrong),
        (
            "here, `--method simhash --distance 2`, tf-idf of the same texts",
            flagged,
            flagged_wrong,
        ),
        ("here, default settings (MinHash over five letters)", len(pairs), pairs_wrong),
    ):
        assert f"| {name} | {found - mistakes} | {mistakes} |" in page
