"""The page Audit of `scrapy dedup serve`: what speaks against duplicates, and what was found."""

from __future__ import annotations

import csv
import html
import io
import json
from typing import TYPE_CHECKING

from shingling.admin.audit import riskiest_drops
from shingling.proportions import most_wrong, number_needed
from shingling.store.session import Session
from tests.admin.test_audit import fill_with_risks
from tests.support.processes import PATIENCE, so_within
from tests.web.conftest import serving, tab_of, violations, watched
from tests.web.stores import fill_with_attacks
from tests.web.test_requests import fields_of
from tests.web.test_threshold import ask

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Browser

    from tests.web.conftest import Served


def listed(served: Served) -> str:
    """Page with the list, which takes a moment."""
    assert so_within(PATIENCE, lambda: 'id="running"' not in ask(served, "/audit")[1])
    return html.unescape(ask(served, "/audit")[1])


def test_an_audit_ends_with_how_many_are_wrong_at_most(tmp_path: Path) -> None:
    with serving(tmp_path, fill_with_risks) as served:
        page = listed(served)
        hoped = f"{100 * most_wrong(0, 10):.2g}"
        assert f"If 10 are and none is wrong, at most {hoped} % are, with 95 % conf" in page
        with Session.open(served.store, create=False) as session:
            number, drops = riskiest_drops(session, lambda *_: None)
        data = json.loads(ask(served, "/audit.json")[1])
        assert data["duplicates"] == number
        assert [row["url"] for row in data["rows"]] == [drop.url for drop in drops]
        rows = [*csv.DictReader(io.StringIO(ask(served, "/audit.csv?size=3&after=2")[1]))]
        assert [row["url"] for row in rows] == [drop.url for drop in drops[2:5]]

        page = html.unescape(
            ask(served, page.partition('class="button" href="')[2].split('"')[0])[1]
        )
        assert "0 of 10 reviewed" in page
        for step, answer in enumerate(("different", "same", "same", "same"), 1):
            form = fields_of(page)
            assert form["b"] == drops[step - 1].url
            page = ask(served, "/review", {**form, "answer": answer})[1]
            assert f"{step} of 10 reviewed" in page
        page = listed(served)
        most = f"{100 * most_wrong(1, 4):.2g}"
        assert f"4 looked at, 1 wrong: at most {most} % wrong, with 95 % confidence." in page
        assert "There are 10 duplicates: to say that at most 1 % are wrong, look at all" in page
        data = json.loads(ask(served, "/audit.json")[1])
        assert [data[name] for name in ("looked_at", "wrong", "needed")] == [
            *(4, 1),
            number_needed(1, 0.01),
        ]
        # Another list begins anew, without what a person has decided.
        assert ask(served, "/audit", {"form_token": "none"})[0] == 403
        ask(served, "/audit", fields_of(page, "/audit"))
        assert "Of 6 duplicates that no review has decided" in listed(served)


def test_hostile_titles_and_an_empty_store_are_audited(
    tmp_path: Path, browser: Browser, axe: str
) -> None:
    with serving(tmp_path, fill_with_attacks) as served, tab_of(browser) as tab:
        asked, troubles = watched(tab)
        tab.goto(served.address)
        tab.keyboard.press("i")
        tab.wait_for_url("**/audit")
        tab.get_by_text("Nothing is looked at yet").wait_for()
        assert "svg onload" in tab.inner_text("table")
        assert tab.title().startswith("Audit")
        tab.set_viewport_size({"width": 390, "height": 800})
        assert violations(tab, axe) == []
        assert troubles == []
        assert all(url.startswith(served.address) for url in asked)
    with serving(tmp_path / "empty", lambda url: Session.open(url).close()) as served:
        assert "Nothing is looked at yet." in listed(served)
