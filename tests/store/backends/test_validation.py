"""Batches that PostgreSQL stores at the same time decide as in the order of their commits."""

from __future__ import annotations

import random
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

import shingling.store.backends.postgres
import shingling.store.decide.check
from shingling import Page, Rules, Store, sign
from shingling.store.backends.postgres import NOTED_TRANSACTIONS
from shingling.store.decide.check import Validation
from shingling.store.decide.write import write_batch
from tests.store.children import check_and_hold
from tests.support.invariants import beginning, ending, text, verify, words
from tests.support.processes import PATIENCE, Child
from tests.support.stores import execute, originals, postgres_only, rows_of, session_of, url_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from shingling.store.decide.batch import Batch

WRITERS = 4
pytestmark = postgres_only


def some_pages(count: int) -> list[Page]:
    """Return pages in groups of four: a text, one that is near, its copy, and one near to both."""
    pages = []
    for number in range(count // 4):
        base = words(f"text {number}", 80)
        near = text(ending(base, number, 6))
        both = [text(base), near, near, text(beginning(base, number, 11))]
        pages += [
            Page(f"https://site{at}.example/{number}", one, sign(one), fetched=1.7e9)
            for at, one in enumerate(both)
        ]
    return pages


class Order:
    """Notes the batches of several threads in the order of their commits.

    A batch that is tried again is noted again: its last place counts.
    """

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.current = threading.local()
        self.noted: list[int] = []
        self.batches: list[tuple[list[Page], list[tuple[str, str | None]]]] = []
        patch.setattr(shingling.store.decide.check, "write_batch", self._write)
        patch.setattr(Validation, "end", self._end(Validation.end))

    def _write(self, batch: Batch) -> None:
        write_batch(batch)
        if batch.database.alone:
            self.noted.append(self.current.number)

    def _end(self, end: Callable[[Validation], None]) -> Callable[[Validation], None]:
        def noting(validation: Validation) -> None:
            end(validation)
            self.noted.append(self.current.number)  # in the turn to commit

        return noting

    def check(self, store: Store, pages: list[Page], lock: threading.Lock) -> None:
        with lock:
            number = self.current.number = len(self.batches)
            self.batches.append((pages, []))
        verdicts = store.check(pages)
        self.batches[number][1].extend((one.status, one.original) for one in verdicts)

    def committed(self) -> list[tuple[list[Page], list[tuple[str, str | None]]]]:
        """Return the batches with their verdicts in the order of their commits."""
        last = {number: place for place, number in enumerate(self.noted)}
        return [self.batches[number] for number in sorted(last, key=last.__getitem__)]


def together(crawl: Callable[[int], None]) -> None:
    """Have several threads crawl, each with its number."""
    with ThreadPoolExecutor(WRITERS) as threads:
        for crawling in [threads.submit(crawl, number) for number in range(WRITERS)]:
            crawling.result(PATIENCE)


@pytest.mark.parametrize(("method", "seed"), [("minhash", 1), ("minhash", 2), ("simhash", 1)])
def test_writers_get_the_verdicts_that_one_would_get_in_the_order_of_their_commits(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, method: str, seed: int
) -> None:
    rules = Rules(method=method)
    Store.open(url_of(file), rules=rules).close()
    order, lock = Order(monkeypatch), threading.Lock()
    start = threading.Barrier(WRITERS)

    def crawl(number: int) -> None:
        chance, pages = random.Random(f"{seed} {number}"), some_pages(120)
        chance.shuffle(pages)
        with Store.open(url_of(file), rules=rules) as store:
            start.wait(PATIENCE)
            while pages:
                size = chance.choice([1, 3, 8, 20])
                order.check(store, pages[:size], lock)
                del pages[:size]

    together(crawl)
    verify(file)
    monkeypatch.undo()
    with Store.open(f"sqlite:///{tmp_path}/again.db", rules=rules) as again:
        for pages, verdicts in order.committed():
            assert [(one.status, one.original) for one in again.check(pages)] == verdicts
        assert originals(url_of(file)) == originals(f"sqlite:///{tmp_path}/again.db")


def site_page(site: int, number: int) -> Page:
    """Return a page with a footer that its site shows on all pages."""
    lines = [text(words(f"article {site} {number} {part}", 20)) for part in range(3)]
    lines += [text(words(f"footer {site} {part}", 12)) for part in range(4)]
    url = f"https://site{site}.example/{number}"
    return Page(url, "\n".join(lines), title=text(words(f"title {number}", 5)))


def test_writers_learn_the_templates_of_the_same_sites(file: Path) -> None:
    Store.open(url_of(file)).close()
    start = threading.Barrier(WRITERS)

    def crawl(number: int) -> None:
        # More batches than rows of a site are kept: all of them merge.
        pages = [site_page(site, at) for at in range(number, 80, WRITERS) for site in (0, 1)]
        random.Random(number).shuffle(pages)
        with Store.open(url_of(file)) as store:
            start.wait(PATIENCE)
            for at in range(0, len(pages), 2):
                store.check(pages[at : at + 2])

    together(crawl)
    verify(file)
    assert rows_of(file, "SELECT max(n) <= 60 FROM (SELECT count(*) AS n FROM site_blocks"
                         " GROUP BY site) AS sites") == [(True,)]  # fmt: skip
    deadlocks = "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()"
    assert rows_of(file, deadlocks) == [(0,)]
    with Store.open(url_of(file)) as store:
        assert store.status().pages == 160
        for site in (0, 1):
            [page] = store.find(f"https://site{site}.example/0")
            split = store.split_text(page)
            assert split is not None
            footer = site_page(site, 0).text.splitlines()[3:]  # type: ignore[union-attr]
            assert list(split.template) == footer


def test_a_writer_killed_in_its_turn_to_commit_leaves_nothing_and_blocks_nobody(file: Path) -> None:
    with Store.open(url_of(file)) as store, ThreadPoolExecutor(1) as threads:
        child = Child(check_and_hold, url_of(file), ["a", "b"])
        assert child.pipe.recv() == "holds"
        checking = threads.submit(store.check, [Page("c", text(words("c")))])
        with pytest.raises(TimeoutError):
            checking.result(0.5)
        child.kill()
        assert checking.result(PATIENCE)[0].status == "new"
        assert [page.url for page in store.pages()] == ["c"]
        for table in ("texts", "bands"):
            lost = f"SELECT count(*) FROM {table} WHERE page_id NOT IN (SELECT id FROM pages)"
            assert rows_of(file, lost) == [(0,)]
        verdicts = store.check([Page(url, text(words(url))) for url in "ab"])
        assert [verdict.status for verdict in verdicts] == ["new", "new"]
    verify(file)


def test_a_turn_without_a_commit_is_ended(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shingling.store.backends.postgres, "MAX_TURN", "1s")
    with Store.open(url_of(file)) as one, Store.open(url_of(file)) as two:
        database = session_of(one).database
        with database.engine.connect() as connection:
            database.take_turn(connection, alone=False)
            database.take_commit_turn(connection, 0, [1])
            assert two.check([Page("a", text(words("a")))])[0].status == "new"
            with pytest.raises(Exception, match="idle-in-transaction"):
                connection.exec_driver_sql("SELECT 1")
    verify(file)


def test_a_batch_that_takes_longer_than_is_noted_begins_again(
    store: Store, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    attempts = []

    def writing(batch: Batch) -> None:
        attempts.append(batch.database.alone)
        if len(attempts) == 1:
            last = rows_of(file, "SELECT max(number) FROM commits")[0][0] + NOTED_TRANSACTIONS
            execute(file, f"UPDATE commits SET number = {last}")
        write_batch(batch)

    store.check([Page("a", text(words("a")))])
    monkeypatch.setattr(shingling.store.decide.check, "write_batch", writing)
    assert store.check([Page("b", text(words("b")))])[0].status == "new"
    assert attempts == [False, False]


def test_old_notes_are_removed(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shingling.store.backends.postgres, "NOTED_TRANSACTIONS", 3)
    with Store.open(url_of(file)) as store:
        for number in range(12):
            store.check([Page(f"{number}", text(words(number)))])
    assert rows_of(file, "SELECT count(*) <= 4, max(number) FROM commits") == [(True, 12)]
