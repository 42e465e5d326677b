"""Lists of groups, and what is counted, are those that the stored pages give, whatever is asked."""

from __future__ import annotations

from collections import defaultdict
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from benchmarks.web.stores import fill
from shingling import Page, Rules, Store
from shingling.errors import StoreError
from shingling.fetching.learning import RuleCounts
from shingling.fetching.stored_rules import save
from shingling.store.session import Session
from shingling.web.lists import group_filter, groups, least_alike, members
from shingling.web.overview import BAR, MAX_PERIODS, count_all
from shingling.web.pages import show_pages
from tests.support.invariants import ending, text, words
from tests.support.stores import ENDINGS, place_of, url_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from shingling import StoredPage
    from shingling.web.lists import GroupRow

    Fulfils = Callable[[StoredPage, StoredPage, bool], bool]

ORDERS = ("size", "resemblance", "date")
FILTERS: list[tuple[dict[str, str], Fulfils]] = [
    ({}, lambda *_: True),
    ({"status": "exact"}, lambda _, page, __: page.status == "exact"),
    (
        {"site": "www.Site1.example"},
        lambda head, page, _: "site1.example" in (head.site, page.site),
    ),
    (
        {"low": "0.6", "high": "0.9", "reviewed": "no"},
        lambda _, page, reviewed: 0.6 <= (page.resemblance or 0) <= 0.9 and not reviewed,
    ),
    ({"run": "3", "reviewed": "yes"}, lambda _, page, reviewed: page.run == 3 and reviewed),
    (
        {"since": "2025-06-20", "until": "2025-06-25"},
        lambda _, page, __: "2025-06-20" <= f"{page.last_seen:%Y-%m-%d}" <= "2025-06-25",
    ),
    (
        {"words": "HARBOUR bridge"},
        lambda head, page, _: all(
            word in f"{head.title} {head.url} {page.title} {page.url}".lower()
            for word in ("harbour", "bridge")
        ),
    ),
]


@pytest.fixture(scope="module", params=ENDINGS)
def session(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Session]:
    for file in place_of(request, tmp_path_factory.mktemp("lists")):
        fill(url_of(file), 2000)
        with Session.open(url_of(file), create=False) as opened:
            yield opened


def expected(
    stored: dict[str, StoredPage], pairs: set[frozenset[str]], fulfils: Fulfils, order: str
) -> list[tuple[int, int, int]]:
    found = defaultdict(list)
    for page in stored.values():
        if page.original is not None:
            head = stored[page.original]
            if fulfils(head, page, frozenset((page.url, head.url)) in pairs):
                found[head.id].append(page)
    ranks: dict[str, Callable[[list[StoredPage]], Any]] = {
        "size": lambda pages: -len(pages),
        "resemblance": lambda pages: min(page.resemblance or 0 for page in pages),
        "date": lambda pages: -max(page.last_seen for page in pages).timestamp(),
    }
    rows = [(ranks[order](pages), head, pages) for head, pages in found.items()]
    return [
        (head, len(pages), millionths(min(page.resemblance or 0 for page in pages)))
        for _, head, pages in sorted(rows, key=lambda row: row[:2])
    ]


def millionths(share: float) -> int:
    return round(share * 1_000_000)


def listed(session: Session, chosen: dict[str, str]) -> list[GroupRow]:
    """All pages of a list, as links lead through them."""
    found: list[GroupRow] = []
    after: str | None = ""
    while after is not None:
        with session.reading() as connection:
            page = groups(connection, group_filter(chosen), after, 97)
        found += page["rows"]
        after = page["next"]
        assert page["groups"] >= len(found)
    return found


@pytest.mark.parametrize(("chosen", "fulfils"), FILTERS)
def test_lists_are_those_of_the_stored_pages(
    session: Session, chosen: dict[str, str], fulfils: Fulfils
) -> None:
    store = Store(session)
    stored = {page.url: page for page in store.pages()}
    reviewed = {frozenset((one.a, one.b)) for one in store.admin.reviews()}
    for order in ORDERS:
        rows = listed(session, {**chosen, "order": order})
        ordered = group_filter({**chosen, "order": order})
        shown = [(one.original.id, one.size, millionths(one.lowest)) for one in rows]
        assert shown == expected(stored, reviewed, fulfils, order)
        assert shown
        with session.reading() as connection:
            first = groups(connection, ordered, limit=5)
            pairs = sum(one.size for one in rows)
            assert (first["groups"], first["pairs"]) == (len(rows), pairs)
            for one in rows[:10]:
                of_one = members(connection, ordered.of_original(one.original))
                assert len(of_one) == min(one.size, 100)
                assert of_one[0].page == one.first


def test_reviews_are_counted_and_the_largest_and_least_alike_come_first(session: Session) -> None:
    store = Store(session)
    rows = listed(session, {})
    assert sum(one.reviewed for one in rows) == sum(
        one.size for one in listed(session, {"reviewed": "yes"})
    )
    with session.reading() as connection:
        least = least_alike(connection, 20)
        group = group_filter({}).of_original(rows[0].original)
        largest = members(connection, group, 0, 5000)
        rest = members(connection, group, largest[4].page.id, 3)
        assert members(connection, group, largest[1].page.id, 3, skip=3) == rest
    assert rest == largest[5:8]
    assert len(largest) == rows[0].size
    near = [page.resemblance or 0.0 for page in store.pages() if page.status == "near"]
    assert [page.resemblance for _, page in least] == sorted(near)[:20]
    assert all(page.original == head.url for head, page in least)


def test_a_list_of_pages_begins_with_any_row_or_says_how_far_it_has_come(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = sorted((page.id for page in Store(session).pages()), reverse=True)
    shown = show_pages(session, {"first": "101"})
    assert [page.id for page in shown["rows"]] == ids[100:150]
    assert (shown["total"], "start" in shown) == (len(ids) - 100, False)
    beyond = show_pages(session, {"first": "9001"})
    assert (beyond["rows"], beyond["total"], beyond["start"]) == ([], 0, len(ids))
    monkeypatch.setattr("shingling.store.listing._SECONDS", -1)
    late = show_pages(session, {"first": "101", "row": "7", "after": f"{ids[6]}"})
    assert (late["rows"], late["total"], late["start"]) == ([], 0, 7)
    assert (late["next"], late["whole"]) == (ids[6], False)


def test_a_store_opened_read_only_refuses_writes_itself(file: Path) -> None:
    url = url_of(file)
    with Store.open(url):
        pass
    with Session.open(url, create=False, read_only=True) as session:
        store = Store(session)
        assert store.status().pages == 0
        for write in (
            lambda: store.admin.review("https://a.example/", "https://b.example/", same=True),
            lambda: session.database.write(lambda one: one.exec_driver_sql("DELETE FROM pages")),
        ):
            with pytest.raises(StoreError, match=r"read.?only"):
                write()


# What a store holds, counted over time, by resemblance and by site


DAY = 24 * 3600
START = 20_000 * DAY  # 2024-10-04


def look(file: Path) -> SimpleNamespace:
    with Session.open(url_of(file)) as session:
        counted = count_all(session)
    over_time, by_run, resemblances = counted["charts"]
    return SimpleNamespace(
        **counted, periods=over_time.rows, by_run=by_run.rows, resemblances=resemblances.rows
    )


def stored(name: str, number: int, day: int, changed: int = 0) -> Page:
    parts = ending(words(name, 120), f"{name} {number}", changed)
    url = f"http://www.{name}.example/{number}"
    return Page(url, text=text(parts), fetched=START + day * DAY + 3600)


def test_pages_are_counted_by_day_resemblance_and_site(file: Path, store: Store) -> None:
    run, rules = store.start_run("news"), Rules(own_text="ignore")  # numbers are in all words
    store.check([stored("a", 0, 0), stored("b", 0, 0), stored("a", 1, 2, 4)], run=run, rules=rules)
    store.check([stored("a", 2, 2), stored("c", 0, 3)], run=run, rules=rules)
    run.counts.update(skipped_short=2, skipped_not_html=5)
    store.finish_run(run, "finished")
    found = look(file)
    assert found.periods == [
        ("2024-10-04", (2, 0)),
        ("2024-10-05", (0, 0)),
        ("2024-10-06", (0, 2)),
        ("2024-10-07", (1, 0)),
    ]
    assert found.sites == [("a.example", 3, 2)]
    near = store.find("http://www.a.example/1")[0].resemblance
    assert near is not None
    low = int(100 * near) // BAR * BAR
    bars = [label for label, (number,) in found.resemblances if number]
    assert bars == [f"{low / 100:.2f} to {(low + BAR) / 100:.2f}"]
    assert found.copies == [{"site": "a.example", "original_site": "a.example", "pairs": 2}]
    assert [one["id"] for one in found.runs] == [run.id]
    assert found.skipped == [("not_html", 5), ("short", 2)]


def test_long_times_have_as_many_bars_as_short_ones(file: Path, store: Store) -> None:
    store.check([stored("a", 0, 0), stored("b", 0, 200), stored("c", 0, 1000)])
    periods = look(file).periods
    assert len(periods) <= MAX_PERIODS
    assert [values for _, values in periods if any(values)] == [(1, 0)] * 3
    assert periods[0][0] == "2024-10-04 to 2024-10-20"
    assert periods[-1][0] == "2027-06-17 to 2027-07-03"


def test_an_empty_store_has_nothing_to_count(file: Path, store: Store) -> None:
    assert store.status().pages == 0
    found = look(file)
    assert (found.periods, found.sites, found.learned, found.skipped) == ([], [], [], [])
    assert sum(number for _, (number,) in found.resemblances) == 0
    assert (found.by_run, found.copies) == ([], [])
    assert found.sites_with_templates == 0


@pytest.mark.parametrize("saved", [0, 7])
def test_rules_on_urls_are_shown_with_what_they_save(file: Path, store: Store, saved: int) -> None:
    assert store.status().url_rules == 0
    rules = [
        RuleCounts("a.example", f"drop-parameter {name}", node, 9, 0, saved, 1)
        for name in ("sid", "from")
        for node in ("/", "/a")
    ]
    with Session.open(url_of(file)) as session:
        save(session, rules)
    assert look(file).learned == [
        ("a.example", "drop-parameter from", 2 * saved, 2, 0),
        ("a.example", "drop-parameter sid", 2 * saved, 2, 0),
    ]
