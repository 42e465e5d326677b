"""`scrapy dedup prune`, `rebuild --decide`, `review` and `vacuum`: a store and its owner."""

from __future__ import annotations

import time
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from shingling import Page, Rules, Store
from tests.support.pages import article
from tests.support.stores import originals

WORDS = article(1, 200).split()
FIRST, EDITED = " ".join(WORDS), " ".join([*WORDS[:170], *article(2, 30).split()])
OTHER = article(3, 200)
RULES = Rules(threshold=0.8)


@pytest.fixture
def url(url: str) -> str:
    with Store.open(url, rules=RULES) as store:
        verdicts = store.check(
            [
                Page("https://a.example/1", FIRST, fetched=1e9),
                Page("https://b.example/edited", EDITED, fetched=1.1e9),
                Page("https://c.example/copy", FIRST, fetched=1.2e9),
                Page("https://a.example/other", OTHER),
            ],
            rules=RULES,
        )
    assert [verdict.status for verdict in verdicts] == ["new", "new", "exact", "new"]
    return url


@pytest.fixture
def dedup(dedup: Any) -> Any:
    return partial(dedup, DEDUP_THRESHOLD=0.8)


def test_a_lower_threshold_is_tried_then_taken(dedup: Any, url: str) -> None:
    before = originals(url)
    tried = dedup("rebuild", "--threshold", "0.6", "--decide", "--dry-run")
    assert tried.code == 0
    assert "new duplicates        1" in tried.out
    assert "https://b.example/edited  (an original)" in tried.out
    assert tried.out.endswith("nothing was changed (--dry-run)\n")
    assert originals(url) == before
    made = dedup("rebuild", "--threshold", "0.6", "--decide", "--json").json()
    assert (made["to_duplicate"], made["to_original"], made["moved"]) == (1, 0, 0)
    assert made["originals"] == {"before": 3, "now": 2}
    assert made["index"]["bands"] == 28
    assert originals(url)["https://b.example/edited"] == "https://a.example/1"
    back = dedup("rebuild", "--decide", "--json").json()
    assert (back["to_original"], back["index"]["bands"]) == (1, 14)
    assert originals(url) == before


def test_at_a_terminal_all_pages_are_decided_again_only_after_a_yes(dedup: Any, url: str) -> None:
    before = originals(url)
    asked = dedup("rebuild", "--threshold", "0.6", "--decide", stdin=None)
    assert (asked.code, asked.out) == (1, "nothing was changed\n")
    assert "Decide all pages of the store again?" in asked.err
    assert originals(url) == before
    tried = dedup("rebuild", "--threshold", "0.6", "--decide", "--dry-run", stdin=None)
    assert (tried.code, "[y/N]" in tried.err) == (0, False)
    assert dedup("rebuild", "--decide", "--yes", stdin=None, DEDUP_THRESHOLD=0.6).code == 0
    assert originals(url)["https://b.example/edited"] == "https://a.example/1"


def test_texts_are_signed_under_the_scheme_of_the_settings_or_none_is(dedup: Any, url: str) -> None:
    done = dedup("rebuild", "--scheme", "--json", DEDUP_SHINGLE_SIZE=2)
    assert done.json()["pages"] == 4
    assert dedup("status", "--json").json()["scheme"]["shingle_size"] == 2
    with Store.open(url) as store:
        [verdict] = store.check([Page("https://d.example/", FIRST)], rules=RULES)
        assert verdict.original == "https://a.example/1"
        textless = replace(RULES, store_text=False)
        store.check([Page("https://e.example/", article(9))], rules=textless)
    done = dedup("rebuild", "--scheme", DEDUP_SHINGLE_SIZE=3)
    assert (done.code, "1 page stored without text" in done.err) == (2, True)
    assert dedup("status", "--json").json()["scheme"]["shingle_size"] == 2


def test_a_review_is_kept_through_a_rebuild(dedup: Any, url: str) -> None:
    pair = "https://a.example/1", "https://c.example/copy"
    said = dedup("review", *pair, "--different", "--note", "another\x1b[31m edition")
    assert said.out.splitlines() == ["https://a.example/1: new", "https://c.example/copy: new"]
    assert originals(url)["https://c.example/copy"] is None
    assert dedup("rebuild", "--decide").code == 0
    assert originals(url)["https://c.example/copy"] is None
    [listed] = dedup("review", "--json").json()
    assert (listed["same"], {listed["a"], listed["b"]}) == (False, set(pair))
    assert "\x1b" not in dedup("review").out
    undone = dedup("review", *pair, "--undo")
    assert (undone.code, "not stored" in undone.out) == (0, False)
    assert originals(url)["https://c.example/copy"] == "https://a.example/1"
    assert dedup("review", *pair, "--undo").out.startswith("no review of the two was stored\n")
    unknown = dedup("review", "https://d.example/1", "https://d.example/2", "--undo")
    assert unknown.code == 1
    assert unknown.out.splitlines() == [
        "no review of the two was stored",
        "https://d.example/1 is not stored",
        "https://d.example/2 is not stored",
    ]
    assert dedup("review").code == 1


def test_a_review_of_a_page_that_is_not_stored_applies_once_it_is(dedup: Any, url: str) -> None:
    said = dedup("review", "https://a.example/other", "https://d.example/", "--same")
    assert "https://d.example/ is not stored yet" in said.out
    with Store.open(url) as store:
        [verdict] = store.check([Page("https://d.example/", article(8))], rules=RULES)
    assert (verdict.status, verdict.original) == ("near", "https://a.example/other")
    assert verdict.reason == "review"


def test_old_pages_are_pruned(dedup: Any, url: str) -> None:
    years = (time.time() - 1.15e9) / 86400
    assert dedup("prune", "--older-than", str(years), "--site", "other.example").code == 1
    asked = dedup("prune", "--older-than", str(years), "--site", "b.example")
    assert "Remove 1 page from the store? [y/N]" in asked.err
    assert "nothing was pruned" in asked.out
    tried = dedup("prune", "--older-than", str(years), "--dry-run", "--json")
    found = tried.json()
    assert (found["pruned"], found["replaced_originals"], found["dry_run"]) == (2, 1, True)
    assert len(originals(url)) == 4
    done = dedup("prune", "--older-than", str(years), "--yes", "--json").json()
    assert done | {"dry_run": True} == found
    assert originals(url) == {"https://c.example/copy": None, "https://a.example/other": None}
    assert dedup("vacuum", "--json").json()["bytes"] > 0
