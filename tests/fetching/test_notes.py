"""Pages that are being noted, and requests: those that wait, and those that were skipped."""

from __future__ import annotations

import asyncio
import pickle
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import pytest
from scrapy import Request, Spider
from scrapy.utils.test import get_crawler

from shingling.fetching.counting import FetchCounts
from shingling.fetching.learning import Contradiction, RuleCounts, Skip, UrlLearner
from shingling.fetching.skipped import MAX_SKIPPED, SkippedRequests
from shingling.fetching.waiting import PagesNoted
from tests.fetching.learning.simulated import page_of, text_of
from tests.support.processes import PATIENCE

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.usefixtures("reactor")

MB = 1024 * 1024


async def test_requests_wait_while_many_pages_are_noted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shingling.fetching.waiting.MAX_WAIT_SECONDS", PATIENCE)
    notes, known = PagesNoted(), asyncio.Event()

    async def note() -> None:
        await known.wait()

    for _ in range(32):
        assert notes.start(note, 1000, "")
    await notes.wait_for_few()
    assert notes.start(note, 1000, "")
    waiting = asyncio.create_task(notes.wait_for_few())
    await asyncio.sleep(0.01)
    assert not waiting.done()
    assert len(notes) == 33
    known.set()
    await waiting
    await notes.finish(PATIENCE)
    assert len(notes) == 0


async def test_pages_that_are_being_noted_are_bounded_by_their_bytes_and_number() -> None:
    notes = PagesNoted()

    async def never() -> None:
        await asyncio.Event().wait()

    def start(size: int) -> bool:
        return notes.start(never, size, "") is not None

    assert start(20 * MB)
    assert not start(13 * MB)
    assert start(12 * MB)
    assert not start(1)
    await notes.finish(0)
    while len(notes):
        await asyncio.sleep(0)
    assert [start(0) for _ in range(2_001)] == [True] * 2_000 + [False]
    await notes.finish(0)


# Skipped requests that are made because a rule is wrong


SITE = "site.example"
X = "drop-parameter x"


class Engine:
    """Takes the requests that are made."""

    def __init__(self) -> None:
        self.made: list[Request] = []

    def crawl(self, request: Request) -> None:
        self.made.append(request)


class Made(NamedTuple):
    skipped: SkippedRequests
    engine: Engine
    crawler: Any

    async def urls(self) -> list[str]:
        """URLs of the requests that were made."""
        while self.skipped.is_busy:
            await asyncio.sleep(0)
        return [request.url for request in self.engine.made]


class Own(Spider):
    name = "own"
    state: ClassVar[dict[str, Any]]


def made(learner: UrlLearner, **settings: Any) -> Made:
    crawler: Any = get_crawler(Own, settings)
    crawler.spider, crawler.engine = Own(), Engine()
    crawler.spider.state = {}
    counts = FetchCounts(crawler)
    return Made(SkippedRequests(crawler, learner, counts), crawler.engine, crawler)


def taught(*changes: str) -> UrlLearner:
    learner = UrlLearner()
    learner.load_rules(
        SITE, [RuleCounts(SITE, one, node, 999) for one in changes for node in ("/", "/p")]
    )
    return learner


def skip(*rules: str, page: str = f"http://{SITE}/p?x=2") -> Skip:
    return Skip(rules, page, 0.0, explore=False)


async def test_a_request_that_another_rule_skips_is_made_when_that_one_is_wrong() -> None:
    learner = taught("drop-value x=1")
    learner.note_page(page_of(f"http://{SITE}/p", text_of("page")))
    asked = made(learner)
    asked.skipped.keep(Request(f"http://{SITE}/p?x=1"), skip(X))
    for change in ("drop-parameter y", X):
        asked.skipped.unlearned([Contradiction(SITE, change)])
        assert await asked.urls() == []
    asked.skipped.unlearned([Contradiction("other.example", "drop-value x=1")])
    assert await asked.urls() == []
    for number in range(20):
        learner.note_page(page_of(f"http://{SITE}/p?x=1&n={number}", text_of(f"{number} one")))
        learner.note_page(page_of(f"http://{SITE}/p?n={number}", text_of(f"{number} other")))
    asked.skipped.unlearned([Contradiction(SITE, "drop-value x=1")])
    assert await asked.urls() == [f"http://{SITE}/p?x=1"]
    [request] = asked.engine.made
    assert request.dont_filter
    assert request.meta["dedup_fetch"] is True
    assert asked.crawler.stats.get_value("dedup/fetch/refetched") == 1
    assert len(asked.skipped) == 0


async def test_requests_to_a_mobile_host_belong_to_the_rules_of_its_site() -> None:
    asked = made(taught())
    asked.skipped.keep(Request(f"http://m.{SITE}/p?x=1"), skip(X))
    asked.skipped.unlearned([Contradiction(SITE, X)])
    assert await asked.urls() == [f"http://m.{SITE}/p?x=1"]


async def test_the_newest_ten_thousand_skipped_requests_are_kept() -> None:
    asked = made(taught())
    for number in range(MAX_SKIPPED + 3):
        asked.skipped.keep(Request(f"http://{SITE}/p?x={number}"), skip(X))
    assert len(asked.skipped) == MAX_SKIPPED == 10_000
    asked.skipped.unlearned([Contradiction(SITE, X)])
    urls = await asked.urls()
    assert (len(urls), urls[0]) == (MAX_SKIPPED, f"http://{SITE}/p?x=3")
    assert asked.crawler.stats.get_value("dedup/fetch/not_kept") == 3


async def test_a_job_that_goes_on_makes_what_it_has_skipped_by_rules_that_act_no_more(
    tmp_path: Path,
) -> None:
    job = {"JOBDIR": str(tmp_path)}
    before = made(taught(X), **job)
    for number in range(2):
        before.skipped.keep(Request(f"http://{SITE}/p?x={number}"), skip(X))
    before.skipped.keep(Request(f"http://{SITE}/p?y=1"), skip("drop-parameter y"))
    before.skipped.keep(Request(f"http://{SITE}/p?x=4", errback=lambda _: None), skip(X))
    before.skipped.pause()
    assert before.crawler.stats.get_value("dedup/fetch/not_kept") == 1
    after = made(taught(X), **job)
    after.crawler.spider.state = pickle.loads(pickle.dumps(before.crawler.spider.state))  # noqa: S301 (our own)
    after.skipped.resume()
    assert len(after.skipped) == 3
    after.skipped.make_owed(SITE)
    assert await after.urls() == [f"http://{SITE}/p?y=1"]
    after.skipped.unlearned([Contradiction(SITE, X)])
    assert len(await after.urls()) == 3


def test_a_crawl_that_is_no_job_leaves_the_state_of_its_spider_alone() -> None:
    asked = made(taught(X))
    asked.skipped.keep(Request(f"http://{SITE}/p?x=1"), skip(X))
    asked.crawler.spider.state["dedup_skipped"] = "of the spider"
    asked.skipped.resume()
    asked.skipped.pause()
    assert asked.crawler.spider.state == {"dedup_skipped": "of the spider"}
    assert asked.crawler.stats.get_value("dedup/fetch/not_kept") is None
