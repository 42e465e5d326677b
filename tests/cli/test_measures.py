"""`--measure` of `scrapy dedup similar` and `groups`, on the texts that a store keeps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from shingling import Page, Store
from shingling.similarity import Counts, measure_sets, overlap
from shingling.sketch import fingerprint_set
from shingling.text import canonical_words
from tests.support.pages import article

if TYPE_CHECKING:
    from pathlib import Path


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
SET_MEASURES = ["resemblance", "dice", "share", "containment"]


@pytest.fixture
def url(url: str) -> str:
    with Store.open(url) as store:
        store.check([Page(where, text) for where, text in TEXTS.items()])
    return url


def _measured(a: str, b: str, measure: str) -> float:
    both = overlap(fingerprint_set(a), fingerprint_set(b))
    words = [len(canonical_words(text)) for text in (a, b)]
    return float(measure_sets(measure, both.shared, Counts(both.a, both.b, *words)))


@pytest.mark.parametrize("measure", SET_MEASURES)
def test_similar_finds_all_pages_at_or_above_a_threshold_of_a_measure(
    dedup: Any, measure: str
) -> None:
    own = "https://a.example/1"
    values = {
        where: _measured(TEXTS[own], text, measure) for where, text in TEXTS.items() if where != own
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


@pytest.mark.parametrize("measure", SET_MEASURES)
def test_groups_by_event_measure_the_texts(dedup: Any, measure: str) -> None:
    value = _measured(TEXTS["https://b.example/quarter"], article(1), measure)
    chosen = ("groups", "--by", "event", "--measure", measure)
    [group] = dedup(*chosen, "--threshold", str(value), "--json").json()
    assert group["original"]["url"] == "https://a.example/1"
    found = {page["url"]: page.get(measure) for page in group["duplicates"]}
    assert found["https://b.example/quarter"] == pytest.approx(value)
    above = dedup(*chosen, "--threshold", str(value + 0.001), "--json")
    assert "quarter" not in above.out
    assert "~" not in dedup(*chosen, "--threshold", str(value)).out


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("similar", "-", "--measure", "dice"), "DEDUP_STORE_TEXT"),
        (("similar", "https://a.example/1", "--measure", "uniqueness"), "DEDUP_STORE_TEXT"),
        (("groups", "--by", "event", "--measure", "dice"), "DEDUP_STORE_TEXT"),
        (("groups", "--by", "event", "--measure", "uniqueness"), "invalid choice"),
        (("groups", "--measure", "dice"), "--by event"),
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
