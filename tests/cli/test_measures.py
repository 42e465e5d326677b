"""`--measure` of `scrapy dedup similar` and `groups`, on the texts that a store keeps."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from shingling import Page, Rules, Store
from shingling.similarity import Counts, measure_sets, overlap
from shingling.sketch import fingerprint_set
from shingling.text import canonical_words
from tests.support.commands import Done, dedup_command
from tests.support.pages import article

if TYPE_CHECKING:
    from collections.abc import Callable
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
def url(tmp_path: Path) -> str:
    url = f"sqlite:///{tmp_path / 'dedup.db'}"
    with Store.open(url) as store:
        store.check([Page(where, text) for where, text in TEXTS.items()])
    return url


@pytest.fixture
def dedup(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Done]:
    return partial(dedup_command, monkeypatch)


def _measured(a: str, b: str, measure: str) -> float:
    both = overlap(fingerprint_set(a), fingerprint_set(b))
    words = [len(canonical_words(text)) for text in (a, b)]
    return float(measure_sets(measure, both.shared, Counts(both.a, both.b, *words)))


@pytest.mark.parametrize("measure", SET_MEASURES)
def test_similar_finds_all_pages_at_or_above_a_threshold_of_a_measure(
    dedup: Any, url: str, measure: str
) -> None:
    own = "https://a.example/1"
    values = {
        where: _measured(TEXTS[own], text, measure) for where, text in TEXTS.items() if where != own
    }
    for threshold in (0.05, 0.2, 0.9):
        arguments = ("--measure", measure, "--threshold", str(threshold), "--store", url)
        done = dedup("similar", own, *arguments, "--json")
        assert done.code == 0
        found = {page["url"]: page["similarity"][measure] for page in done.json()}
        expected = {where: value for where, value in values.items() if value >= threshold}
        assert found == pytest.approx(expected)
        assert [*found.values()] == sorted(found.values(), reverse=True)
    assert measure in dedup("similar", own, *arguments).out


def test_a_page_is_unique_as_far_as_no_other_has_its_shingles(
    dedup: Any, url: str, tmp_path: Path
) -> None:
    found = dedup(
        "similar", "https://b.example/quarter", "--measure", "uniqueness", "--store", url, "--json"
    ).json()
    shingles = fingerprint_set(TEXTS["https://b.example/quarter"])
    others = fingerprint_set(article(1))
    expected = 1 - overlap(shingles, others).shared / len(shingles)
    assert found["uniqueness"] == pytest.approx(expected)
    assert found["unique"] is False
    assert {page["url"] for page in found["shared_with"]} == TEXTS.keys() - {
        "https://b.example/quarter",
        "https://c.example/other",
    }
    new = tmp_path / "new.txt"
    new.write_text(article(9))
    done = dedup("similar", str(new), "--measure", "uniqueness", "--store", url)
    assert (done.code, done.out) == (1, "uniqueness 1.000: unique (from 0.96)\n")
    assert dedup("similar", str(new), "--measure", "dice", "--store", url).code == 1


@pytest.mark.parametrize("measure", SET_MEASURES)
def test_groups_by_event_measure_the_texts(dedup: Any, url: str, measure: str) -> None:
    value = _measured(TEXTS["https://b.example/quarter"], article(1), measure)
    chosen = ("groups", "--by", "event", "--measure", measure, "--store", url)
    [group] = dedup(*chosen, "--threshold", str(value), "--json").json()
    assert group["original"]["url"] == "https://a.example/1"
    found = {page["url"]: page.get(measure) for page in group["duplicates"]}
    assert found["https://b.example/quarter"] == pytest.approx(value)
    above = dedup(*chosen, "--threshold", str(value + 0.001), "--json")
    assert "quarter" not in above.out
    assert "~" not in dedup(*chosen, "--threshold", str(value)).out


def test_measures_need_texts_and_say_so(dedup: Any, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'none.db'}"
    with Store.open(url) as store:
        pages = [Page(where, text) for where, text in TEXTS.items()]
        store.check(pages, rules=Rules(store_text=False))
    (tmp_path / "a.txt").write_text(article(1))
    for arguments in (
        ("similar", str(tmp_path / "a.txt"), "--measure", "dice"),
        ("similar", "https://a.example/1", "--measure", "uniqueness"),
        ("groups", "--by", "event", "--measure", "dice"),
    ):
        done = dedup(*arguments, "--store", url)
        assert (done.code, "DEDUP_STORE_TEXT" in done.err) == (2, True), done


def test_measures_that_do_not_go_together_are_refused(dedup: Any, url: str) -> None:
    for arguments in (
        ("similar", "https://a.example/1", "--measure", "dice", "--distance", "3"),
        ("groups", "--measure", "dice"),
        ("groups", "--by", "event", "--measure", "uniqueness"),
    ):
        assert dedup(*arguments, "--store", url).code == 2
