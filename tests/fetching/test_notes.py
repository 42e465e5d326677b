"""Pages that are being noted, and requests: those that wait, and those made after all."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

from shingling.fetching.again import is_owed
from shingling.fetching.learning import UrlLearner
from shingling.fetching.notes import PagesNoted
from shingling.fetching.rows import RuleCounts, SkippedUrl
from tests.fetching.learning.simulated import page_of, text_of

MB = 1024 * 1024


def test_requests_wait_while_many_pages_are_being_noted() -> None:
    asyncio.run(_wait_while_many_pages_are_being_noted())


async def _wait_while_many_pages_are_being_noted() -> None:
    notes, known = PagesNoted(), asyncio.Event()
    ended: list[int] = []

    async def note() -> None:
        await known.wait()

    for number in range(32):
        assert notes.start(note, 1000, lambda number=number: ended.append(number))  # type: ignore[misc]
    await asyncio.wait_for(notes.wait_for_few(), 1)
    assert notes.start(note, 1000, lambda: ended.append(32))
    waiting = asyncio.create_task(notes.wait_for_few())
    await asyncio.sleep(0.01)
    assert not waiting.done()
    assert len(notes) == 33
    known.set()
    await asyncio.wait_for(waiting, 1)
    await notes.finish(1)
    assert len(notes) == 0
    assert sorted(ended) == list(range(33))


def test_pages_that_are_being_noted_are_bounded_by_their_bytes_and_number() -> None:
    asyncio.run(_note_too_many_bytes_and_pages())


async def _note_too_many_bytes_and_pages() -> None:
    notes = PagesNoted()
    ended: list[int] = []

    async def never() -> None:
        await asyncio.Event().wait()

    def start(size: int) -> bool:
        return notes.start(never, size, lambda: ended.append(size))

    assert start(20 * MB)
    assert not start(13 * MB)
    assert start(12 * MB)
    assert not start(1)
    await notes.finish(0)
    await asyncio.sleep(0.01)
    assert sorted(ended) == [12 * MB, 20 * MB]
    assert [start(0) for _ in range(2_001)] == [True] * 2_000 + [False]
    await notes.finish(0)


# Skipped requests that are made after all


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
