"""The page Threshold of `scrapy dedup serve`, and the guided sample that begins there."""

from __future__ import annotations

import html
import re
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlsplit

import pytest

from shingling import Page, Rules, Store
from shingling.tuning.pairs import reviewed_pairs
from shingling.tuning.report import tune_on
from tests.support.pages import article
from tests.support.stores import execute, locked
from tests.web.conftest import serving, watched
from tests.web.stores import EDITED_STORIES, fill_with_editions, fill_with_news
from tests.web.test_requests import ask as send, fields_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from playwright.sync_api import Browser

    from tests.web.conftest import Served

FIRST_MISSING = ("https://first.example/story/2", "https://again.example/story/2")


def ask(served: Served, path: str, form: dict[str, str] | None = None) -> tuple[int, str]:
    """Send a request, and follow where it is sent on; return status and body."""
    status, headers, body = send(served, path, form)
    return ask(served, headers["location"]) if status == 303 else (status, body)


def fill_with_few_reviews(url: str) -> None:
    kept = (*range(4), *range(40, EDITED_STORIES))
    fill_with_editions(url, [one for one in range(EDITED_STORIES) if one not in kept])


@pytest.fixture(scope="module")
def editions(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(tmp_path_factory.mktemp("editions"), fill_with_editions) as served:
        yield served


def test_the_page_shows_what_a_threshold_drops_and_what_reviews_say_of_it(editions: Served) -> None:
    status, page = ask(editions, "/threshold?threshold=0.7")
    assert status == 200
    with Store.open(editions.store) as store:
        changes = store.admin.redecide(Rules(threshold=0.7), dry_run=True)
        duplicates = store.status().duplicates
    dropped = changes.pages - changes.originals[1]
    assert "Dropped at 0.7, if all are decided again" in page
    assert f"<dd>{dropped} pages</dd>" in page
    assert f"The store has {duplicates} duplicates now" in page
    assert "35 reviewed pairs" in page
    assert "<svg" in page
    assert "DEDUP_THRESHOLD = 0.7<" in page
    rows = page.partition("Just above")[2]
    above, _, below = rows.partition("Just below")
    shown = [
        [float(value) for value in re.findall(r'class="number">(\d\.\d+)<', part)]
        for part in (above, below)
    ]
    assert [len(part) for part in shown] == [5, 5]
    assert min(shown[0]) >= 0.7 > max(shown[1])


def test_what_the_page_says_of_reviews_is_what_tune_says(editions: Served) -> None:
    page = html.unescape(ask(editions, "/threshold")[1])
    with Store.open(editions.store) as store:
        report = tune_on(reviewed_pairs(store), store.scheme, Rules(threshold=0.5))
    (row,) = [one for one in report.results if one.setting.name == "5 words"]
    assert row.curve is not None
    assert report.pairs == 35
    shown = re.findall(
        r"threshold=[\d.]+\">([\d.]+)</a>.*?<td class=\"date\">[^<]*</td>"
        r"<td class=\"date\">([\d.–]+)</td><td class=\"date\">([\d.–]+)</td>",
        page,
    )
    assert len(shown) == 15
    for at, precision, recall in shown:
        place = row.curve.at.index(float(at))
        assert recall == f"{row.curve.recall[place]:.3f}"
        assert precision in (f"{row.curve.precision[place]:.3f}", "–")
    recommended = re.search(r"<strong>([\d.]+)</strong>\. (.*)", page)
    assert recommended
    better = row.quality.f1 > report.present.quality.f1
    figure = row if better else report.present
    assert f"{figure.quality.f1:.3f}" in recommended[2]
    assert "Note: few pairs (35, and" in page


def test_at_the_present_threshold_it_is_what_the_store_has(tmp_path: Path) -> None:
    def edited_since(url: str) -> None:
        fill_with_editions(url)
        with Store.open(url) as store:
            store.admin.redecide(Rules(threshold=0.9))  # not what 0.6 would give

    with serving(tmp_path, edited_since, "-s", "DEDUP_THRESHOLD=0.6") as made:
        page = ask(made, "/threshold?threshold=0.6")[1]
        other = ask(made, "/threshold?threshold=0.61")[1]
        with Store.open(made.store) as store:
            has = store.status()
            again = store.admin.redecide(Rules(threshold=0.6), dry_run=True)
    assert again.pages - again.originals[1] > has.duplicates
    assert f"the present threshold</dt><dd>{has.duplicates} pages</dd>" in page
    decided_again = (again.pages - again.originals[1]) / has.pages
    assert f"Decided again: {decided_again:.1%}" in page
    assert "the present threshold</dt>" not in other
    assert f"The store has {has.duplicates} duplicates now" in other


def test_the_slider_counts_where_it_was_moved_and_the_number_otherwise(editions: Served) -> None:
    for query, shown in {
        "": "0.5",
        "threshold=&shown=": "0.5",
        "threshold=0.62": "0.62",
        "slider=0.5&shown=0.5&threshold=0.62": "0.62",
        "slider=0.81&shown=0.5&threshold=0.5": "0.81",
        "threshold=0.333333": "0.33",
        "threshold=1": "1",
    }.items():
        assert f"DEDUP_THRESHOLD = {shown}<" in ask(editions, f"/threshold?{query}")[1], query
    page = ask(editions, "/threshold?threshold=0.3")[1]
    assert "run `scrapy dedup rebuild --threshold 0.3` once" in html.unescape(page)


@pytest.mark.parametrize(
    "query",
    [
        *(f"threshold={value}" for value in ("nan", "1e999", "-1", "0.2", "1.01", "x", "9" * 5000)),
        "slider=inf&shown=0.5",
        *(f"sample={value}" for value in ("-1", "1-2", "%C2%B2", "9" * 5000, "%3Cscript%3E")),
    ],
)
def test_other_values_get_a_clear_page(editions: Served, query: str) -> None:
    status, page = ask(editions, f"/threshold?{query}")
    assert status == 400
    assert "takes a number from 0.3 to 1" in page or "ample takes a whole number" in page
    assert "<script>" not in page
    if query.startswith("sample"):
        a, b = FIRST_MISSING
        assert ask(editions, f"/pair?a={a}&b={b}&{query}")[0] == 400


def begin(page: str) -> str:
    """Address that the button leads to, which begins the sample or goes on with it."""
    (found,) = re.findall(r'class="button" href="(/pair[^"]+)"', page)
    return html.unescape(found)


def test_a_sample_goes_on_after_a_restart_and_ends_with_a_recommendation(tmp_path: Path) -> None:
    with serving(tmp_path, fill_with_few_reviews) as before:
        page = ask(before, "/threshold")[1]
        assert "None yet: 8 labelled pairs, 4 the same and 4 different, are too few" in page
        assert "Look at 33 more pairs" in page
        _, page = ask(before, begin(page))
        seen = [fields_of(page)]
        for step in range(2):
            assert f"{7 + step} of 40 reviewed" in page
            status, page = ask(before, "/review", {**fields_of(page), "answer": "same"})
            assert status == 200
            seen.append(fields_of(page))
        # Undone, it comes again.
        undone = ask(before, "/undo", fields_of(page, "/undo"))[1]
        assert "8 of 40 reviewed" in undone
        assert fields_of(undone)["b"] == seen[1]["b"]
        page = ask(before, "/review", {**fields_of(undone), "answer": "different"})[1]
        # Skipped without an answer, it waits behind the others.
        skipped = fields_of(page)
        address = begin(page)
        ask(before, address)

    with serving(tmp_path, lambda _: None) as after:
        _, page = ask(after, address)
        for step in range(30):
            assert f"{9 + step} of 40 reviewed" in page
            number = int(fields_of(page)["b"].rpartition("/")[2])
            answer = "same" if number < EDITED_STORIES // 2 else "different"
            page = ask(after, "/review", {**fields_of(page), "answer": answer})[1]
        assert "Sample: 39 of 40 reviewed." in page
        assert parse_qs(urlsplit(begin(page)).query)["b"] == [skipped["b"]]
        page = ask(after, begin(page))[1]
        page = ask(after, "/review", {**fields_of(page), "answer": "different"})[1]
        assert "Sample: 40 of 40 reviewed." in page
        assert "41 reviewed pairs" in page
        assert re.search(r"<strong>[\d.]+</strong>. (The present settings|Shingles of 5)", page)
        assert "Look at 3 more pairs" in page


def test_pairs_at_the_threshold_lead_from_one_to_the_next_and_back(tmp_path: Path) -> None:
    with serving(tmp_path, fill_with_editions) as made:
        page = ask(made, "/threshold?threshold=0.7")[1]
        waiting = page.count("<td></td></tr>")
        assert waiting >= 1
        second = re.findall(r'href="(/pair\?[^"]+)"', page)[1]
        page = ask(made, html.unescape(second))[1]
        assert f"{10 - waiting} of 10 reviewed" in page
        while "<h1>Threshold</h1>" not in page:
            page = ask(made, "/review", {**fields_of(page), "answer": "same"})[1]
        assert "DEDUP_THRESHOLD = 0.7<" in page


def test_stores_with_little_to_tell_get_a_clear_page(tmp_path: Path) -> None:
    def nothing(url: str) -> None:
        Store.open(url).close()

    def unlike(url: str) -> None:
        same = [Page(f"https://{at}.example/", text=article(1)) for at in "ab"]
        with Store.open(url) as store:
            store.check([*same, Page("https://c.example/", text=article(2))])

    def short(url: str) -> None:
        with Store.open(url) as store:
            store.check([Page("https://a.example/", text="three short words", title="A")])

    for fill, told in (
        (nothing, "No pages are stored yet"),
        (unlike, "but for 1 exact duplicate: every threshold does the same"),
        (short, "No page looks like an earlier one"),
    ):
        with serving(tmp_path / fill.__name__, fill) as made:
            status, page = ask(made, "/threshold?threshold=0.6")
            assert (status, told in page) == (200, True), page


def test_damage_other_methods_and_attacks_are_told_of(tmp_path: Path, attacks: Served) -> None:
    with serving(tmp_path, fill_with_news, "-s", "DEDUP_METHOD=megashingle") as made:
        file = tmp_path / "dedup.db"
        execute(file, "UPDATE pages SET minima = substr(minima, 1, 9) WHERE url LIKE '%story/3'")
        with locked(file):
            status, page = ask(made, "/threshold")
        assert status == 200
        assert "2 pages of the sample cannot be read and are left out" in page
        assert "<code>megashingle</code>, which asks for no threshold" in page
    status, page = ask(attacks, "/threshold?threshold=0.5")
    assert (status, page.count('class="row"')) == (200, 1)
    assert page.count("<script") == 2
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
        keys.press("ArrowRight")
        keys.press("ArrowRight")
        tab.wait_for_url("**/threshold?threshold=0.52")
        keys.press("ArrowLeft")  # it still has the focus
        tab.wait_for_url("**/threshold?threshold=0.51")
        keys.press("Escape")
        with tab.expect_navigation():
            keys.press("n")
        left = 40 - int(tab.locator(".path label").inner_text().split()[0])
        for step in range(40 - left, 40):
            assert tab.get_by_text(f"{step} of 40 reviewed").is_visible()
            with tab.expect_navigation():
                keys.press("d")
        assert "/threshold?" in tab.url
        tab.goto(f"{served.address}/threshold")
        recommended = tab.locator(".advice strong").inner_text()
        line = f"DEDUP_THRESHOLD = {recommended}"
        assert tab.locator("#line").inner_text() == line
        keys.press("c")
        tab.get_by_text("Copied.").wait_for()
        assert tab.evaluate("navigator.clipboard.readText()") == line
        assert troubles == []
