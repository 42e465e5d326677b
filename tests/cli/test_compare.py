"""Measures of texts: `compare` of files, `similar` and `groups` of what a store keeps."""

from __future__ import annotations

import csv
import io
import json
import sys
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from shingling import Page, Store, shingles
from shingling.similarity.cosines import DocumentFrequencies, Weighting, cosine
from shingling.similarity.measures import Counts, measure_sets, overlap
from shingling.sketch import fingerprint_set, word_hashes
from shingling.sketch.idf import Idf
from shingling.text import canonical_words
from tests.support.pages import article, html

if TYPE_CHECKING:
    from pathlib import Path

SET_MEASURES = ["resemblance", "dice", "share", "containment"]


@pytest.fixture
def compare(dedup: Any) -> Any:
    return partial(dedup, "compare")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Three versions of an article, two lines of JSON, and another article as HTML."""
    text = article(1)
    half = " ".join([*text.split()[:150], *article(2).split()[150:]])
    (tmp_path / "sub").mkdir()
    (tmp_path / "a.txt").write_text(text)
    (tmp_path / "sub" / "b.md").write_text(half)
    (tmp_path / "c.json").write_text(json.dumps({"title": "x", "content": text + " and more"}))
    (tmp_path / "d.jsonl").write_text(
        "".join(json.dumps({"text": article(n)}) + "\n" for n in (3, 4))
    )
    (tmp_path / "e.html").write_text(html(article(5)))
    (tmp_path / "no.png").write_bytes(b"\x89PNG")
    return tmp_path


def measured(a: str, b: str, measure: str) -> float:
    both = overlap(fingerprint_set(a), fingerprint_set(b))
    words = [len(canonical_words(text)) for text in (a, b)]
    return float(measure_sets(measure, both.shared, Counts(both.a, both.b, *words)))


def test_the_text_field_of_json_is_compared_and_named(compare: Any, folder: Path) -> None:
    done = compare(str(folder / "a.txt"), str(folder / "c.json"), "--json")
    shown = done.json()
    assert shown["fields"] == {"a": None, "b": "content"}
    assert shown["words_b"] == shown["words_a"] + 2
    done = compare(str(folder / "a.txt"), str(folder / "c.json"))
    assert done.out.startswith("B is the field 'content' of a JSON object.\n")
    done = compare(str(folder / "a.txt"), str(folder / "c.json"), "--text-field", "title", "--json")
    assert done.json()["words_b"] == 1


@pytest.mark.parametrize(
    ("name", "content", "problem"),
    [
        ("bad.json", "[" * 100_000, "not JSON"),
        ("bad.json", "[1]", "not a JSON object"),
        ("bad.json", '{"text": 5}', "no text in a field text, content"),
        ("bad.jsonl", '{"text": "one"}\n{"text": "two"}', "several texts"),
    ],
)
def test_json_without_a_text_is_an_error(
    compare: Any, folder: Path, name: str, content: str, problem: str
) -> None:
    (folder / name).write_text(content)
    done = compare(str(folder / "a.txt"), str(folder / name))
    assert (done.code, problem in done.err) == (2, True)


def test_all_texts_of_a_folder_are_compared(compare: Any, folder: Path) -> None:
    done = compare("--all", str(folder), "--json", "--threshold", "0.1")
    shown = done.json()
    assert shown["documents"] == 6
    texts = {str(folder / "a.txt"): article(1), str(folder / "c.json"): article(1) + " and more"}
    texts[str(folder / "sub/b.md")] = (folder / "sub/b.md").read_text()
    assert len(shown["pairs"]) == 3
    for pair in shown["pairs"]:
        value = measured(texts[pair["a"]], texts[pair["b"]], "resemblance")
        assert pair["resemblance"] == pytest.approx(value, abs=0.0001)
    values = [pair["resemblance"] for pair in shown["pairs"]]
    assert values == sorted(values, reverse=True)
    assert "fields of JSON that are compared: content, text" in done.err


def test_pairs_whose_later_text_says_something_of_its_own_are_left_out(
    compare: Any, tmp_path: Path
) -> None:
    base = article(1)
    for name, more in (("a", "There are 3 rooms"), ("b", "There are 4 rooms"), ("c", "")):
        (tmp_path / f"{name}.txt").write_text(f"{base}\n{more}\n{article(2)}")

    def listed(*options: str) -> list[str]:
        pairs = compare("--all", str(tmp_path), "--json", *options).json()["pairs"]
        return sorted(pair["a"][-5] + pair["b"][-5] for pair in pairs)

    assert listed() == listed("--own-text", "ignore") == ["ab", "ac", "bc"]
    assert listed("--own-text", "keep") == listed("--own-text", "strict") == ["ac", "bc"]
    for refused in (("--all", "--matrix"), ("--all", "--measure", "uniqueness"), ()):
        files = map(str, sorted(tmp_path.iterdir())[:2])
        done = compare(*files, *refused, "--own-text", "keep")
        assert (done.code, "--own-text" in done.err) == (2, True)


@pytest.mark.parametrize("measure", [*SET_MEASURES, "cosine"])
def test_a_matrix_has_the_measure_of_every_pair(compare: Any, folder: Path, measure: str) -> None:
    done = compare("--all", str(folder), "--matrix", "--csv", "--measure", measure)
    (_, *names), *rows = csv.reader(io.StringIO(done.out))
    assert [row[0] for row in rows] == names
    assert len(names) == 6
    a, b = (next(name for name in names if name.endswith(end)) for end in ("a.txt", "b.md"))
    values = {(row[0], name): row[at] for row in rows for at, name in enumerate(names, 1)}
    assert values[a, b] == values[b, a]
    text, half = article(1), (folder / "sub" / "b.md").read_text()
    if measure == "cosine":  # of which frequencies are those of the six
        texts = [text, half, text + " and more", *map(article, (3, 4, 5))]
        hashes = [word_hashes(canonical_words(one)) for one in texts]
        weights = Weighting(frequencies=DocumentFrequencies.of_documents(hashes))
        expected = cosine(canonical_words(text), canonical_words(half), weights)
    else:
        expected = measured(text, half, measure)
    assert float(values[a, b]) == pytest.approx(expected, abs=0.0006)
    assert len(compare("--all", str(folder), "--matrix").out.splitlines()) == 7


def test_a_text_is_unique_whose_shingles_no_other_has(compare: Any, folder: Path) -> None:
    shown = compare("--all", str(folder), "--measure", "uniqueness", "--json").json()
    assert shown["threshold"] == 0.96
    unique = {one["document"]: one["unique"] for one in shown["documents"]}
    names = ("a.txt", "c.json", "e.html")
    assert [unique[str(folder / name)] for name in names] == [False, False, True]
    done = compare("--all", str(folder), "--measure", "uniqueness", "--threshold", "0.2")
    assert "unique" in done.out


def test_what_matches_nothing_is_an_error(compare: Any, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    for what in ("empty", "none.txt", "*.txt"):
        done = compare("--all", str(tmp_path / what))
        assert (done.code, str(tmp_path / what) in done.err) == (2, True)
    (tmp_path / "one.txt").write_text("one text")
    done = compare("--all", str(tmp_path / "*.txt"))
    assert (done.code, "two at least" in done.err) == (2, True)


def test_a_text_that_cannot_be_read_is_named_and_left_out(compare: Any, folder: Path) -> None:
    (folder / "bad\x1b[31m\n.json").write_text("{")
    done = compare("--all", str(folder), "--csv")
    assert done.code == 0
    assert "left out: " in done.err
    assert "\x1b" not in done.err
    assert "not JSON" in done.err


def test_checksums_of_shingles_are_compared_and_listed(compare: Any, folder: Path) -> None:
    a, b = article(1), (folder / "sub/b.md").read_text()
    paths = [str(folder / "a.txt"), str(folder / "sub" / "b.md")]
    shown = compare(*paths, "--hash", "md5", "--size", "3", "--step", "3", "--json").json()
    assert shown["a"] == shingles(a, 3, 3, "md5")
    others = {*shingles(b, 3, 3, "md5")}
    assert shown["shared"] == len([one for one in shown["a"] if one in others])
    done = compare(*paths, "--hash", "crc32", "--size", "10")
    assert "dice" in done.out


def test_frequencies_of_cosines_are_those_of_a_store_or_a_table(compare: Any, folder: Path) -> None:
    url = f"sqlite:///{folder / 'dedup.db'}"
    texts = [article(number) for number in range(1, 9)]
    with Store.open(url) as store:
        store.check([Page(f"https://a.example/{n}", text) for n, text in enumerate(texts)])
        assert [*store.texts()] == texts
    table = folder / "idf.table"
    table.write_text(Idf.learn(canonical_words(text) for text in texts).to_json())
    paths = [str(folder / "a.txt"), str(folder / "sub" / "b.md")]
    found = [
        compare(*paths, "--json", "--cosine", "tf-idf", "--df", df, "--store", url).json()["cosine"]
        for df in ("store", str(table))
    ]
    assert found[0] == pytest.approx(found[1], abs=0.15)
    assert compare(*paths, "--json", "--cosine", "tf-idf").json()["cosine"] == 0.0
    done = compare("--all", *paths, "--measure", "cosine", "--df=store", "--store", url, "--json")
    assert done.json()["pairs"]
    for df in ("missing", str(folder / "a.txt")):
        assert compare(*paths, "--df", df).code == 2


def test_a_missing_extra_is_named(
    compare: Any, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "rapidfuzz", None)
    monkeypatch.setitem(sys.modules, "rapidfuzz.distance", None)
    done = compare(str(folder / "a.txt"), str(folder / "e.html"))
    needs = "needs pip install rapidfuzz (extra distances)"
    for name in ("longest subsequence", "edit distance"):
        assert f"{name}  {needs}".replace(" ", "") in done.out.replace(" ", "")


# Texts that a store keeps.


def _mixed(own: int, other: int, words: int) -> str:
    """An article of which the first words are those of another one."""
    return " ".join([*article(other).split()[:words], *article(own).split()[words:]])


TEXTS = {
    "https://a.example/1": article(1),
    "https://b.example/quarter": _mixed(2, 1, 75),
    "https://c.example/other": article(3),
    "https://d.example/piece": " ".join(article(1).split()[:60]),
    "https://e.example/copy": article(1),
}


@pytest.fixture
def stored(url: str) -> None:
    """The store of the settings has the texts."""
    with Store.open(url) as store:
        store.check([Page(where, text) for where, text in TEXTS.items()])


@pytest.mark.usefixtures("stored")
@pytest.mark.parametrize("measure", SET_MEASURES)
def test_similar_finds_all_pages_from_a_threshold_of_a_measure_on(dedup: Any, measure: str) -> None:
    own = "https://a.example/1"
    values = {
        where: measured(TEXTS[own], text, measure) for where, text in TEXTS.items() if where != own
    }
    for threshold in (0.05, 0.2, 0.9):
        arguments = ("--measure", measure, "--threshold", str(threshold))
        done = dedup("similar", own, *arguments, "--json")
        assert done.code == 0
        found = {page["url"]: page["similarity"][measure] for page in done.json()}
        expected = {where: value for where, value in values.items() if value >= threshold}
        assert found == pytest.approx(expected)
        assert [*found.values()] == sorted(found.values(), reverse=True)
    assert measure in dedup("similar", own, *arguments).out


@pytest.mark.usefixtures("stored")
def test_a_page_is_unique_as_far_as_no_other_has_its_shingles(dedup: Any, tmp_path: Path) -> None:
    own = "https://b.example/quarter"
    found = dedup("similar", own, "--measure", "uniqueness", "--json").json()
    shingles = fingerprint_set(TEXTS[own])
    others = fingerprint_set(article(1))
    expected = 1 - overlap(shingles, others).shared / len(shingles)
    assert found["uniqueness"] == pytest.approx(expected)
    assert found["unique"] is False
    shared_with = {page["url"] for page in found["shared_with"]}
    assert shared_with == TEXTS.keys() - {own, "https://c.example/other"}
    new = tmp_path / "new.txt"
    new.write_text(article(9))
    done = dedup("similar", str(new), "--measure", "uniqueness")
    assert (done.code, done.out) == (1, "uniqueness 1.000: unique (from 0.96)\n")
    assert dedup("similar", str(new), "--measure", "dice").code == 1


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("similar", "-", "--measure", "dice"), "DEDUP_STORE_TEXT"),
        (("similar", "https://a.example/1", "--measure", "uniqueness"), "DEDUP_STORE_TEXT"),
        (("similar", "https://a.example/1", "--measure", "dice", "--distance", "3"), "--distance"),
    ],
)
def test_measures_need_texts_and_do_not_go_with_everything(
    dedup: Any, tmp_path: Path, arguments: tuple[str, ...], problem: str
) -> None:
    none = f"sqlite:///{tmp_path / 'none.db'}"
    with Store.open(none, store_text=False) as store:
        store.check([Page(where, text) for where, text in TEXTS.items()])
    done = dedup(*arguments, "--store", none, stdin=article(1).encode())
    assert (done.code, problem in done.err) == (2, True), done
