"""The page Savings of `scrapy dedup serve`: what rules on URLs save, and what they may lose."""

from __future__ import annotations

import csv
import html
import io
import json
import re
from typing import TYPE_CHECKING

from shingling import Page, Store
from shingling.fetching.learning import RuleCounts
from shingling.fetching.stored_rules import save
from shingling.proportions import Proportion
from shingling.store.session import Session
from tests.support.commands import dedup_command
from tests.support.pages import article
from tests.web.conftest import OF_COLOURS, serving, tab_of, violations, watched
from tests.web.test_threshold import ask

if TYPE_CHECKING:
    from pathlib import Path

    import pytest
    from playwright.sync_api import Browser

RULES = [
    RuleCounts("shop.example", "drop-parameter sid", "/", 60, 0, 500, 20),
    RuleCounts("shop.example", "drop-parameter sort", "/list", 5, 0),
    RuleCounts("shop.example", "drop-parameter sort", "/", 40, 0, 38, 2),
    RuleCounts("news.example", "drop-parameter <script>", "/", 30, 1, 7, 1),
    RuleCounts("news.example", "drop-parameter page", "/", 3, 30),
]


def fill_with_rules(url: str, requests: int = 5210) -> None:
    """Store what crawls of two sites have learned: the last one was only observed."""
    with Store.open(url) as store:
        Store.finish_run(store, store.start_run("old"), "finished")
        for counts in (
            {"fetch_requests": 10, "fetch_skipped": 7, "fetch_requests:news.example": 10},
            {
                "fetch_requests": requests - 10,
                "fetch_would_skip": 531,
                "fetch_requests:shop.example": requests - 10,
                "fetch_repeats:shop.example": 553,
                "fetch_checked": 553,
                "fetch_would_lose": 1,
                "fetch_explored": 22,
            },
        ):
            run = store.start_run("shop")
            run.counts.update(counts)
            store.finish_run(run, "finished")
    with Session.open(url) as session:
        save(session, RULES)


def text_of(page: str) -> str:
    return " ".join(html.unescape(re.sub("<[^>]*>", " ", page)).split())


def test_savings_are_those_of_the_runs_and_rules_and_nothing_observed_is_skipped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving(tmp_path, fill_with_rules) as served:
        page = text_of(ask(served, "/savings")[1])
        data = json.loads(ask(served, "/savings.json")[1])
        rows = [*csv.DictReader(io.StringIO(ask(served, "/savings.csv")[1]))]
        rules = dedup_command(monkeypatch, "rules", "--json", "--store", served.store).json()
        as_table = dedup_command(monkeypatch, "rules", "--store", served.store).out
    assert (
        "Of 5,210 requests that could have been skipped, 7 requests were skipped, and 531 would"
        " have been ( observe : they were made): 10.3%."
    ) in page
    lost = Proportion.of(1, 553)
    assert (
        "Of 553 such pages that were looked at anyway, 1 would have been lost:"
        f" {lost.low:.2%} to {lost.high:.2%} of all, with 95 % confidence."
    ) in page
    assert 'DEDUP_FETCH = "observe" DEDUP_SKIP_RISK = 0.01' in page  # 0.01 % to 1.00 % is too much
    assert "553 of 5,200 requests, 10.6% drop-parameter sid / 500 20 60 0 0.01% yes" in page
    assert "Most are found by drop-parameter sid, on shop.example. More than 1.00% may be" in page
    assert lost.high > 0.01
    assert (data["skipped"], data["would_skip"], data["lost"]["high"]) == (7, 531, lost.high)
    assert "skipped" not in as_table
    # The command line lists the same rules, with the same numbers.
    by_name = {(one["site"], one["change"], one["node"]): one for one in rules["rules"]}
    assert {(row["site"], row["change"], row["node"]) for row in rows} == {*by_name}
    for row in data["rows"]:
        one = by_name[row["site"], row["change"], row["node"]]
        assert {name: row[name] for name in ("saved", "explored", "risk", "active")} == {
            name: one[name] for name in ("saved", "explored", "risk", "active")
        }
    assert [row["site"] for row in data["rows"]][:2] == ["shop.example"] * 2


def test_little_that_is_saved_is_explained(tmp_path: Path) -> None:
    def fill(url: str) -> None:
        fill_with_rules(url, requests=100_000)

    with serving(tmp_path / "much", fill) as served:
        assert "Little is saved because few requests differ" in ask(served, "/savings")[1]
    with serving(tmp_path / "none", lambda url: Store.open(url).close()) as served:
        page = ask(served, "/savings")[1]
        assert "No crawl has looked at requests yet" in page
        assert "DEDUP_FETCH = &#34;observe&#34;" in page


NODES = ("/", "/list")


def fill_with_urls(file: str) -> None:
    """Store what a crawl of start requests with `observe` has fetched, and learned."""
    fetched = ["a&sid=1", "b&sid=1", "a&sid=2", "b", "c&sid=4", "a"]
    with Store.open(file) as store:
        run = store.start_run("shop")
        for place in fetched:
            for site in ("shop.example", "other.example"):
                url = f"https://{site}/list?id={place}"
                store.check([Page(url, text=article(1, 50))], run=run)
        run.counts.update({"fetch_learned_from": 7})
        store.finish_run(run, "finished")
    with Session.open(file) as session:
        rules = [RuleCounts("shop.example", "drop-parameter sid", node, 999) for node in NODES]
        save(session, rules)


def test_urls_that_rules_would_skip_are_listed_as_sql_finds_them(tmp_path: Path) -> None:
    with serving(tmp_path, fill_with_urls) as served:
        said = text_of(ask(served, "/savings")[1])
        savings = json.loads(ask(served, "/savings.json")[1])
        shown = text_of(ask(served, "/repeats")[1])
        data = json.loads(ask(served, "/repeats.json")[1])
        rows = [*csv.DictReader(io.StringIO(ask(served, "/repeats.csv")[1]))]
        pages = [
            ask(served, f"/page{kind}?url=https://{site}.example/list?id=a%26sid=1")[1]
            for site in ("shop", "other")
            for kind in (".json", "")
        ]
        with Session.open(served.store, create=False) as session, session.reading() as connection:
            number = connection.exec_driver_sql(
                "SELECT count(*) -"
                " count(DISTINCT substr(url, 1, instr(url || '&sid=', '&sid=') - 1))"
                " FROM pages WHERE site = 'shop.example'"
            ).scalar()
    assert "Crawls have learned from pages, but have made no request that could have been" in said
    assert "which have learned from 7 pages" in said
    assert (savings["learned_from"], savings["next"]) == (7, None)
    listed = "https://shop.example/list?id="
    assert len(rows) == len(data["rows"]) == data["total"] == number == 3
    assert [(row["url"], row["repeats"]) for row in rows] == [
        (f"{listed}{url}", f"{listed}{page}")
        for url, page in (("a", "a&sid=1"), ("b", "b&sid=1"), ("a&sid=2", "a&sid=1"))
    ]
    assert data["rows"][0]["changes"] == ["drop-parameter sid"]
    assert f"{listed}b {listed}b&sid=1 drop-parameter sid" in shown
    # The page of a URL has the rules that act on it, folded, and no others.
    rules = json.loads(pages[0])["rules"]
    assert [(rule["change"], rule["active"]) for rule in rules] == [("drop-parameter sid", True)]
    assert "<details><summary>1 rule that acts on its URL</summary>" in pages[1]
    assert json.loads(pages[2])["rules"] == []
    assert "on its URL" not in pages[3]


def test_hostile_rules_are_shown_as_text_on_a_phone(
    tmp_path: Path, browser: Browser, axe: str
) -> None:
    with serving(tmp_path, fill_with_rules) as served:
        for scheme, rules in (("light", ()), ("dark", OF_COLOURS)):
            viewport = {"width": 390, "height": 800}
            with tab_of(browser, viewport=viewport, color_scheme=scheme) as tab:
                _, troubles = watched(tab)
                tab.goto(f"{served.address}/savings")
                assert "drop-parameter <script>" in tab.inner_text("table")
                wide = "document.documentElement.scrollWidth > innerWidth"
                assert not tab.evaluate(wide)
                assert violations(tab, axe, *rules) == []
                assert troubles == []
