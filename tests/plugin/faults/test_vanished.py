"""Stores that disappear while a crawl uses them: it is noticed at once, and no page is lost."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

import pytest

from shingling import Page, Store
from tests.plugin.faults.test_database import (
    PAGES,
    content,
    count,
    crawl,
    decided,
    holding,
    make_pages,
    results,
    said,
    stored,
    verdicts,
)
from tests.support.crawls import stats
from tests.support.invariants import verify
from tests.support.pages import article
from tests.support.postgres import own_server
from tests.support.stores import rows_of

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
    "the file": lambda store: store.unlink(),
    "all files": delete_all,
    "moved": lambda store: store.rename(store.with_name("moved.db")),
    "the log": lambda store: store.with_name(f"{store.name}-wal").unlink(),
    "the index of the log": lambda store: store.with_name(f"{store.name}-shm").unlink(),
}


@pytest.mark.parametrize("what", GONE)
def test_a_deleted_store_is_written_again_with_all_its_pages(tmp_path: Path, what: str) -> None:
    store = tmp_path / "dedup.db"
    with holding(make_pages(45), 15) as (server, held):
        crawling = crawl(tmp_path, server, f"sqlite:///{store}", delay=0.01)
        crawling.wait_for(lambda: stored(store) >= 10)
        GONE[what](store)
        held.let_go(30)
        crawling.wait_for(lambda: "Dedup lost its store" in crawling.log, 10)
        crawling.wait_for(lambda: stored(store) >= 20)
        held.let_go()
        assert crawling.wait() == 0, crawling.log
        expected = decided(server)
    assert verdicts(tmp_path) == expected
    assert {url: (status, head) for url, status, head in rows_of(store, PAGES)} == expected
    lost, *_ = said(crawling.log)
    assert " ERROR: " in lost
    assert f"{store}" in lost
    assert "Traceback" not in crawling.log
    assert rows_of(store, "SELECT spider, outcome FROM runs") == [("spider", "finished")]
    verify(store)


def test_a_deleted_folder_keeps_items_and_the_store_is_written_when_it_is_back(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "stores"
    folder.mkdir()
    store = folder / "dedup.db"
    with holding(make_pages(45), 15) as (server, held):
        crawling = crawl(
            tmp_path, server, f"sqlite:///{store}", "-s", "LOG_LEVEL=DEBUG", delay=0.01
        )
        crawling.wait_for(lambda: stored(store) >= 10)
        shutil.rmtree(folder)
        held.let_go(30)
        crawling.wait_for(lambda: crawling.log.count("Dedup failed") >= 5, 10)
        folder.mkdir()
        held.let_go()
        assert crawling.wait() == 0, crawling.log
        urls = decided(server).keys()
    found = results(tmp_path)
    assert found.keys() == urls
    failed = {url for url, result in found.items() if result["reason"] == "error"}
    assert len(failed) >= 5
    assert {url for url, *_ in rows_of(store, PAGES)} == urls - failed
    assert f"{folder}: the folder does not exist" in found[min(failed)]["error"] or (
        f"{store}: the folder does not exist" in found[min(failed)]["error"]
    )
    assert "Traceback" not in crawling.log
    verify(store)


def test_a_replaced_store_is_used_as_it_is_and_it_is_said_what_is_not_known_any_more(
    tmp_path: Path,
) -> None:
    store = tmp_path / "dedup.db"
    with holding(make_pages(45), 15) as (server, held):
        crawling = crawl(tmp_path, server, f"sqlite:///{store}", delay=0.01)
        crawling.wait_for(lambda: stored(store) >= 10)
        put_another(store)
        held.let_go()
        assert crawling.wait() == 0, crawling.log
        urls = decided(server).keys()
    assert results(tmp_path).keys() == urls
    assert "skipped" not in {result["status"] for result in results(tmp_path).values()}
    lost, lost_pages = said(crawling.log)
    assert " ERROR: " in lost
    assert "replaced by another one" in lost
    assert " ERROR: " in lost_pages
    assert "not known any more" in lost_pages
    kept = {url for url, *_ in rows_of(store, PAGES)}
    assert "https://example.org/" in kept
    originals = {url for url, result in results(tmp_path).items() if result["status"] == "new"}
    assert kept & originals
    assert "Traceback" not in crawling.log
    verify(store)


def test_a_store_that_is_cut_off_is_an_error_of_every_page_and_no_item_is_lost(
    tmp_path: Path,
) -> None:
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
    assert any("was cut off" in line for line in said(crawling.log))
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
    assert stats(crawling.log)["finish_reason"] == "dedup_error"
    assert len(results(tmp_path)) < 60
    assert any(f"{store}: the file is gone" in line for line in said(crawling.log))
    assert "Traceback" not in crawling.log
    decided_before = [url for url, found in results(tmp_path).items() if found["status"] == "new"]
    assert len(decided_before) >= 3
    assert {url for url, *_ in rows_of(store, PAGES)} >= {*decided_before}
    verify(store)


@pytest.fixture(scope="module")
def postgres() -> Iterator[Postgres]:
    """A server of these tests alone."""
    with own_server() as server:
        yield server


def test_a_dropped_database_keeps_items_and_the_store_is_made_again_when_it_is_back(
    tmp_path: Path, postgres: Postgres
) -> None:
    with holding(make_pages(60), 15) as (server, held):
        name = postgres.database()
        crawling = crawl(tmp_path, server, postgres.url(name), "-s", "LOG_LEVEL=DEBUG", delay=0.01)
        crawling.wait_for(lambda: count(postgres, name) >= 10)
        postgres.run(f"DROP DATABASE {name} WITH (FORCE)")
        held.let_go(30)
        crawling.wait_for(lambda: crawling.log.count("Dedup failed") >= 5, 20)
        postgres.run(f"CREATE DATABASE {name}")
        held.let_go(45)
        crawling.wait_for(lambda: count(postgres, name) >= 10)
        tables = "SELECT string_agg(quote_ident(tablename), ',') FROM pg_tables"
        ((names,),) = postgres.run(f"{tables} WHERE schemaname = 'public'", name)
        postgres.run(f"DROP TABLE {names} CASCADE", name)
        held.let_go()
        assert crawling.wait() == 0, crawling.log
        urls = decided(server).keys()
        found = results(tmp_path)
        assert found.keys() == urls
        assert len(content(postgres, name)) >= 10
    assert crawling.log.count("Dedup lost its store") == 2
    assert crawling.log.count("are not known any more") == 2
    assert {found[url]["status"] for url in sorted(urls)[-10:]} <= {"new", "exact", "near"}
    assert "Traceback" not in crawling.log


@pytest.mark.parametrize("on_error", ["keep", "close"])
def test_a_role_that_loses_its_rights_keeps_the_items_and_it_is_said_once(
    tmp_path: Path, postgres: Postgres, on_error: str
) -> None:
    with holding(make_pages(45), 15) as (server, held):
        name = postgres.database()
        role = f"crawler_{on_error}"
        postgres.run(f"CREATE ROLE {role} LOGIN")
        postgres.run(f"ALTER DATABASE {name} OWNER TO {role}")
        with Store.open(postgres.url(name)):  # whose tables are those of the administrator
            pass
        postgres.run(f"GRANT ALL ON ALL TABLES IN SCHEMA public TO {role}", name)
        postgres.run(f"GRANT ALL ON ALL SEQUENCES IN SCHEMA public TO {role}", name)
        crawling = crawl(
            *(tmp_path, server, postgres.url(name, role)),
            *("-s", f"DEDUP_ON_ERROR={on_error}", "-s", "LOG_LEVEL=DEBUG"),
            delay=0.01,
        )
        crawling.wait_for(lambda: count(postgres, name) >= 10)
        postgres.run(f"REVOKE ALL ON ALL TABLES IN SCHEMA public FROM {role}", name)
        held.let_go(30)
        crawling.wait_for(lambda: "Dedup failed" in crawling.log)
        if on_error == "keep":
            crawling.wait_for(lambda: crawling.log.count("Dedup failed") >= 10)
            postgres.run(f"GRANT ALL ON ALL TABLES IN SCHEMA public TO {role}", name)
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
    if on_error == "close":
        assert stats(crawling.log)["finish_reason"] == "dedup_error"
        assert len(found) == int(stats(crawling.log)["item_scraped_count"])
        return
    assert found.keys() == urls
    assert len(failed) >= 10
    assert stats(crawling.log)["dedup/errors/StoreError"] == str(len(failed))
    assert "error" not in {found[url]["reason"] for url in sorted(urls)[-10:]}


def test_a_dropped_schema_keeps_items_and_the_store_is_made_again_when_it_is_back(
    tmp_path: Path, postgres: Postgres
) -> None:
    with holding(make_pages(60), 15) as (server, held):
        name = postgres.database()
        postgres.run("CREATE SCHEMA shop", name)
        postgres.run(f"ALTER DATABASE {name} SET search_path = shop")
        crawling = crawl(tmp_path, server, postgres.url(name), delay=0.01)
        crawling.wait_for(lambda: count(postgres, name) >= 10)
        postgres.run("DROP SCHEMA shop CASCADE", name)
        held.let_go(30)
        crawling.wait_for(lambda: len(server.asked) > 29)
        crawling.wait_for(lambda: "Dedup failed" in crawling.log)
        postgres.run("CREATE SCHEMA shop", name)
        held.let_go()
        assert crawling.wait() == 0, crawling.log
        urls = decided(server).keys()
        found = results(tmp_path)
        assert found.keys() == urls
        assert len(content(postgres, name)) >= 10
    lost, failed, made = said(crawling.log)
    assert "Dedup lost its store" in lost
    assert "Dedup failed for" in failed
    assert "are not known any more" in made
    assert {found[url]["status"] for url in sorted(urls)[-10:]} <= {"new", "exact", "near"}
    assert "Traceback" not in crawling.log
