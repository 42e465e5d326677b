"""Databases that are locked, away, full, gone or not to be written: no item is lost."""

from __future__ import annotations

import os
import pwd
import resource
import shutil
import signal
import socket
import sqlite3
import subprocess
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager, suppress
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import make_url

from shingling import Page, Store
from shingling.errors import StoreError
from tests.support.crawls import LIST_SPIDER, REFUSED, Crawling, Project, items, listed, stats
from tests.support.invariants import verify, verify_store
from tests.support.pages import article
from tests.support.postgres import connect, own_server
from tests.support.processes import PATIENCE, so_within
from tests.support.serving import Answer, holding, page, serving
from tests.support.stores import execute, locked, rows_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.support.postgres import Server as Postgres
    from tests.support.serving import Server

ENDING = " with eight words that nobody else has written"
PAGES = """
    SELECT page.url, page.status, original.url FROM pages AS page
    LEFT JOIN pages AS original ON original.id = page.original_id
"""
AS_ROOT = os.getuid() == 0


def path_of(number: int) -> str:
    return f"/{number:03}"


def make_pages(count: int, words: int = 300) -> dict[str, Answer]:
    """Return articles by path; behind each come a copy and one that ends in other words."""
    made = {}
    for number in range(count):
        text = article(number // 3 + 1, words)
        near = text.rsplit(" ", 8)[0] + ENDING
        made[path_of(number)] = page(near if number % 3 == 2 else text)
    return made


def behind(number: int) -> Callable[[str], bool]:
    """Whether a path comes after so many pages."""
    return lambda path: path >= path_of(number)


def decided(server: Server) -> dict[str, tuple[str, str | None]]:
    """Return status and original of each page, by URL, as a crawl one by one decides them."""
    found: dict[str, tuple[str, str | None]] = {}
    for number in range(len(server.answers)):
        original = None if number % 3 == 0 else server.url + path_of(number // 3 * 3)
        status = ("new", "exact", "near")[number % 3]
        found[server.url + path_of(number)] = status, original
    return found


def crawl(
    folder: Path,
    server: Server,
    store: str,
    *arguments: str,
    delay: float = 0.05,
    patience: float | None = None,
    **options: Any,
) -> Crawling:
    """Start a crawl of all pages, one by one, that tags the items."""
    Project(folder, LIST_SPIDER)
    if patience is not None:
        settings = folder / "shop" / "settings.py"
        lines = ["from shingling.store.backends import base", f"base.MAX_WAIT_SECONDS = {patience}"]
        settings.write_text(settings.read_text() + "\n".join(lines))
    return Crawling(
        folder,
        *listed(folder, {path: server.url + path for path in server.answers}),
        *("-s", f"DEDUP_STORE_URL={store}", "-s", "DEDUP_ACTION=tag", "-s", "LOG_LEVEL=INFO"),
        *("-s", "CONCURRENT_REQUESTS=1", "-s", f"DOWNLOAD_DELAY={delay}", "-s", "DEDUP_WORKERS=0"),
        *arguments,
        **options,
    )


def results(folder: Path) -> dict[str, dict[str, Any]]:
    """Return the results of the items by URL."""
    return {item["url"]: item["dedup"] for item in items(folder).values()}


def said(log: str) -> list[str]:
    """Return the plugin's warnings and errors in the log."""
    return [
        line
        for line in log.splitlines()
        if " [shingling" in line and (" WARNING: " in line or " ERROR: " in line)
    ]


def stored(store: Path, table: str = "pages") -> int:
    """Return the number of rows in a store that a crawl may be making."""
    try:
        return int(rows_of(store, f"SELECT count(*) FROM {table}")[0][0]) if store.exists() else 0
    except sqlite3.OperationalError:
        return 0


def test_pages_of_a_store_that_stays_locked_are_kept_and_later_ones_decided(tmp_path: Path) -> None:
    store = tmp_path / "dedup.db"
    with holding(make_pages(75), behind(15)) as (server, held):
        crawling = crawl(
            tmp_path, server, f"sqlite:///{store}", "-s", "LOG_LEVEL=DEBUG", patience=3
        )
        crawling.wait_for(lambda: stored(store) >= 5)
        with locked(store):
            before = stored(store)
            held.let_go(behind(60))
            crawling.wait_for(lambda: crawling.log.count("Dedup failed") > 5)
        held.let_go()
        assert crawling.wait() == 0, crawling.log
        urls = [server.url + path for path in server.answers]
    found = results(tmp_path)
    assert sorted(found) == urls
    statuses = [found[url]["status"] for url in urls]
    kept = [found[url] for url in urls if found[url]["reason"] == "error"]
    first = statuses.index("skipped")
    assert first == before
    assert statuses[first : first + len(kept)] == ["skipped"] * len(kept), "nobody in between"
    assert set(statuses[:first]) == {"new", "exact", "near"}
    assert set(statuses[first + len(kept) :]) == {"new", "exact", "near"}
    assert all(result["error"].startswith("StoreUnavailableError: ") for result in kept)
    assert stats(crawling.log)["dedup/errors/StoreUnavailableError"] == str(len(kept))
    lines = said(crawling.log)
    assert len([line for line in lines if "Dedup failed for http" in line]) == 1, "once"
    assert crawling.log.count("trying again") <= 1, "only the first one waits"
    assert crawling.log.count("Dedup failed for http") == len(kept)
    assert [line for line in lines if line.endswith(": works again")] == lines[-1:]
    assert "Traceback" not in crawling.log
    assert stored(store) == len(urls) - len(kept)
    verify(store)


@pytest.fixture(scope="module")
def server_to_stop() -> Iterator[Postgres]:
    with own_server() as server:
        yield server


@pytest.fixture
def postgres(server_to_stop: Postgres) -> Iterator[Postgres]:
    """A server of these tests alone, which is there again after each."""
    yield server_to_stop
    if not server_to_stop.answers():
        server_to_stop.start()


def count(postgres: Postgres, database: str) -> int:
    """Return the number of pages in a store that a crawl may be making."""
    ((there,),) = postgres.run("SELECT to_regclass('pages') IS NOT NULL", database)
    return int(postgres.run("SELECT count(*) FROM pages", database)[0][0]) if there else 0


# What runs have counted, and what they have stored, is written together.
MISCOUNTED = """
    SELECT runs.id, counts, count(pages.id) FROM runs LEFT JOIN pages ON run_id = runs.id
    GROUP BY runs.id HAVING count(pages.id) <> coalesce((counts::json ->> 'new')::int, 0)
    + coalesce((counts::json ->> 'exact')::int, 0) + coalesce((counts::json ->> 'near')::int, 0)
    + coalesce((counts::json ->> 'skipped')::int, 0)
"""
WITHOUT_TEXT = """
    SELECT url FROM pages LEFT JOIN texts ON page_id = id
    WHERE page_id IS NULL AND status <> 'exact'
"""


def check_store(postgres: Postgres, database: str, *, counts: bool = True) -> None:
    """Check a store of pages with texts, and whether every verdict on them has arrived."""
    verify_store(postgres.url(database))
    assert postgres.run(WITHOUT_TEXT, database) == []
    assert not counts or postgres.run(MISCOUNTED, database) == []


@contextmanager
def crashed(postgres: Postgres) -> Iterator[None]:
    """Have the server end all sessions, and not recover as long as one of them does not end."""
    processes = "SELECT pid FROM pg_stat_activity WHERE backend_type = 'walwriter'"
    ((process,),) = postgres.run(processes)
    with closing(connect(make_url(postgres.url()))) as session:
        os.kill(session.info.backend_pid, signal.SIGSTOP)
        os.kill(process, signal.SIGKILL)
        try:
            yield
        finally:
            with suppress(ProcessLookupError):  # the server has killed it
                os.kill(session.info.backend_pid, signal.SIGCONT)
    assert so_within(PATIENCE, postgres.answers)


def test_a_crawl_goes_on_when_postgresql_is_back(tmp_path: Path, postgres: Postgres) -> None:
    database = postgres.database()
    with holding(make_pages(90), behind(15)) as (server, held):
        crawling = crawl(tmp_path, server, postgres.url(database), patience=PATIENCE)

        def wait_for(pages: int) -> None:
            crawling.wait_for(lambda: count(postgres, database) >= pages)

        wait_for(5)
        postgres.stop("fast")
        asked = len(server.asked)
        held.let_go(behind(30))
        crawling.wait_for(lambda: "trying again" in crawling.log)
        # Pages are fetched meanwhile.
        crawling.wait_for(lambda: len(server.asked) > asked + 5)
        postgres.start()
        check_store(postgres, database)
        wait_for(30)
        held.let_go(behind(60))
        wait_for(35)
        with crashed(postgres):
            # After five seconds, the server ends that session as well.
            so_within(4, lambda: len(said(crawling.log)) > 2)
        wait_for(60)
        held.let_go()
        wait_for(65)
        postgres.stop("immediate")
        postgres.start()
        assert crawling.wait() == 0, crawling.log
        expected = decided(server)
    lines = said(crawling.log)
    assert 2 <= len(lines) <= 6, "nothing is said of less than two seconds"
    for waiting, again in zip(lines[::2], lines[1::2], strict=True):
        assert f"{database}?" in waiting
        assert f"; trying again for {PATIENCE} s" in waiting
        assert again.endswith(": works again")
    found = {url: (one["status"], one["original"]) for url, one in results(tmp_path).items()}
    assert found.keys() == expected.keys()
    # Where the server has committed and could not say so any more, a page is decided again.
    repeated = {url for url, (status, _) in found.items() if status == "unchanged"}
    assert len(repeated) < len(expected) / 3
    assert {found[url] == expected[url] for url in expected.keys() - repeated} == {True}
    in_store = {url: (status, head) for url, status, head in postgres.run(PAGES, database)}
    assert in_store == expected
    check_store(postgres, database, counts=not repeated)


@pytest.fixture(scope="module")
def crawler(server_to_stop: Postgres) -> str:
    """A user who is not the administrator, and needs a password."""
    server_to_stop.run("CREATE ROLE crawler LOGIN PASSWORD 'secret'")
    rules = server_to_stop.folder / "pg_hba.conf"
    rules.write_text("local all crawler scram-sha-256\n" + rules.read_text())
    server_to_stop.run("SELECT pg_reload_conf()")
    return "crawler"


def test_a_store_waits_while_all_connections_are_taken(postgres: Postgres, crawler: str) -> None:
    database = postgres.database()
    postgres.run(f"ALTER DATABASE {database} OWNER TO {crawler}")
    administrator = postgres.url(database)
    ordinary = postgres.url(database, crawler, "secret")
    with (
        Store.open(ordinary) as first,
        Store.open(administrator) as second,
        restarted(postgres, max_connections="4", superuser_reserved_connections="1"),
    ):
        # The last connection is not for everybody; then the first store holds one.
        for store in (first, second):
            with ExitStack() as others:
                for _ in range(3):
                    others.enter_context(closing(connect(make_url(administrator))))
                check_waits(store, others.close)


def check_waits(store: Store, let_go: Callable[[], object]) -> None:
    """Check that a page is decided, but not before something is done."""
    with ThreadPoolExecutor(1) as thread:
        checking = thread.submit(store.check, [Page("https://example.org/", article(1))])
        try:
            early = so_within(0.5, checking.done)
        finally:
            let_go()
        (verdict,) = checking.result(PATIENCE)
    assert not early
    assert verdict.status in ("new", "unchanged")


@contextmanager
def restarted(postgres: Postgres, **settings: str) -> Iterator[None]:
    """Have the server run with other settings for a while."""
    postgres.configure(**settings)
    postgres.stop()
    postgres.start()
    try:
        yield
    finally:
        postgres.configure(**dict.fromkeys(settings, "DEFAULT"))
        postgres.stop()
        postgres.start()


@pytest.fixture
def small_disk(tmp_path: Path, postgres: Postgres) -> Iterator[Path]:
    """A folder that takes 2 MB, in which the server may write."""
    if not AS_ROOT:
        pytest.skip("nothing can be mounted here")
    owner = pwd.getpwnam(postgres.user).pw_uid if postgres.user else os.getuid()
    folder = postgres.folder / "small"
    folder.mkdir()
    options = f"size=2m,mode=0700,uid={owner}"
    mounting = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", f"{folder}"]
    if subprocess.run(mounting, stderr=subprocess.DEVNULL).returncode:
        folder.rmdir()
        pytest.skip("nothing can be mounted here")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", f"{folder}"], check=True)


def decide_all(store: Store, pages: list[Page]) -> list[str]:
    """Return the statuses of pages that are decided one by one."""
    return [store.check([page])[0].status for page in pages]


def test_a_full_disk_of_postgresql_is_an_error_until_there_is_room(
    postgres: Postgres, small_disk: Path
) -> None:
    database = postgres.database()
    postgres.run(f"CREATE TABLESPACE small LOCATION '{small_disk}'")
    postgres.run(f"ALTER DATABASE {database} SET default_tablespace = small")
    pages = [Page(f"https://example.org/{number}", article(number, 3000)) for number in range(60)]
    with Store.open(postgres.url(database)) as store:
        ballast = small_disk / "ballast"
        ballast.write_bytes(bytes(shutil.disk_usage(small_disk).free - 400_000))
        with pytest.raises(StoreError, match="No space left on device"):
            decide_all(store, pages)
        done = count(postgres, database)
        ballast.unlink()
        assert done > 0
        assert decide_all(store, pages) == ["unchanged"] * done + ["new"] * (60 - done)
    check_store(postgres, database)
    postgres.run(f"DROP DATABASE {database}")
    postgres.run("DROP TABLESPACE small")


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
        with pytest.raises(StoreError, match="was deleted, moved, replaced") as refused:
            opened.check([Page("https://example.org/2", article(2))])
    assert f"delete {store}-wal and {store}-shm" in str(refused.value)


def test_a_store_whose_log_was_cut_is_refused_when_it_is_opened_next(tmp_path: Path) -> None:
    store = tmp_path / "dedup.db"
    with Store.open(f"sqlite:///{store}") as opened:
        opened.check(
            [Page(f"https://example.org/{number}", article(number)) for number in range(9)]
        )
        os.truncate(f"{store}-wal", 0)
        opened.check([Page("https://example.org/", article(10))])  # SQLite sees nothing of it
    with pytest.raises(StoreError, match=r"damaged .*: restore a backup|not a SQLite"):
        Store.open(f"sqlite:///{store}")


def fill_disk(store: Path, crawling: Crawling) -> None:
    """Let no file of the crawl grow beyond the size of its store."""
    limits = store.stat().st_size, resource.RLIM_INFINITY
    resource.prlimit(crawling.process.pid, resource.RLIMIT_FSIZE, limits)


def cut_off(store: Path, _: Crawling) -> None:
    execute(store, "PRAGMA wal_checkpoint(TRUNCATE)")
    os.truncate(store, 9000)


SPOILED = {"full": fill_disk, "cut off": cut_off}


@pytest.mark.parametrize("what", SPOILED)
def test_no_item_is_lost_where_a_disk_is_full_or_a_store_is_cut_off(
    tmp_path: Path, what: str
) -> None:
    store = tmp_path / "dedup.db"
    with holding(make_pages(30), behind(15)) as (server, held):
        with Store.open(f"sqlite:///{store}") as opened:
            opened.check([Page("https://example.org/", article(99))])
        crawling = crawl(tmp_path, server, f"sqlite:///{store}", delay=0.01)
        crawling.wait_for(lambda: stored(store) >= 10)
        SPOILED[what](store, crawling)
        held.let_go()
        assert crawling.wait() == 0, crawling.log
        urls = decided(server).keys()
    found = results(tmp_path)
    assert found.keys() == urls
    assert {"new", "exact", "near"} < {result["status"] for result in found.values()}
    assert "error" in {result["reason"] for result in found.values()}
    assert "Traceback" not in crawling.log


def test_a_lost_store_closes_the_crawl_where_errors_do(tmp_path: Path) -> None:
    store = tmp_path / "dedup.db"
    with holding(make_pages(60), behind(15)) as (server, held):
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


def test_a_role_that_loses_its_rights_keeps_the_items_and_it_is_said_once(
    tmp_path: Path, postgres: Postgres
) -> None:
    with holding(make_pages(45), behind(15)) as (server, held):
        name = postgres.database()
        postgres.run("CREATE ROLE restricted LOGIN")
        postgres.run(f"ALTER DATABASE {name} OWNER TO restricted")
        with Store.open(postgres.url(name)):  # whose tables are those of the administrator
            pass
        postgres.run("GRANT ALL ON ALL TABLES IN SCHEMA public TO restricted", name)
        postgres.run("GRANT ALL ON ALL SEQUENCES IN SCHEMA public TO restricted", name)
        url = postgres.url(name, "restricted")
        crawling = crawl(tmp_path, server, url, "-s", "LOG_LEVEL=DEBUG", delay=0.01)
        crawling.wait_for(lambda: count(postgres, name) >= 10)
        postgres.run("REVOKE ALL ON ALL TABLES IN SCHEMA public FROM restricted", name)
        held.let_go(behind(30))
        crawling.wait_for(lambda: crawling.log.count("Dedup failed") >= 10)
        postgres.run("GRANT ALL ON ALL TABLES IN SCHEMA public TO restricted", name)
        held.let_go()
        assert crawling.wait() == 0, crawling.log
        urls = decided(server).keys()
    found = results(tmp_path)
    failed = [result["error"] for result in found.values() if result["reason"] == "error"]
    assert all("permission denied" in error for error in failed)
    failures = [line for line in said(crawling.log) if "Dedup failed for" in line]
    assert len(failures) in (1, 2), failures  # a page that was under way may be decided in between
    assert all("permission denied" in line for line in failures)
    assert "Traceback" not in crawling.log
    assert found.keys() == urls
    assert len(failed) >= 10
    assert stats(crawling.log)["dedup/errors/StoreError"] == str(len(failed))
    assert "error" not in {found[url]["reason"] for url in sorted(urls)[-10:]}


def test_a_database_that_is_read_only_by_default_is_not_written_to(
    tmp_path: Path, postgres: Postgres
) -> None:
    name = postgres.database()
    with Store.open(postgres.url(name)) as store:
        store.check([Page("https://example.org/", article(1))])
    postgres.run(f"ALTER DATABASE {name} SET default_transaction_read_only = on")
    with Store.open(postgres.url(name), create=False) as store:
        assert store.status().pages == 1
        with pytest.raises(StoreError, match="read-only transaction"):
            store.check([Page("https://example.org/2", article(2))])
    with serving(make_pages(3)) as server:
        crawling = crawl(tmp_path, server, postgres.url(name))
        crawling.wait()
    [line] = [line for line in said(crawling.log) if "read-only" in line]
    assert "Dedup cannot start, nothing is fetched" in line
    assert count(postgres, name) == 1


DAMAGE = (
    "UPDATE pages SET minima = substr(minima, 1, 300) WHERE id IN (1, 8)",
    "UPDATE texts SET zlib = substr(zlib, 1, 60) WHERE page_id = 4",
    "UPDATE pages SET text_hash = substr(text_hash, 1, 5) WHERE id IN (13, 14, 15)",
)


def test_a_page_whose_decision_fails_by_a_damaged_row_is_kept(tmp_path: Path) -> None:
    store, answers = tmp_path / "dedup.db", make_pages(15)
    with serving(answers) as former, serving(answers) as server:
        for folder, site in ((tmp_path / "first", former), (tmp_path / "second", server)):
            folder.mkdir()
            crawling = crawl(folder, site, f"sqlite:///{store}", delay=0)
            assert crawling.wait() == 0, crawling.log
            if site is former:
                execute(store, *DAMAGE)
        paths = [server.url + path for path in answers]
    found = results(tmp_path / "second")
    assert sorted(found) == paths
    reasons = Counter(result["reason"] for result in found.values())
    assert 0 < reasons["error"] < len(paths)


START_SPIDER = """
import scrapy

class Spider(scrapy.Spider):
    name = "spider"

    async def start(self):
        for number in range(3):
            yield {"url": f"https://example.org/{number}", "text": "a few words " * 30}
"""


@pytest.mark.parametrize("listens", [False, True], ids=["nobody listens", "nobody answers"])
def test_a_crawl_does_not_start_where_the_database_cannot_be_reached(
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
        assert crawling.wait() == REFUSED, crawling.log
    assert "item_scraped_count" not in stats(crawling.log)
    (line,) = said(crawling.log)
    assert "Dedup cannot start, nothing is fetched: postgresql+psycopg://user:***@" in line
    assert "secret" not in crawling.log
    assert crawling.all_gone()


NO_THREAD = """
import threading

start = threading.Thread.start

def refuse(thread):
    if "dedup-store" in thread.name:
        raise RuntimeError("no thread")
    start(thread)

threading.Thread.start = refuse
"""
NO_MEMORY = """
from shingling.plugin.items import store_thread

store_thread._LEAST_MEMORY_BYTES = 1 << 60
"""


@pytest.mark.parametrize(("patch", "said_why"), [(NO_THREAD, "no thread"), (NO_MEMORY, "MemoryE")])
def test_a_crawl_that_gets_too_little_memory_ends_with_one_line(
    tmp_path: Path, patch: str, said_why: str
) -> None:
    Project(tmp_path, patch + START_SPIDER)
    crawling = Crawling(tmp_path, "-s", "DEDUP_ACTION=tag")
    assert crawling.wait() == REFUSED, crawling.log
    (line,) = said(crawling.log)
    assert f"Dedup cannot start, nothing is fetched: {said_why}" in line
    assert crawling.all_gone()
