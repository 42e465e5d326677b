"""Skipped requests that are made after all."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from shingling.fetching.again import is_owed
from shingling.fetching.learning import UrlLearner
from shingling.fetching.rows import RuleCounts, SkippedUrl
from tests.fetching.learning.simulated import page_of, text_of

SITE = "site.example"


def _pinned(change: str, always: bool) -> RuleCounts:
    return RuleCounts(SITE, change, "/", pinned=always)


def test_a_request_that_another_rule_skips_is_made_when_that_one_is_wrong() -> None:
    learner = UrlLearner()
    learner.load(SITE, [_pinned("drop-value x=1", True)])
    learner.note(page_of(f"http://{SITE}/p", text_of("page")))
    url, page = f"http://{SITE}/p?x=1", f"http://{SITE}/p?x=2"
    skipped = SkippedUrl(SITE, url, page, ("drop-parameter x",), "{}", "spider")
    shared: Any = SimpleNamespace(learner=learner, skipped=[])
    assert not is_owed(shared, {"drop-parameter y"}, skipped)
    assert not is_owed(shared, {"drop-parameter x"}, skipped)
    [now] = shared.skipped
    assert now == skipped._replace(page=f"http://{SITE}/p", rules=("drop-value x=1",))
    other = UrlLearner()
    other.load(SITE, [_pinned("drop-value x=1", False)])
    shared.learner = other
    assert is_owed(shared, {"drop-value x=1"}, now)
