"""The page Threshold of `scrapy dedup serve`: resemblances, dry runs and what reviews recommend."""

from __future__ import annotations

import html
import re
import threading
from collections import Counter
from typing import TYPE_CHECKING

import pytest

from shingling import Rules, Store
from shingling.store.session import Session
from shingling.tuning.pairs import reviewed_pairs
from shingling.tuning.report import tune_on
from shingling.web.overview import BINS, count_resemblances
from shingling.web.store_threads import StoreThreads
from shingling.web.threshold import DryRun
from tests.support.processes import PATIENCE, so_within
from tests.support.stores import execute
from tests.web.conftest import serving, watched
from tests.web.stores import EDITED_STORIES, fill_with_editions, fill_with_news
from tests.web.test_requests import ask as send, fields_of

if TYPE_CHECKING:
    from collections.abc import Iterator
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


@pytest.fixture(scope="module")
def editions(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(tmp_path_factory.mktemp("editions"), fill_with_editions) as served:
        yield served


def test_the_histogram_counts_the_stored_resemblances(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'dedup.db'}"
    fill_with_editions(url)
    with Session.open(url, create=False) as session:
        with session.reading() as connection:
            chart = count_resemblances(connection)
        near = [page for page in Store(session).pages() if page.status == "near"]
    values = [page.resemblance for page in near if page.resemblance is not None]
    counted = Counter(min(int(value * BINS), BINS - 1) for value in values)
    assert [number for _, (number,) in chart.rows] == [counted[place] for place in range(BINS)]
    assert sum(counted.values()) > 10


@pytest.mark.parametrize("threshold", ["0.7", "0.35"])
def test_what_another_threshold_changes_is_what_a_dry_run_says(
    editions: Served, threshold: str
) -> None:
    page = tried(editions, threshold)
    with Store.open(editions.store) as store:
        has = store.status().duplicates
        changes = store.admin.redecide(Rules(threshold=float(threshold)), dry_run=True)
        assert store.status().duplicates == has
    duplicates = changes.pages - changes.originals[1]
    assert duplicates != has
    shown = re.findall(r"<dt>([^<]+)</dt><dd>(\d+)</dd>", page)
    assert shown == [
        (f"Duplicates at {threshold}", str(duplicates)),
        ("New duplicates", str(changes.to_duplicate)),
        ("Duplicates no longer", str(changes.to_original)),
        ("Other original", str(changes.moved)),
    ]
    assert f"DEDUP_THRESHOLD = {threshold}<" in page
    listed = re.findall(r'class="row" href="[^"]+"><bdi>([^<]+)', page)
    assert listed == [one.url for one in changes.examples]


def test_a_lower_threshold_than_the_index_serves_is_told_of(editions: Served) -> None:
    assert "run `scrapy dedup rebuild --threshold 0.3` once" in tried(editions, "0.3")


def test_what_the_page_says_of_reviews_is_what_tune_says(editions: Served) -> None:
    page = html.unescape(ask(editions, "/threshold")[1])
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


@pytest.mark.parametrize("value", ["nan", "1e999", "-1", "0", "1.01", "x", "9" * 5000, ""])
def test_other_values_get_a_clear_page_and_begin_nothing(editions: Served, value: str) -> None:
    before = tried(editions, "0.6")
    form = fields_of(before, "/threshold")
    status, page = ask(editions, "/threshold", {**form, "threshold": value})
    assert status == 400
    assert "takes a number from 0.01 to 1" in page or "address lacks" in page
    assert ask(editions, f"/pair?a=x&b=y&threshold={value or 'y'}")[0] in (400, 404)
    assert "Duplicates at 0.6" in ask(editions, "/threshold")[1]


def test_nobody_else_begins_a_dry_run(editions: Served, tmp_path: Path) -> None:
    assert ask(editions, "/threshold", {"threshold": "0.7"})[0] == 403
    with serving(tmp_path, fill_with_editions, "--read-only") as served:
        form = {**fields_of(ask(served, "/threshold")[1], "/threshold"), "threshold": "0.7"}
        assert ask(served, "/threshold", form)[0] == 403
        page = ask(served, "/threshold")[1]
        assert "served read only" in page
        assert "35 reviewed pairs" in page


def test_what_would_change_is_reviewed_one_pair_after_another(tmp_path: Path) -> None:
    with serving(tmp_path, fill_with_editions) as served:
        page = tried(served, "0.8")
        pairs = len(re.findall('class="row"', page))
        waiting = page.count("<td></td></tr>")
        assert 0 < waiting <= pairs <= 20
        [begin] = re.findall(r'class="button" href="(/pair[^"]+)"', page)
        page = ask(served, begin)[1]
        for step in range(waiting):
            assert f"{pairs - waiting + step} of {pairs} reviewed" in page
            form = fields_of(page)
            number = int(form["b"].rpartition("/")[2])
            answer = "same" if number < EDITED_STORIES // 2 else "different"
            page = ask(served, "/review", {**form, "answer": answer})[1]
        assert "<h1>Threshold</h1>" in page
        assert 'class="button"' not in page
        assert f"by {35 + waiting} reviewed pairs" in page


def test_a_dry_run_that_fails_says_why(tmp_path: Path) -> None:
    with serving(tmp_path, fill_with_news) as served:
        page = ask(served, "/threshold")[1]
        assert "None yet: 0 labelled pairs" in page
        execute(tmp_path / "dedup.db", "DROP TABLE texts")
        assert re.search(r'class="note" role="status">[^<]*no such table', tried(served, "0.7"))


def test_a_dry_run_that_is_stopped_ends_early(tmp_path: Path) -> None:
    url, stopped = f"sqlite:///{tmp_path / 'dedup.db'}", threading.Event()
    fill_with_news(url)
    stopped.set()
    dry_run = DryRun(0.7)
    with Session.open(url, create=False) as session:
        dry_run.run(lambda: session, stopped)
    assert (dry_run.problem, dry_run.is_running) == ("the dry run was stopped", False)
    assert dry_run.changes is None


def test_a_dry_run_of_a_store_that_is_gone_says_so(tmp_path: Path) -> None:
    stores = StoreThreads(f"sqlite:///{tmp_path / 'gone.db'}", None)
    dry_run = DryRun(0.7)
    stores.begin(dry_run.run)
    assert so_within(PATIENCE, lambda: not dry_run.is_running)
    stores.close()
    assert "gone.db" in dry_run.problem


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
        browser.new_context(permissions=["clipboard-read", "clipboard-write"]) as context,
    ):
        tab = context.new_page()
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
