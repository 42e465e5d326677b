"""A disk on which the store cannot grow any more."""

from __future__ import annotations

import resource
from typing import TYPE_CHECKING

from tests.support.crawls import LIST_SPIDER, Crawling, Project, items, listed, stats
from tests.support.invariants import is_whole
from tests.support.pages import article
from tests.support.serving import page, serving
from tests.support.stores import rows_of

if TYPE_CHECKING:
    from pathlib import Path

PAGES = 120
LIMIT = 1_000_000


def no_file_grows_beyond_the_limit() -> None:
    """Stand in for a full disk; Python ignores the signal that comes with it."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (LIMIT, LIMIT))


def test_no_item_is_lost_when_the_disk_is_full_and_the_store_works_again_with_room(
    tmp_path: Path,
) -> None:
    Project(tmp_path, LIST_SPIDER)
    answers = {f"/{number}": page(article(number, 1500)) for number in range(PAGES)}
    with serving(answers) as server:
        crawling = Crawling(
            tmp_path,
            *listed(tmp_path, {path[1:]: server.url + path for path in answers}),
            *("-s", "DEDUP_ACTION=tag", "-s", "CONCURRENT_REQUESTS=1", "-s", "LOG_LEVEL=INFO"),
            before=no_file_grows_beyond_the_limit,
        )
        assert crawling.wait() == 0, crawling.log
    found = [item["dedup"] for item in items(tmp_path).values()]
    assert len(found) == PAGES
    decided = [result for result in found if result["status"] == "new"]
    failed = [result for result in found if result["reason"] == "error"]
    assert len(decided) >= 3
    assert len(failed) >= 3
    assert len(decided) + len(failed) == PAGES
    assert all(result["error"].startswith("StoreError: ") for result in failed)
    errors = int(stats(crawling.log)["dedup/errors/StoreError"])
    assert len(failed) <= errors <= len(failed) + 1, "the end of the run may fail as well"
    (line,) = [line for line in crawling.log.splitlines() if "Dedup failed for" in line]
    assert "[shingling.plugin.items.decider] ERROR: Dedup failed" in line
    assert "Traceback" not in crawling.log
    store = tmp_path / "dedup.db"
    assert is_whole(store)
    assert rows_of(store, "SELECT count(*) FROM pages") == [(len(decided),)]

    answers = {f"/{number}": page(article(number, 1500)) for number in range(1000, 1003)}
    with serving(answers) as server:
        crawling = Crawling(
            tmp_path,
            *listed(tmp_path, {path[1:]: server.url + path for path in answers}),
            *("-s", "DEDUP_ACTION=tag"),
        )
        assert crawling.wait() == 0
    assert {item["dedup"]["status"] for item in items(tmp_path).values()} == {"new"}
    assert is_whole(store)
