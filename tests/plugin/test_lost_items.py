"""Items that a later pipeline drops: nothing is lost with them, in whatever order they come."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from scrapy import signals
from scrapy.exceptions import DropItem
from scrapy.http import HtmlResponse
from scrapy.utils.test import get_crawler

from shingling.plugin.items import decider as decider_module
from shingling.plugin.items.checking import Outcome
from shingling.plugin.items.decider import ItemDecider
from shingling.plugin.middleware import ItemSource
from shingling.plugin.report import DuplicatePage, Report, UnchangedPage
from shingling.plugin.settings import DedupSettings
from shingling.rules.reasons import Reason
from shingling.store.model import Verdict

if TYPE_CHECKING:
    from shingling.plugin.items.documents import Document

pytestmark = pytest.mark.usefixtures("reactor")

U, X, Z = (f"https://example.com/{name}" for name in "uxz")
NEW = Verdict("new", page_id=1)
AGAIN = Verdict("unchanged", page_id=1, repeats="crawl")


def copy_of(url: str) -> Verdict:
    return Verdict("exact", original=url, resemblance=1.0, page_id=2)


class ScriptedChecker:
    """Gives the verdicts of a test, in their order; what it withdraws stays stored."""

    def __init__(self, *_: object) -> None:
        self.verdicts: dict[str, list[Verdict]] = defaultdict(list)
        self.lost: list[str] = []
        self.may_check_again = asyncio.Event()
        self.may_check_again.set()

    async def check(self, document: Document, *_: object, again: bool = False) -> Outcome:
        url = document.url or f"{document.source}#hash"
        await asyncio.sleep(0)
        if again:
            await self.may_check_again.wait()
        return Outcome(self.verdicts[url].pop(0), url)

    async def take_back(self, url: str) -> None:
        self.lost.append(url)

    async def withdraw(self, url: str) -> None:
        await asyncio.sleep(0)


class Pipelines:
    """The decider, and a pipeline behind it that keeps or drops items when a test says so."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, **settings: Any) -> None:
        monkeypatch.setattr(decider_module, "Checker", ScriptedChecker)
        self.crawler = get_crawler(settings_dict={"DEDUP_STORE_URL": "sqlite://", **settings})
        read = DedupSettings.from_settings(self.crawler.settings)
        report = Report(self.crawler, read)
        self.decider = ItemDecider(self.crawler, read, report, "drop", None)
        self.checker: Any = self.decider.checker
        self.behind: list[asyncio.Future[bool]] = []

    def send(self, url: str, source: ItemSource | None = None) -> asyncio.Task[str]:
        """Send an item; the task says what becomes of it."""
        item = {"text": "Some text"} if source else {"url": url, "text": "Some text"}
        self.behind.append(asyncio.get_running_loop().create_future())
        return asyncio.create_task(self._send(item, source, self.behind[-1]))

    async def _send(
        self, item: Any, source: ItemSource | None, behind: asyncio.Future[bool]
    ) -> str:
        signal, became = signals.item_dropped, "lost"
        try:
            await self.decider.decide(item, source)
            if await behind:
                signal, became = signals.item_scraped, "out"
        except DropItem as error:
            became = "unchanged" if isinstance(error, UnchangedPage) else "dropped"
            if isinstance(error, DuplicatePage) and error.verdict.reason == Reason.REPEATED:
                became = "repeated"
        await self.crawler.signals.send_catch_log_async(signal=signal, item=item)
        return became


async def moment() -> None:
    """Let all others go on until they wait for something."""
    for _ in range(50):
        await asyncio.sleep(0)


def test_a_copy_waits_for_an_item_that_waits_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    async def run() -> list[str]:
        pipelines = Pipelines(monkeypatch)
        pipelines.checker.verdicts |= {U: [NEW], X: [copy_of(U), NEW], Z: [copy_of(X), NEW]}
        tasks = []
        for url in (U, X, Z):  # by the verdict on the last one, U has just been withdrawn
            tasks.append(pipelines.send(url))
            await moment()
        for place, came_out in enumerate((False, False, True)):
            pipelines.behind[place].set_result(came_out)
            await moment()
        return [await task for task in tasks]

    assert asyncio.run(run()) == ["lost", "lost", "out"]


@pytest.mark.parametrize("last_is", ["late", "kept", "out"])
def test_an_item_comes_once_if_others_take_the_place_of_a_lost_one(
    monkeypatch: pytest.MonkeyPatch, last_is: str
) -> None:
    async def run() -> list[str]:
        pipelines = Pipelines(monkeypatch)
        pipelines.checker.verdicts[U] = [NEW, AGAIN, AGAIN]
        tasks = [pipelines.send(U) for _ in range(3)]
        await moment()
        pipelines.checker.verdicts[U] = [NEW, AGAIN]
        if last_is != "late":
            pipelines.checker.may_check_again.clear()
        pipelines.behind[0].set_result(False)
        await moment()
        tasks.append(pipelines.send(U))
        if last_is == "out":
            pipelines.behind[3].set_result(True)
        await moment()
        pipelines.checker.may_check_again.set()
        await moment()
        for future in pipelines.behind:
            if not future.done():
                future.set_result(True)
        became = [await task for task in tasks]
        pipelines.checker.verdicts[U] = [AGAIN] * 10
        last = pipelines.send(U)
        pipelines.behind[-1].set_result(True)
        return [*became, await last]

    became = asyncio.run(run())
    assert became[0] == "lost"
    assert sorted(became[1:-1]) == ["out", "repeated", "repeated"]
    assert became[-1] == "repeated"


def test_of_parts_of_a_page_that_say_the_same_all_come_out_or_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def run(first: Verdict, **settings: Any) -> list[str]:
        pipelines = Pipelines(monkeypatch, **settings)
        source = ItemSource(HtmlResponse(U), is_only_item=False)
        pipelines.checker.verdicts[f"{U}#hash"] = [first, AGAIN]
        tasks = [pipelines.send(U, source) for _ in range(2)]
        await moment()
        for future in pipelines.behind:
            future.set_result(True)
        return [await task for task in tasks]

    known = replace(AGAIN, repeats="store")
    assert asyncio.run(run(NEW)) == ["out", "out"]
    assert asyncio.run(run(NEW, DEDUP_DROP_UNCHANGED=True)) == ["out", "out"]
    assert asyncio.run(run(known)) == ["out", "out"]
    assert asyncio.run(run(known, DEDUP_DROP_UNCHANGED=True)) == ["unchanged", "unchanged"]


def test_a_copy_of_a_lost_item_that_cannot_be_withdrawn_is_kept(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def run() -> list[str]:
        pipelines = Pipelines(monkeypatch)
        pipelines.checker.verdicts |= {U: [NEW], X: [copy_of(U)] * 10}
        tasks = [pipelines.send(url) for url in (U, X)]
        await moment()
        pipelines.behind[0].set_result(False)
        pipelines.behind[1].set_result(True)
        return [await task for task in tasks]

    assert asyncio.run(run()) == ["lost", "out"]


@pytest.mark.parametrize("first_is", ["out", "lost"])
def test_what_has_come_out_before_and_is_lost_now_comes_out_with_the_next_one(
    monkeypatch: pytest.MonkeyPatch, first_is: str
) -> None:
    async def run() -> tuple[list[str], list[str]]:
        pipelines = Pipelines(monkeypatch)
        known, waits = replace(AGAIN, repeats="store"), replace(AGAIN, repeats=None)
        pipelines.checker.verdicts[U] = [known, AGAIN, waits]
        tasks = [pipelines.send(U) for _ in range(2)]
        await moment()
        for future, came_out in zip(pipelines.behind, (first_is == "out", True), strict=True):
            future.set_result(came_out)
        return [await task for task in tasks], pipelines.checker.lost

    expected = ["out", "repeated"] if first_is == "out" else ["lost", "out"]
    assert asyncio.run(run()) == (expected, [] if first_is == "out" else [U])
