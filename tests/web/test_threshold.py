"""The page Threshold of `scrapy dedup serve`: resemblances, dry runs and what reviews recommend."""

from __future__ import annotations

import csv
import html
import io
import json
import re
import sqlite3
import threading
from collections import Counter
from contextlib import closing
from functools import partial
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest
from sqlalchemy import select

from shingling import Rules, Store
from shingling.admin.audit import riskiest_drops
from shingling.admin.rebuild import compare_rules
from shingling.store.schema.tables import pages
from shingling.store.session import Session
from shingling.tuning.pairs import reviewed_pairs
from shingling.tuning.report import tune_on
from shingling.web.overview import BarChart, count_resemblances
from shingling.web.store_threads import CountingError, Kept, StoreThreads
from shingling.web.threshold import advise_by
from tests.support.processes import PATIENCE, so_within
from tests.support.stores import execute, url_of
from tests.web.conftest import serving, tab_of, watched
from tests.web.stores import EDITED_STORIES, fill_with_editions, fill_with_frames, fill_with_news
from tests.web.test_requests import ask as send, fields_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from playwright.sync_api import Browser

    from tests.web.conftest import Served


def ask(served: Served, path: str, form: dict[str, str] | None = None) -> tuple[int, str]:
    """Send a request, and follow where it is sent on; return status and body."""
    status, headers, body = send(served, path, form)
    return ask(served, headers["location"]) if status == 303 else (status, body)


def tried(served: Served, threshold: str) -> str:
    """Page after a dry run at a threshold."""
    token = {"form_token": fields_of(ask(served, "/threshold")[1], "/threshold")["form_token"]}
    status, page = ask(served, "/threshold", {**token, "threshold": threshold})
    assert status == 200, page
    if 'id="running"' in page:
        assert so_within(PATIENCE, lambda: 'id="running"' not in ask(served, "/threshold")[1])
        page = ask(served, "/threshold")[1]
    return html.unescape(page)


def advised(served: Served) -> str:
    """Page with what reviews recommend, which takes a moment."""
    assert so_within(PATIENCE, lambda: "it is being computed" not in ask(served, "/threshold")[1])
    return html.unescape(ask(served, "/threshold")[1])


@pytest.fixture(scope="module")
def editions(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(tmp_path_factory.mktemp("editions"), fill_with_editions) as served:
        yield served


def test_the_histogram_counts_the_stored_resemblances(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'dedup.db'}"
    fill_with_editions(url)
    with Session.open(url, create=False) as session:
        with session.reading() as connection:
            chart = count_resemblances(connection, 0.5)
        near = [page for page in Store(session).pages() if page.status == "near"]
    values = [page.resemblance for page in near if page.resemblance is not None]
    assert len(values) > 10
    assert [*chart.below] == [sum(value < at / 100 for value in values) for at in range(101)]
    ends = [tuple(map(float, label.split(" to "))) for label, _ in chart.rows]
    assert ends == [(at / 100, (at + 2) / 100) for at in range(50, 100, 2)]
    assert [number for _, (number,) in chart.rows] == [
        sum(low <= value < high or value == high == 1 for value in values) for low, high in ends
    ]


@pytest.mark.parametrize("threshold", ["0.7", "0.35"])
def test_the_changes_of_another_threshold_are_those_between_two_rebuilt_stores(
    editions: Served, tmp_path: Path, threshold: str
) -> None:
    page = tried(editions, threshold)
    with Session.open(editions.store, create=False) as session, session.reading() as connection:
        stored = dict(connection.execute(select(pages.c.url, pages.c.original_id)).all())
    found = {}
    for at in (0.5, float(threshold)):
        copied = tmp_path / f"{at}.db"
        with closing(sqlite3.connect(editions.store.removeprefix("sqlite:///"))) as source:
            source.execute("VACUUM INTO ?", [str(copied)])
        with Store.open(f"sqlite:///{copied}") as store:  # decided by what a rebuild does
            store.admin.rebuild(at)
            store.admin.redecide(Rules(threshold=at))
            found[at] = {page.url: page.original for page in store.pages()}
    before, after = found.values()
    changed = {url for url, original in before.items() if original != after[url]}
    assert changed
    duplicates = [sum(one is not None for one in each.values()) for each in (before, after)]
    kinds = Counter(
        "leaves" if after[url] is None else "joins" if before[url] is None else "moves"
        for url in changed
    )
    with Store.open(editions.store) as store:
        assert store.status().duplicates == sum(one is not None for one in stored.values())

    data = json.loads(ask(editions, "/threshold.json?size=1000")[1])
    rows = data["rows"]
    assert {row["url"] for row in rows} == changed
    for row in rows:
        assert (row["before"], row["after"]) == (before[row["url"]], after[row["url"]])
        assert 0 < row["resemblance"] < 1
    numbers = data["compared"]["changes"]
    assert [88 - numbers["originals"][name] for name in ("before", "now")] == duplicates
    assert Counter(
        joins=numbers["to_duplicate"], leaves=numbers["to_original"], moves=numbers["moved"]
    ) == Counter(kinds)
    assert f"<dt>Duplicates at {threshold}</dt><dd>{duplicates[1]}</dd>" in page
    assert f"{duplicates[0]} at 0.5, of 88 pages" in page
    for kind, number in kinds.items():  # and each number leads to the pages that it counts
        assert f'<a href="/threshold?change={kind}">{number}</a>' in page
        _, some = ask(editions, f"/threshold.csv?change={kind}&size=1000")
        assert len([*csv.DictReader(io.StringIO(some))]) == number


def test_a_lower_threshold_than_the_index_serves_is_told_of(editions: Served) -> None:
    assert "run `scrapy dedup rebuild --threshold 0.3` once" in tried(editions, "0.3")


def test_what_the_page_says_of_reviews_is_what_tune_says(editions: Served) -> None:
    page = advised(editions)
    with Store.open(editions.store) as store:
        report = tune_on(reviewed_pairs(store), store.scheme, Rules())
    [five] = [result for result in report.results if result.shingle_size == 5]
    assert "by 35 reviewed pairs" in page
    recommended = re.search(r"<strong>([\d.]+)</strong>, by", page)
    assert recommended
    assert float(recommended[1]) in (five.threshold, report.present.threshold)
    rows = re.findall(r'<td class="number">([\d.]+)</td><td class="date">([^<]+)</td>', page)
    assert [at for at, _ in rows] == ["0.3", "0.4", "0.5", "0.6", "0.7", "0.8", "0.9", "1"]
    assert dict(rows)["0.5"] == str(report.present.quality.precision)
    assert dict(rows)["1"] == "–"  # of no pair


@pytest.mark.parametrize("value", ["nan", "1e999", "-1", "0", "1.01", "x", "9" * 5000, ""])
def test_other_values_get_a_clear_page_and_begin_nothing(editions: Served, value: str) -> None:
    before = tried(editions, "0.6")
    form = fields_of(before, "/threshold")
    status, page = ask(editions, "/threshold", {**form, "threshold": value})
    assert status == 400
    assert "takes a number above 0, at most 1" in page or "address lacks" in page
    assert ask(editions, f"/pair?a=x&b=y&threshold={value or 'y'}")[0] in (400, 404)
    assert "Duplicates at 0.6" in ask(editions, "/threshold")[1]


def test_nobody_else_begins_a_dry_run(editions: Served, tmp_path: Path) -> None:
    assert ask(editions, "/threshold", {"threshold": "0.7"})[0] == 403
    with serving(tmp_path, fill_with_editions, "--read-only") as served:
        form = {**fields_of(ask(served, "/threshold")[1], "/threshold"), "threshold": "0.7"}
        assert ask(served, "/threshold", form)[0] == 403
        page = advised(served)
        assert "served read only" in page
        assert "35 reviewed pairs" in page


def test_what_would_change_is_reviewed_one_pair_after_another(tmp_path: Path) -> None:
    with serving(tmp_path, fill_with_editions) as served:
        advised(served)
        page = tried(served, "0.8")
        pairs = len(re.findall('class="row"', page))
        waiting = page.count("<td></td></tr>")
        assert 3 < waiting == pairs  # what was reviewed before is decided by that
        assert "nobody has said yet whether the" in page
        assert "Until then, 35 other reviews decide: " in page
        [begin] = re.findall(r'class="button" href="(/pair[^"]+)"', page)
        page = ask(served, begin)[1]
        for step in range(waiting):
            assert f"{pairs - waiting + step} of {pairs} reviewed" in page
            form = fields_of(page)
            number = int(form["b"].rpartition("/")[2])
            answer = "same" if number < EDITED_STORIES // 2 else "different"
            page = ask(served, "/review", {**form, "answer": answer})[1]
        assert "<h1>Threshold</h1>" in page
        page = advised(served)
        assert 'class="button"' not in page
        assert f"by {35 + waiting} reviewed pairs" in page
        data = json.loads(ask(served, "/threshold.json")[1])
        right = sum(row["same"] == (row["change"] == "joins") for row in data["rows"])
        assert right == sum(row["same"] is False for row in data["rows"])
        take = 0.8 if 2 * right > pairs else 0.5
        assert data["threshold"] == take
        said = f"{pairs} are reviewed, {right} as 0.8 decides and {pairs - right} as 0.5 does."
        verb = "Take" if take == 0.8 else "Keep"
        assert f"<strong>{verb} {take}</strong>: of the {pairs} changes, {said}" in page
        assert f"DEDUP_THRESHOLD = {take}<" in page


@pytest.mark.parametrize(
    ("right", "wrong", "joins", "take", "interval"),
    [
        (6, 0, 0, 0.7, "54% to 100%"),
        (0, 6, 3, 0.5, "0% to 46%"),
        (5, 0, 0, None, "48% to 100%"),
        (12, 2, 9, 0.7, "57% to 98%"),
        (3, 4, 20, None, "10% to 82%"),
    ],
)
def test_a_threshold_is_advised_when_more_than_half_of_the_changes_are_surely_right(
    right: int, wrong: int, joins: int, take: float | None, interval: str
) -> None:
    kinds = ["joins" if n < joins else "leaves" for n in range(20)]
    said = [(n < joins) == (n < right) if n < right + wrong else None for n in range(20)]
    rows = [{"change": kind, "same": same} for kind, same in zip(kinds, said, strict=True)]
    taken, why = advise_by(0.5, 0.7, rows)
    assert taken == take
    assert f": {interval} of all are right, with 95 % confidence." in why
    assert ("too few to tell" in why) is (take is None)


def test_what_is_kept_although_it_resembles_its_original_says_why(tmp_path: Path) -> None:
    with serving(tmp_path, fill_with_frames) as served:
        page = tried(served, "0.9")
        rows = json.loads(ask(served, "/threshold.json")[1])["rows"]
    assert len(rows) > 3
    for row in rows:
        assert (row["change"], row["resemblance"], row["reason"]) == ("leaves", 1.0, None)
        assert row["whole_texts"] <= 0.5
        shown = page.partition(f"<bdi>{row['url']}</bdi>")[2].partition("</tr>")[0]
        assert f"whole text {row['whole_texts']:.3f}: not compared" in shown


def test_a_dry_run_that_fails_says_why(tmp_path: Path) -> None:
    with serving(tmp_path, fill_with_news) as served:
        page = advised(served)
        assert "None yet: 0 labelled pairs" in page
        execute(tmp_path / "dedup.db", "ALTER TABLE texts RENAME COLUMN zlib TO gone")
        assert re.search(r'class="note" role="status">[^<]*no such column', tried(served, "0.7"))


def test_a_dry_run_that_is_stopped_ends_early(tmp_path: Path) -> None:
    url, steps = f"sqlite:///{tmp_path / 'dedup.db'}", []
    fill_with_news(url)
    stores = StoreThreads(url, None)
    begun, go_on = threading.Event(), threading.Event()

    def read(_: Session, show: Callable[[int, int], None]) -> None:
        begun.set()
        assert go_on.wait(PATIENCE)
        show(1, 2)
        steps.append(1)

    dry_run = stores.begin(read, 0.7)
    assert dry_run.found() == (None, "")
    assert begun.wait(PATIENCE)
    closing_it = threading.Thread(target=stores.close)
    closing_it.start()
    assert so_within(PATIENCE, stores._stopped.is_set)
    go_on.set()
    closing_it.join(PATIENCE)
    assert dry_run.found(PATIENCE) == (None, "this was stopped")
    assert steps == []


def test_a_dry_run_of_a_store_that_is_gone_says_so(tmp_path: Path) -> None:
    stores = StoreThreads(f"sqlite:///{tmp_path / 'gone.db'}", None)
    found, problem = stores.begin(riskiest_drops, 0.7).found(PATIENCE)
    stores.close()
    assert found is None
    assert "gone.db" in problem


def test_a_server_ends_while_a_dry_run_goes_on(tmp_path: Path) -> None:
    with serving(tmp_path, fill_with_editions) as served:
        form = fields_of(ask(served, "/threshold")[1], "/threshold")
        ask(served, "/threshold", {**form, "threshold": "0.7"})
    with Store.open(served.store) as store:  # and whatever it left is in nobody's way
        assert store.admin.redecide(Rules(threshold=0.7), dry_run=True).pages > 80


def test_other_methods_empty_stores_and_attacks_are_shown(tmp_path: Path, attacks: Served) -> None:
    def nothing(url: str) -> None:
        Store.open(url).close()

    with serving(tmp_path / "other", fill_with_news, "-s", "DEDUP_METHOD=megashingle") as made:
        page = ask(made, "/threshold")[1]
        assert "<code>megashingle</code>, which asks for no threshold" in page
    with serving(tmp_path / "empty", nothing) as made:
        page = tried(made, "0.6")
        assert "0 near-duplicates" in page
        assert "<dt>Duplicates at 0.6</dt><dd>0</dd>" in page
    page = tried(attacks, "1")
    assert page.count('class="row"') == 1
    assert page.count("<script") == 2 + page.partition("<table")[2].count("<script>document")
    assert not set("\u202e\u2066\u200b\x07") & set(page)


def test_a_threshold_is_found_by_keyboard_alone(tmp_path: Path, browser: Browser) -> None:
    with (
        serving(tmp_path / "editions", fill_with_editions) as served,
        tab_of(browser, permissions=["clipboard-read", "clipboard-write"]) as tab,
    ):
        _, troubles = watched(tab)
        keys = tab.keyboard
        tab.goto(served.address)
        keys.press("t")
        tab.wait_for_url("**/threshold")
        keys.press("f")
        keys.press("Control+A")
        keys.type("0.8")
        keys.press("Enter")
        tab.get_by_text("Duplicates at 0.8").wait_for()
        tab.wait_for_load_state()  # keys count from then on
        keys.press("n")
        tab.wait_for_url("**/pair?**")
        while "/pair?" in tab.url:
            with tab.expect_navigation():
                keys.press("d")
        line = "DEDUP_THRESHOLD = 0.8"
        assert tab.locator("#line").inner_text() == line
        keys.press("c")
        tab.get_by_text("Copied.").wait_for()
        assert tab.evaluate("navigator.clipboard.readText()") == line
        assert troubles == []


@pytest.mark.parametrize(
    ("highest", "ticks"),
    [
        (0, [0, 1]),
        (1, [0, 1]),
        (3, [0, 1, 2, 3]),
        (7, [0, 2, 4, 6, 8]),
        (41, [0, 20, 40, 60]),
        (693, [0, 200, 400, 600, 800]),
        (7600, [0, 2000, 4000, 6000, 8000]),
    ],
)
def test_ticks_are_round(highest: int, ticks: list[int]) -> None:
    assert [*BarChart("", "", ("a", "b"), [("x", (highest, 0))]).ticks] == ticks


def test_what_takes_long_is_counted_in_the_background_and_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = f"sqlite:///{tmp_path / 'dedup.db'}"
    Store.open(url).close()
    go_on, number = threading.Event(), iter(range(1, 9))
    clock = SimpleNamespace(now=1.0, takes=1.0)

    def count(_: Session) -> int:
        assert go_on.wait(PATIENCE)
        clock.now += clock.takes
        return next(number)

    own = "shingling.web.store_threads"
    monkeypatch.setattr(f"{own}.time", SimpleNamespace(monotonic=lambda: clock.now))
    wait_for = partial(monkeypatch.setattr, f"{own}.PATIENCE")
    monkeypatch.setattr(f"{own}.FIRST_PATIENCE", 0.01)
    stores = StoreThreads(url, None)
    kept = Kept(stores)
    get = partial(kept.get, "pages", count)
    wait_for(0.01)
    with pytest.raises(CountingError):
        get()
    go_on.set()
    monkeypatch.setattr(f"{own}.FIRST_PATIENCE", PATIENCE)
    assert [get(), get()] == [1, 1], "what was never counted is waited for longer"
    clock.now += 100
    go_on.clear()
    wait_for(0.01)
    assert get() == 1, "what was counted before, while it is counted again"
    go_on.set()
    wait_for(PATIENCE)
    assert [get(), get()] == [2, 2]
    kept.forget()
    clock.takes = 0.0
    assert [get(), get()] == [3, 4], "what is counted at once is not kept"
    stores.close()


def test_all_databases_decide_twice_in_a_transaction_that_leaves_nothing(file: Path) -> None:
    url = url_of(file)
    fill_with_editions(url)
    steps: list[tuple[int, int]] = []
    with Session.open(url, create=False) as session:
        before = {page.url: page.original for page in Store(session).pages()}
        present, other = session.fitting_rules, Rules(threshold=0.8)
        found = compare_rules(session, present, other, lambda *step: steps.append(step))
        assert found == compare_rules(session, present, other, lambda *_: None)
        dry_run = Store(session).admin.redecide(other, dry_run=True)
        assert {one.url for one in found.changes.examples} == {one.url for one in dry_run.examples}
        assert found.changes.to_original == len(found.changes.examples) > 3
        assert found.again.examples == ()
        assert steps[0] == (0, 176)
        assert steps[-1] == (176, 176)
        number, drops = riskiest_drops(session, lambda *_: None)
        said = sum(review.same for review in Store(session).admin.reviews())
        assert number == Store(session).status().duplicates - said == len(drops) > 3
        assert {page.url: page.original for page in Store(session).pages()} == before
