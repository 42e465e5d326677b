"""Verdicts of runs are kept, counted and compared, and pages are listed by them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shingling import Page, Store
from shingling.store.listing import list_pages
from shingling.store.verdicts import RUNS_KEPT, previous_run, verdict_counts
from tests.support.pages import article
from tests.support.stores import session_of

if TYPE_CHECKING:
    from collections.abc import Iterable


def crawl(store: Store, numbers: Iterable[int], changed: int = -1) -> int:
    run = store.start_run("news", is_crawl=True)
    pages = [Page(f"p{one}", article(one + 50 * (one == changed))) for one in numbers]
    store.check(pages, run=run)
    store.check(pages[:1], run=run)  # is met twice, and counted once
    store.finish_run(run, "finished")
    return run.id


def test_runs_are_counted_compared_and_listed(store: Store) -> None:
    first, second = crawl(store, range(5)), crawl(store, range(1, 7), changed=2)
    with session_of(store).reading() as connection:
        counts = verdict_counts(connection, [first, second])
        assert counts[first]["new"] == 5
        assert previous_run(connection, second) == first
        beside = {"beside came": 2, "beside went": 1, "beside moved": 0, "beside skipped": 0}
        assert counts[second] == {"new": 2, "unchanged": 3, "changed": 1, **beside}
        came = list_pages(connection, {"run": second, "change": "came"}, limit=1)
        assert [page.url for page in came.rows] == ["p6"]
        rest = list_pages(connection, {"run": second, "change": "came"}, came.next)
        assert ([page.url for page in rest.rows], rest.next, rest.total) == (["p5"], None, 1)
        gone = list_pages(connection, {"run": second, "change": "went", "words": "P"})
        assert [page.url for page in gone.rows] == ["p0"]
        assert list_pages(connection, {"words": "p_"}).rows == []  # no pattern
    [page] = store.find("p2")
    assert [one["verdict"] for one in store.verdicts(page)] == ["changed", "new"]
    store.admin.forget(["p2"])
    assert store.verdicts(page) == []


def test_only_the_last_runs_of_a_spider_are_kept(store: Store) -> None:
    runs = [crawl(store, range(2)) for _ in range(RUNS_KEPT + 2)]
    with session_of(store).reading() as connection:
        counts = verdict_counts(connection, runs)
    assert [bool(counts[run]) for run in runs] == [False, False, *([True] * RUNS_KEPT)]
