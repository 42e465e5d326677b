"""Stores that vanish or cannot be reached."""

from __future__ import annotations

import os
import socket
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from shingling import Page, Store
from shingling.errors import StoreError
from tests.plugin.faults.test_database import (
    count,
    crawl,
    decided,
    holding,
    make_pages,
    results,
    said,
    stored,
)
from tests.support.crawls import Crawling, Project, stats
from tests.support.pages import article
from tests.support.postgres import own_server

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.support.postgres import Server as Postgres


def put_another(store: Path) -> None:
    """Put another store in the place of one."""
    other = store.with_name("other.db")
    with Store.open(f"sqlite:///{other}") as opened:
        opened.check([Page("https://example.org/", article(99))])
    other.replace(store)


def delete_all(store: Path) -> None:
    for file in store.parent.glob(f"{store.name}*"):
        file.unlink()


GONE: dict[str, Callable[[Path], object]] = {
    "all files": delete_all,
    "moved": lambda store: store.rename(store.with_name("moved.db")),
    "replaced": put_another,
    "the log": lambda store: store.with_name(f"{store.name}-wal").unlink(),
    "the index of the log": lambda store: store.with_name(f"{store.name}-shm").unlink(),
}


@pytest.mark.parametrize("what", GONE)
def test_a_store_whose_files_vanish_decides_nothing_more(tmp_path: Path, what: str) -> None:
    store = tmp_path / "dedup.db"
    with Store.open(f"sqlite:///{store}") as opened:
        opened.check([Page("https://example.org/", article(1))])
        GONE[what](store)
        with pytest.raises(StoreError, match="was deleted, moved or replaced"):
            opened.check([Page("https://example.org/2", article(2))])


def test_no_item_is_lost_where_a_store_is_cut_off(tmp_path: Path) -> None:
    store = tmp_path / "dedup.db"
    with holding(make_pages(30), 15) as (server, held):
        with Store.open(f"sqlite:///{store}") as opened:
            opened.check([Page("https://example.org/", article(99))])
        crawling = crawl(tmp_path, server, f"sqlite:///{store}", delay=0.01)
        crawling.wait_for(lambda: stored(store) >= 10)
        os.truncate(store, 9000)
        held.let_go()
        assert crawling.wait() == 0, crawling.log
        urls = decided(server).keys()
    assert results(tmp_path).keys() == urls
    assert "Traceback" not in crawling.log


def test_a_lost_store_closes_the_crawl_where_errors_do(tmp_path: Path) -> None:
    store = tmp_path / "dedup.db"
    with holding(make_pages(60), 15) as (server, held):
        crawling = crawl(
            tmp_path, server, f"sqlite:///{store}", "-s", "DEDUP_ON_ERROR=close", delay=0.1
        )
        crawling.wait_for(lambda: stored(store) >= 10)
        store.unlink()
        held.let_go()
        assert crawling.wait() == 0, crawling.log
    counted, found = stats(crawling.log), results(tmp_path)
    assert counted["finish_reason"] == "dedup_error"
    assert counted["item_scraped_count"] == str(len(found))
    assert len(found) < 60
    assert any(f"{store}: the file was deleted" in line for line in said(crawling.log))
    assert "Traceback" not in crawling.log
    assert len([url for url, result in found.items() if result["status"] == "new"]) >= 3
    assert "error" in {result["reason"] for result in found.values()}, "what fails is kept as well"


@pytest.fixture(scope="module")
def postgres() -> Iterator[Postgres]:
    """A server of these tests alone."""
    with own_server() as server:
        yield server


def test_a_role_that_loses_its_rights_keeps_the_items_and_it_is_said_once(
    tmp_path: Path, postgres: Postgres
) -> None:
    with holding(make_pages(45), 15) as (server, held):
        name = postgres.database()
        postgres.run("CREATE ROLE crawler LOGIN")
        postgres.run(f"ALTER DATABASE {name} OWNER TO crawler")
        with Store.open(postgres.url(name)):  # whose tables are those of the administrator
            pass
        postgres.run("GRANT ALL ON ALL TABLES IN SCHEMA public TO crawler", name)
        postgres.run("GRANT ALL ON ALL SEQUENCES IN SCHEMA public TO crawler", name)
        url = postgres.url(name, "crawler")
        crawling = crawl(tmp_path, server, url, "-s", "LOG_LEVEL=DEBUG", delay=0.01)
        crawling.wait_for(lambda: count(postgres, name) >= 10)
        postgres.run("REVOKE ALL ON ALL TABLES IN SCHEMA public FROM crawler", name)
        held.let_go(30)
        crawling.wait_for(lambda: crawling.log.count("Dedup failed") >= 10)
        postgres.run("GRANT ALL ON ALL TABLES IN SCHEMA public TO crawler", name)
        held.let_go()
        assert crawling.wait() == 0, crawling.log
        urls = decided(server).keys()
    found = results(tmp_path)
    failed = [result["error"] for result in found.values() if result["reason"] == "error"]
    assert all("permission denied" in error for error in failed)
    failures = [line for line in said(crawling.log) if "Dedup failed for" in line]
    assert len(failures) == 1, failures
    assert "permission denied" in failures[0]
    assert "Traceback" not in crawling.log
    assert found.keys() == urls
    assert len(failed) >= 10
    assert stats(crawling.log)["dedup/errors/StoreError"] == str(len(failed))
    assert "error" not in {found[url]["reason"] for url in sorted(urls)[-10:]}


START_SPIDER = """
import scrapy

class Spider(scrapy.Spider):
    name = "spider"

    async def start(self):
        for number in range(3):
            yield {"url": f"https://example.org/{number}", "text": "a few words " * 30}
"""


@pytest.mark.parametrize("listens", [False, True], ids=["nobody listens", "nobody answers"])
def test_a_crawl_of_items_without_requests_ends_where_the_database_cannot_be_reached(
    tmp_path: Path, listens: bool
) -> None:
    pytest.importorskip("psycopg", reason="PostgreSQL needs psycopg 3")
    Project(tmp_path, START_SPIDER)
    with closing(socket.socket()) as place:
        place.bind(("127.0.0.1", 0))
        if listens:
            place.listen()
        url = f"postgresql://user:secret@127.0.0.1:{place.getsockname()[1]}/name"
        query = "?connect_timeout=2" if listens else ""
        crawling = Crawling(
            tmp_path, "-s", f"DEDUP_STORE_URL={url}{query}", "-s", "DEDUP_ACTION=tag"
        )
        assert crawling.wait(60) == 0, crawling.log
    # Scrapy 2.14 has ended the crawl by then.
    assert stats(crawling.log)["finish_reason"] in ("dedup_error", "finished")
    assert stats(crawling.log)["item_scraped_count"] == "3"
    (line,) = said(crawling.log)
    assert " ERROR: " in line
    assert "secret" not in crawling.log
