"""Crawlers that write at the same moment decide as if they did so one after the other."""

from __future__ import annotations

import json
import random
import threading
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from itertools import combinations, pairwise
from typing import TYPE_CHECKING, Any

import pytest

import shingling.store.decide.check
from shingling import Page, Rules, Store, sign
from shingling.sketch import Banding
from shingling.store.backends.postgres import MAX_LOCKS
from shingling.store.decide.meet import meet
from tests.store.children import crawl
from tests.support.invariants import beginning, ending, text, verify, words
from tests.support.processes import PATIENCE, Child
from tests.support.stores import is_postgres, postgres_only, rows_of, session_of, url_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from shingling import Verdict
    from shingling.store.schema.rows import Row

BASE = words("base")
A, OTHER = text(BASE), text(words("other"))
NEAR = text(ending(BASE, "near", 5))


# Processes


GROUPS = 18


def clusters(count: int) -> list[list[str]]:
    """Return texts of which those of one cluster find each other, in any order."""
    banding, found, seed = Banding.for_threshold(0.8), list[list[str]](), 0
    while len(found) < count:
        seed += 1
        base = words(f"cluster {seed}", 100)
        near = text(ending(base, seed, 3))
        cluster = [text(base), near, near, text(beginning(base, seed, 3))]
        keys = banding.keys([sign(main_text).minima for main_text in cluster])
        if all((a == b).any() for a, b in combinations(keys, 2)):
            found.append(cluster)
    return found


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of pages in groups of four, as pairs of URL and text."""
    path = tmp_path_factory.mktemp("pages") / "pages.json"
    listed = [
        (f"https://example.org/{number}/{at}", main_text)
        for number, cluster in enumerate(clusters(GROUPS))
        for at, main_text in enumerate(cluster)
    ]
    path.write_text(json.dumps(listed), encoding="utf-8")
    return path


def go(crawlers: list[Child]) -> None:
    for crawler in crawlers:
        assert crawler.pipe.recv() == "ready"
    for crawler in crawlers:
        crawler.pipe.send("go")


def end(crawlers: list[Child], count: int) -> None:
    """Wait for crawlers, which must have got a verdict on every page."""
    for crawler in crawlers:
        status, told = crawler.end()
        assert status == 0
        assert told[-1] == count


def assert_one_original_a_group(file: Path) -> None:
    verify(file)
    with Store.open(url_of(file)) as store:
        groups = [[group.original, *group.duplicates] for group in store.groups()]
        assert store.status().pages == 4 * GROUPS
    assert len(groups) == GROUPS
    for members in groups:
        assert len({page.url.rpartition("/")[0] for page in members}) == 1
        assert {page.url.rpartition("/")[2] for page in members} == {"0", "1", "2", "3"}


def assert_no_deadlock(file: Path) -> None:
    if is_postgres(file):
        query = "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()"
        assert rows_of(file, query) == [(0,)]


def test_a_process_that_is_killed_harms_no_other_of_whatever_settings_and_can_be_started_again(
    file: Path, pages: Path
) -> None:
    Store.open(url_of(file)).close()
    settings: Any = [{}, {"threshold": 0.8}, {"templates": False}, {"min_words": 40}]
    crawlers = [Child(crawl, url_of(file), pages, seed, settings[seed]) for seed in range(4)]
    go(crawlers)
    chance = random.Random(3)
    for seed, batches in ((4, 4), (5, 6), (6, 2)):
        killed = crawlers.pop(chance.randrange(len(crawlers)))
        for _ in range(batches):
            assert killed.pipe.recv()
        killed.kill()
        again = Child(crawl, url_of(file), pages, seed, settings[seed % 4])
        go([again])
        crawlers.append(again)
    end(crawlers, 4 * GROUPS)
    assert_one_original_a_group(file)
    assert_no_deadlock(file)


@pytest.mark.parametrize(
    "rules",
    [{}, {"method": "simhash"}, {"containment": 0.9}],
    ids=["minhash", "simhash", "containment"],
)
def test_pages_that_change_while_others_fetch_them_leave_a_store_in_order(
    file: Path, tmp_path: Path, pages: Path, rules: dict[str, object]
) -> None:
    listed = json.loads(pages.read_text(encoding="utf-8"))[:32]
    Store.open(url_of(file), rules=Rules(**rules)).close()  # type: ignore[arg-type]
    crawlers = []
    for seed in range(3):
        chance = random.Random(seed)
        # Each page shows a text of its own cluster or of the next one.
        changing = [
            (url, listed[(at + chance.randrange(-4, 5)) % 32][1])
            for at, (url, _) in enumerate(listed)
        ]
        own = tmp_path / f"{seed}.json"
        own.write_text(json.dumps(changing + listed), encoding="utf-8")
        crawlers.append(Child(crawl, url_of(file), own, seed, rules))
    go(crawlers)
    end(crawlers, 64)
    verify(file)
    with Store.open(url_of(file)) as store:
        assert store.status().pages == 32
    assert_no_deadlock(file)


# Transactions that are held open


@pytest.fixture
def threads() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(2) as executor:
        yield executor


@pytest.fixture
def one(file: Path) -> Iterator[Store]:
    with Store.open(url_of(file)) as opened:
        yield opened
    verify(file)


@pytest.fixture
def two(file: Path) -> Iterator[Store]:
    with Store.open(url_of(file)) as opened:
        yield opened


@contextmanager
def holding(
    store: Store, batch: list[Page], threads: ThreadPoolExecutor, rules: Rules | None = None
) -> Iterator[Future[list[Verdict]]]:
    """Check pages, and hold the transaction open until the block ends."""
    begun, released = threading.Event(), threading.Event()
    url = batch[0].url

    def held(page: Page, *others: object) -> tuple[Verdict, list[Row]]:
        met = meet(page, *others)  # type: ignore[arg-type]
        if page.url == url and not begun.is_set():
            begun.set()
            assert released.wait(PATIENCE)
        return met

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(shingling.store.decide.check, "meet", held)
        checking = threads.submit(store.check, batch, rules=rules)
        try:
            assert begun.wait(PATIENCE)
            yield checking
        finally:
            released.set()
            checking.result(PATIENCE)


def waits(checking: Future[list[Verdict]]) -> bool:
    try:
        checking.result(0.7)
    except TimeoutError:
        return True
    return False


def many(count: int, name: str = "many") -> list[Page]:
    return [Page(f"{name} {at}", text(words(f"{name} {at}", 40))) for at in range(count)]


def alone(store: Store) -> bool:
    return session_of(store).database.alone


@postgres_only
@pytest.mark.parametrize("count", [1, 256])
@pytest.mark.parametrize("method", ["minhash", "simhash", "exact"])
def test_pages_that_share_nothing_do_not_wait_for_each_other(
    file: Path, threads: ThreadPoolExecutor, method: str, count: int
) -> None:
    rules = Rules(method=method)
    with Store.open(url_of(file), rules=rules) as one, Store.open(url_of(file)) as two:
        with holding(one, many(count), threads, rules) as first:
            others = many(count, "other")
            verdicts = threads.submit(two.check, others, rules=rules).result(PATIENCE)
            assert {verdict.status for verdict in verdicts} == {"new"}
            assert not first.done()
            stored = [page.url for page in two.pages()]
            assert stored == [page.url for page in others], "nobody waits to read"
        assert {verdict.status for verdict in first.result()} == {"new"}
        assert not alone(one)
        assert not alone(two)
    verify(file)


@pytest.mark.parametrize(
    ("file", "second", "status", "original"),
    [
        ("sqlite", Page("b", NEAR), "near", "a"),
        ("sqlite", Page("b", A), "exact", "a"),
        ("sqlite", Page("a", NEAR), "changed", None),
        ("postgres", Page("a", A), "unchanged", None),
        ("postgres", Page("a", OTHER), "changed", None),
    ],
    indirect=["file"],
)
def test_a_page_waits_for_its_url_and_in_sqlite_for_all_that_are_being_decided(
    one: Store,
    two: Store,
    threads: ThreadPoolExecutor,
    second: Page,
    status: str,
    original: str | None,
) -> None:
    with holding(one, [Page("a", A)], threads):
        checking = threads.submit(two.check, [second])
        assert waits(checking)
    [verdict] = checking.result(PATIENCE)
    assert (verdict.status, verdict.original) == (status, original)


C = text(ending(BASE, "c", 5))


@postgres_only
@pytest.mark.parametrize(
    ("before", "held", "meanwhile", "told", "then"),
    [
        ({}, ("a", A), ("b", NEAR), ("near", "b"), ("new", None)),
        ({}, ("a", A), ("b", A), ("exact", "b"), ("new", None)),
        ({}, ("a", A), ("b", OTHER), ("new", None), ("new", None)),
        ({"a": A}, ("a", OTHER), ("b", NEAR), ("changed", None), ("near", "a")),
        ({"a": A, "c": C}, ("b", NEAR), ("a", OTHER), ("near", "c"), ("changed", None)),
    ],
    ids=["near", "copy", "other", "original changes", "original has changed"],
)
def test_a_page_is_decided_as_if_others_that_were_committed_meanwhile_had_come_before(
    one: Store,
    two: Store,
    threads: ThreadPoolExecutor,
    before: dict[str, str],
    held: tuple[str, str],
    meanwhile: tuple[str, str],
    told: tuple[str, str | None],
    then: tuple[str, str | None],
) -> None:
    one.check([Page(url, main_text) for url, main_text in before.items()])
    with holding(one, [Page(*held)], threads) as first:
        [verdict] = threads.submit(two.check, [Page(*meanwhile)]).result(PATIENCE)
        assert (verdict.status, verdict.original) == then
        assert not first.done()
    [verdict] = first.result()
    assert (verdict.status, verdict.original) == told
    if "a" in before:
        heads = {page.url: page.original for page in one.pages()}
        assert heads == {**dict.fromkeys({*before, "b"}), held[0]: told[1]}
    assert not alone(one)


@postgres_only
def test_a_page_that_is_overtaken_again_and_again_is_decided_alone(
    one: Store, two: Store, threads: ThreadPoolExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Both are like the page, and not like each other.
    main_texts = [text(ending(BASE, "end", 25)), text(beginning(BASE, "begin", 25))]
    others = [Page(f"b{at}", main_text) for at, main_text in enumerate(main_texts)]
    attempts: list[bool] = []

    def overtaken(page: Page, *more: object) -> tuple[Verdict, list[Row]]:
        if page.url == "a":
            attempts.append(alone(one))
            if not attempts[-1]:
                threads.submit(two.check, [others.pop()]).result(PATIENCE)
        return meet(page, *more)  # type: ignore[arg-type]

    monkeypatch.setattr(shingling.store.decide.check, "meet", overtaken)
    [verdict] = one.check([Page("a", A)])
    assert attempts == [False, False, True]
    assert verdict.status == "near"


@postgres_only
def test_a_batch_of_more_urls_than_can_be_locked_writes_alone(
    one: Store, two: Store, threads: ThreadPoolExecutor
) -> None:
    with holding(one, [Page("a", A)], threads):
        checking = threads.submit(two.check, many(MAX_LOCKS + 1))
        assert waits(checking)
    assert {verdict.status for verdict in checking.result(PATIENCE)} == {"new"}
    assert alone(two)
    assert not alone(one)


@postgres_only
@pytest.mark.parametrize("act", ["review", "forget", "rebuild"])
def test_what_changes_many_pages_waits_for_every_check(
    file: Path, one: Store, two: Store, threads: ThreadPoolExecutor, act: str
) -> None:
    one.check([Page("b", OTHER)])
    acts: dict[str, Callable[[], object]] = {
        "review": lambda: two.admin.review("a", "b", same=True),
        "forget": lambda: two.admin.forget(["b"]),
        "rebuild": lambda: two.admin.rebuild(0.5),
    }
    with holding(one, [Page("a", A)], threads):
        acting: Future[object] = threads.submit(acts[act])
        assert waits(acting)  # type: ignore[arg-type]
    acting.result(PATIENCE)
    if act == "review":
        assert one.find("a")[0].original == "b"
    if act == "forget":
        assert one.find("b") == []
    if act == "rebuild":
        verify(file)
        assert one.check([Page("c", A)])[0].original == "a"


@postgres_only
def test_a_page_of_which_a_person_has_spoken_is_checked_alone(
    one: Store, two: Store, threads: ThreadPoolExecutor
) -> None:
    one.admin.review("b", "c", same=True)
    with holding(one, [Page("a", A)], threads):
        checking = threads.submit(two.check, [Page("b", OTHER)])
        assert waits(checking)
    assert checking.result(PATIENCE)[0].status == "new"
    assert alone(two)
    [verdict] = one.check([Page("c", text(words("c")))])
    assert (verdict.original, verdict.reason) == ("b", "review")


def test_people_who_review_while_a_crawl_writes_lose_no_review(store: Store, file: Path) -> None:
    urls = [f"https://a.example/{one}" for one in range(6)]
    store.check([Page(url, text(words(url))) for url in urls])
    pairs = [*pairwise(urls)]

    def review(note: str, own: list[tuple[str, str]]) -> None:
        with Store.open(url_of(file)) as opened:
            for a, b in own:
                opened.admin.review(a, b, same=note == "one", note=note)

    def crawl() -> None:
        with Store.open(url_of(file)) as opened:
            for one in range(12):
                opened.check([Page(f"https://b.example/{one}", text(words(urls[one % 6])))])

    with ThreadPoolExecutor(3) as pool:
        done = [pool.submit(review, "one", pairs), pool.submit(review, "two", pairs[::-1])]
        done.append(pool.submit(crawl))
        for one in done:
            one.result()
    found = {(one.a, one.b): (one.note, one.same) for one in store.admin.reviews()}
    assert {*found} == {*pairs}
    assert {*found.values()} <= {("one", True), ("two", False)}
    assert store.status().pages == 18
    verify(file)
