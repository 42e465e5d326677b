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


def crawl(folder: Path, *arguments: str) -> Crawling:
    """Crawl pages of which the first few fit into the store."""
    Project(folder, LIST_SPIDER)
    answers = {f"/{number}": page(article(number, 1500)) for number in range(PAGES)}
    with serving(answers) as server:
        crawling = Crawling(
            folder,
            *listed(folder, {path[1:]: server.url + path for path in answers}),
            *("-s", "DEDUP_ACTION=tag", "-s", "CONCURRENT_REQUESTS=1", "-s", "LOG_LEVEL=INFO"),
            *arguments,
            before=no_file_grows_beyond_the_limit,
        )
        crawling.wait()
    return crawling


def test_no_item_is_lost_when_the_disk_is_full_and_the_store_works_again_with_room(
    tmp_path: Path,
) -> None:
    crawling = crawl(tmp_path)
    assert crawling.process.returncode == 0, crawling.log
    found = [item["dedup"] for item in items(tmp_path).values()]
    assert len(found) == PAGES
    decided = [result for result in found if result["status"] == "new"]
    failed = [result for result in found if result["reason"] == "error"]
    assert len(decided) >= 3
    assert len(failed) >= 3
    assert len(decided) + len(failed) == PAGES
    assert all(result["error"].startswith("StoreError: ") for result in failed)
    counted = stats(crawling.log)
    lines = [line for line in crawling.log.splitlines() if "Dedup failed for" in line]
    errors = int(counted["dedup/errors/StoreError"])
    assert len(failed) <= errors <= len(failed) + 1, "the end of the run may fail as well"
    (line,) = lines  # for all of them
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


def test_on_error_close_ends_the_crawl_and_keeps_the_failing_item(tmp_path: Path) -> None:
    crawling = crawl(tmp_path, "-s", "DEDUP_ON_ERROR=close", "-s", "DOWNLOAD_DELAY=0.1")
    counted = stats(crawling.log)
    assert counted["finish_reason"] == "dedup_error"
    found = [item["dedup"] for item in items(tmp_path).values()]
    assert counted["item_scraped_count"] == str(len(found))
    assert len(found) < PAGES
    assert len([result for result in found if result["reason"] == "error"]) >= 1
    assert "Traceback" not in crawling.log
    assert is_whole(tmp_path / "dedup.db")
