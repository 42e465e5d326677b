"""A batch is stored as a whole or not at all, whatever happens to the process or the disk."""

from __future__ import annotations

import resource
import shutil
import signal
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

import shingling.store.backends.base
import shingling.store.backends.sqlite
import shingling.store.decide.check
from shingling import Page, Rules, Scheme, Store, Verdict, sign
from shingling.errors import SchemeError, StoreError, StoreUnavailableError
from shingling.store.decide.meet import meet
from tests.store.decide.templates.pages import A, footer, pages_of
from tests.support.installed import ROOT
from tests.support.invariants import ending, entries_of, groups_of, text, verify, words
from tests.support.processes import run_fork
from tests.support.stores import (
    all_rows,
    break_table,
    is_postgres,
    locked,
    mend_table,
    postgres_only,
    rows_of,
    session_of,
    sqlite_only,
    url_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from shingling.store.schema.rows import Row


FIRST = Page("first", text(words("first")))


@pytest.fixture
def store(file: Path) -> Iterator[Store]:
    with Store.open(url_of(file)) as opened:
        opened.check([FIRST])
        yield opened
    verify(file)


def some_pages(count: int) -> list[Page]:
    """Return pages with a near duplicate, a copy, and a change of every fifth."""
    pages = []
    for number in range(count // 5):
        base = words(number, 80)
        near = text(ending(base, number, 4))
        url = f"https://example.org/{number}"
        pages += [
            Page(url, text(base), fetched=number),
            Page(f"{url}/near", near, fetched=number),
            Page(f"{url}/copy", near, fetched=number),
            Page(f"{url}/other", text(words(f"other {number}", 60)), fetched=number),
            Page(f"{url}/short", text(words(number % 7, 9)), fetched=number),
        ]
    return pages


def test_a_signature_of_another_scheme_stores_nothing_of_a_batch(store: Store, file: Path) -> None:
    before = all_rows(file)
    pages = some_pages(10)
    other = sign("some words", Scheme(shingle_size=2))
    pages[6] = Page("bad", signature=other)
    with pytest.raises(SchemeError, match=other.scheme):
        store.check(pages)
    with pytest.raises(SchemeError, match=other.scheme):
        store.similar(other)
    assert all_rows(file) == before


@pytest.mark.parametrize("where", ["decide", "pages", "bands", "texts"])
def test_an_error_in_the_middle_of_a_batch_stores_and_teaches_nothing_of_it(
    store: Store, file: Path, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    changed = Page("first", text(words("changed")))
    pages = [changed, *pages_of(A, 3, footer(A)), *some_pages(50)]
    run = store.start_run("spider")
    decided: list[tuple[Verdict, list[Row]]] = []

    def failing(*arguments: object) -> tuple[Verdict, list[Row]]:
        if len(decided) == 5:
            raise KeyboardInterrupt
        decided.append(meet(*arguments))  # type: ignore[arg-type]
        return decided[-1]

    if where == "decide":
        monkeypatch.setattr(shingling.store.decide.check, "meet", failing)
    else:
        where = "recent" if where == "bands" and not is_postgres(file) else where
        rows = 0 if where == "recent" else 20  # the keys of a batch are one row there
        break_table(file, "AFTER INSERT", where, f"(SELECT count(*) FROM {where}) > {rows}")
    before = all_rows(file)
    with pytest.raises((KeyboardInterrupt, StoreError)) as raised:
        store.check(pages, run=run)
    assert all_rows(file) == before
    assert run.counts == {}
    if where == "decide":
        monkeypatch.undo()
    else:
        assert str(raised.value) == f"{store.url}: no more"
        mend_table(file, where)
    with Store.open(url_of(file.with_stem("whole"))) as whole:
        whole.check([FIRST])
        assert told(store.check(pages, run=run)) == told(whole.check(pages))
    assert run.counts.pop("changed_pages") == 1
    assert run.counts.total() == len(pages)


def told(verdicts: list[Verdict]) -> list[tuple[Verdict, float | None]]:
    """Return verdicts, and what was left out of each page, without numbers that may be skipped."""
    return [(replace(verdict, page_id=None), verdict.template) for verdict in verdicts]


def test_an_interrupted_forget_removes_nothing(store: Store, file: Path) -> None:
    store.check(some_pages(20))
    break_table(file, "BEFORE DELETE", "pages", "old.url LIKE '%/2'")
    before = all_rows(file)
    with pytest.raises(StoreError, match=r"no more$"):
        store.admin.forget(site="example.org")
    assert all_rows(file) == before


@pytest.mark.parametrize("decide_again", [False, True])
def test_a_rebuild_that_fails_at_its_end_leaves_the_store_as_it_was(
    store: Store, file: Path, decide_again: bool
) -> None:
    store.check(some_pages(50))
    before, groups = all_rows(file), groups_of(file)
    entries = entries_of(file, "bands")

    def rebuild() -> object:
        rules = Rules(threshold=0.95)
        return store.admin.redecide(rules) if decide_again else store.admin.rebuild(rules=rules)

    break_table(file, "BEFORE UPDATE", "scheme", "new.rows = 14")
    with pytest.raises(StoreError, match=r"no more$"):
        rebuild()
    mend_table(file, "scheme")
    assert all_rows(file) == before
    assert entries_of(file, "bands") == entries
    verify(file)
    assert rebuild()
    assert store.status().index.rows == 14
    assert (groups_of(file) == groups) != decide_again
    verify(file)
    assert store.check([Page("late", text(words("late")))], 0.95)[0].status == "new"


KILLED = """
import os, signal, sys
from shingling import Rules, Store

def killed(done, total):
    if done >= int(sys.argv[2]):
        os.kill(os.getpid(), signal.SIGKILL)

with Store.open(sys.argv[1]) as store:
    store.admin.redecide(Rules(threshold=0.95), progress=killed)
"""


def test_a_rebuild_that_is_killed_leaves_the_store_as_it_was_and_nobody_waits(file: Path) -> None:
    with Store.open(url_of(file)) as store:
        store.check(some_pages(300))
    before = all_rows(file)
    for done in ("0", "150", "300"):
        assert run_fork(ROOT, "-c", KILLED, url_of(file), done).returncode == -signal.SIGKILL
        assert all_rows(file) == before
    verify(file)
    with Store.open(url_of(file)) as store:
        assert store.check([Page("late", text(words("late")))])[0].status == "new"
        assert store.admin.redecide(Rules(threshold=0.95)).to_original
    verify(file)


def test_a_dry_run_lets_others_write_and_changes_nothing(file: Path) -> None:
    with Store.open(url_of(file)) as store, Store.open(url_of(file)) as crawl:
        store.check(some_pages(50))
        before = [rows_of(file, f"SELECT * FROM {name}") for name in ("pages", "rules", "scheme")]

        def check(done: int, _: int) -> None:
            crawl.check([Page(f"late {done}", text(words(f"late {done}")))])

        made = store.admin.redecide(Rules(threshold=0.95), dry_run=True, progress=check)
        assert made.to_original
        after = [rows_of(file, f"SELECT * FROM {name}") for name in ("pages", "rules", "scheme")]
        assert [*map(len, after)] == [len(before[0]) + 2, *map(len, before[1:])]
        assert made.pages == len(before[0])
    verify(file)


@sqlite_only
def test_a_loss_of_power_costs_the_last_batches_and_nothing_before_them(file: Path) -> None:
    """What is not yet in the file is in a log, which SQLite syncs now and then."""
    pages = some_pages(280)
    lost = file.with_stem("lost")
    log, lost_log = (one.with_name(f"{one.name}-wal") for one in (file, lost))
    counts = []
    with Store.open(url_of(file)) as store:
        with store._session.reading() as connection:
            modes = [connection.exec_driver_sql(f"PRAGMA {one}").scalar() for one in _MODES]
        assert modes == ["wal", 1, 4096]
        for start in range(0, len(pages), 8):
            store.check(pages[start : start + 8])
        size = log.stat().st_size
        for share in (0.4, 0.7, 0.95, 1):
            shutil.copyfile(file, lost)
            lost_log.write_bytes(log.read_bytes()[: int(share * size)])
            verify(lost)
            stored = rows_of(lost, "SELECT url FROM pages ORDER BY id")
            assert [url for (url,) in stored] == [page.url for page in pages[: len(stored)]]
            assert len(stored) % 8 == 0
            counts.append(len(stored))
            lost.with_name(f"{lost.name}-shm").unlink(missing_ok=True)
    assert 0 < counts[0] < counts[-1] == len(pages)


_MODES = ("journal_mode", "synchronous", "wal_autocheckpoint")
FILLER = """
import resource, signal, sys
from shingling import Store
from shingling.errors import StoreError
from tests.store.backends.test_atomic import some_pages
pages = some_pages(4000)
with Store.open(sys.argv[1]) as store:
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (700_000, resource.RLIM_INFINITY))
    done = 0
    try:
        for start in range(0, len(pages), 15):
            store.check(pages[start : start + 15])
            done += 15
    except StoreError as error:
        print(done, error)
    try:
        store.check(pages[done : done + 15])
    except StoreError:
        print("again")
    print([page.url for page in store.pages(limit=1)])
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    print([verdict.status for verdict in store.check(pages[done : done + 5])])
"""


@sqlite_only
@pytest.mark.skipif(not hasattr(resource, "RLIMIT_FSIZE"), reason="no limit of a file's size here")
def test_a_full_disk_is_an_error_and_leaves_whole_batches(file: Path) -> None:
    done = run_fork(ROOT, "-c", FILLER, url_of(file))
    assert done.returncode == 0, done.stderr
    first, again, read, later = done.stdout.splitlines()
    number = int(first.split()[0])
    assert number > 0
    assert str(file) in first
    assert again == "again"
    assert read == "['https://example.org/0']"
    assert later.startswith("['new', 'near', 'exact',")
    verify(file)
    urls = [page.url for page in some_pages(4000)[: number + 5]]
    assert [url for (url,) in rows_of(file, "SELECT url FROM pages ORDER BY id")] == urls


def test_a_store_that_is_locked_for_long_is_an_error_and_works_later(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shingling.store.backends.base, "MAX_WAIT_SECONDS", 0.2)
    monkeypatch.setattr(shingling.store.backends.sqlite, "BUSY_TIMEOUT_SECONDS", 0.1)
    url = url_of(file, lock_timeout="100") if is_postgres(file) else url_of(file)
    message = "lock timeout" if is_postgres(file) else r"dedup\.db: database is locked"
    with Store.open(url) as store:
        store.check(some_pages(5))
        writes: list[Callable[[], object]] = [
            lambda: store.check([Page("late", text(words("late")))]),
            lambda: store.admin.forget(["https://example.org/0"]),
            lambda: store.start_run("spider"),
            lambda: store.admin.rebuild(0.5),
        ]
        with locked(file):
            for write in writes:
                with pytest.raises(StoreUnavailableError, match=message):
                    write()
            assert store.status().pages == 5, "it can be read meanwhile"
            with Store.open(url_of(file)) as reader:
                assert reader.find("https://example.org/0")
        assert store.check([Page("late", text(words("late")))])[0].status == "new"
    verify(file)


def test_a_write_waits_for_a_lock_that_is_held_for_a_while(file: Path) -> None:
    with Store.open(url_of(file)) as store, ThreadPoolExecutor(1) as threads:
        with locked(file):
            checking = threads.submit(store.check, some_pages(5))
            with pytest.raises(TimeoutError):
                checking.result(timeout=1.3)
        assert [verdict.status for verdict in checking.result()][:3] == ["new", "near", "exact"]
    verify(file)


def end_sessions(file: Path) -> None:
    """Have the server end all sessions but the one that asks."""
    rows_of(
        file,
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
        " WHERE datname = current_database() AND pid <> pg_backend_pid()",
    )


@postgres_only
def test_a_session_that_the_server_ends_is_taken_up_again(store: Store, file: Path) -> None:
    end_sessions(file)
    verdicts = store.check(some_pages(5))
    assert [verdict.status for verdict in verdicts] == ["new", "near", "exact", "new", "skipped"]
    assert store.status().pages == 6


@postgres_only
@pytest.mark.parametrize("is_done", [False, True])
def test_a_connection_that_is_lost_at_the_commit_of_a_batch_costs_no_page_and_no_verdict(
    store: Store, file: Path, monkeypatch: pytest.MonkeyPatch, is_done: bool
) -> None:
    dialect = session_of(store).database.engine.dialect
    commit = dialect.do_commit

    def lost(connection: Any) -> None:
        monkeypatch.undo()
        if is_done:  # and nobody is told
            commit(connection)
        end_sessions(file)
        connection.execute("SELECT 1")

    monkeypatch.setattr(dialect, "do_commit", lost)
    pages = some_pages(5)
    verdicts = store.check(pages)
    kept = ["unchanged"] * 3 if is_done else ["new", "new", "skipped"]
    assert [one.status for one in verdicts if not one.is_duplicate] == kept
    assert [one.original for one in verdicts] == [None, pages[0].url, pages[0].url, None, None]
    assert store.status().pages == 6
