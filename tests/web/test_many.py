"""Many pairs reviewed at once, and two people at once: over HTTP, on either database."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from shingling import Page, Store
from tests.support.pages import article
from tests.support.stores import url_of
from tests.web.conftest import serving
from tests.web.stores import fill_with_news
from tests.web.test_requests import AGENCY, CITY, PAIR, ask, fields_of

if TYPE_CHECKING:
    from pathlib import Path

    from tests.web.conftest import Served


def groups_of(store: str) -> dict[str, str | None]:
    with Store.open(store) as opened:
        return {page.url: page.original for page in opened.pages()}


def reviewed(store: str) -> set[tuple[bool, str | None]]:
    with Store.open(store) as opened:
        return {(one.same, one.note) for one in opened.admin.reviews()}


def follow(served: Served, path: str, form: dict[str, str]) -> str:
    status, headers, page = ask(served, path, form)
    assert status == 303, page
    return ask(served, headers["location"])[2]


def test_many_pairs_are_shown_then_reviewed_and_undone_at_once(file: Path, tmp_path: Path) -> None:
    with serving(tmp_path / "news", fill_with_news, store=url_of(file)) as served:
        before = groups_of(served.store)
        shown = ask(served, "/many?words=number+story")[2]
        assert "Review 12 pairs at once" in shown
        assert "12 pages leave their groups and are decided again" in shown
        assert "12 originals are left without duplicates" in shown
        form = {**fields_of(shown), "answer": "different", "note": "two editions"}

        told = follow(served, "/review", form)
        assert "Reviewed 12 pairs as different.\n12 pages have left their groups" in told
        assert "No group fulfils this filter" in told  # at once
        assert reviewed(served.store) == {(False, "two editions")}
        undo = fields_of(told, "/undo")

        # Whoever has seen what was there before is told, and changes nothing.
        status, _, page = ask(served, "/review", {**form, "answer": "same"})
        assert status == 409
        assert "nothing is written" in page
        assert reviewed(served.store) == {(False, "two editions")}

        assert "Undone, 12 pairs" in follow(served, "/undo", undo)
        assert reviewed(served.store) == set()
        assert groups_of(served.store) == before

        group = ask(served, f"/many?{urlencode({'url': CITY})}")[2]
        assert "Review 3 pairs at once" in group
        follow(served, "/review", {**fields_of(group), "answer": "same"})
        assert reviewed(served.store) == {(True, None)}
        rows = ask(served, "/groups?reviewed=yes")[2]
        assert "1 group, 3 pairs" in rows
        wrong = {**form, "pairs": "1,2,"}
        assert ask(served, "/review", wrong)[0] == 400
        assert ask(served, "/review", {**form, "pairs": ",".join(["1"] * 1001)})[0] == 400


def test_two_browsers_answer_one_pair_while_a_crawl_writes(file: Path, tmp_path: Path) -> None:
    with serving(tmp_path / "news", fill_with_news, store=url_of(file)) as served:
        ended = threading.Event()

        def crawl() -> None:
            with Store.open(served.store) as store:
                run = store.start_run("another", {})
                for number in range(100, 130):
                    pages = [
                        Page(f"https://{site}.example/{number}", text=article(number, 200))
                        for site in ("one", "two")
                    ]
                    store.check(pages, run=run)
                    if ended.is_set():
                        break

        crawler = threading.Thread(target=crawl)
        crawler.start()
        try:
            _, _, page = ask(served, f"/pair?{urlencode(PAIR)}")
            form = fields_of(page)
            statuses: list[int] = []

            def answer(given: str) -> None:
                statuses.append(ask(served, "/review", {**form, "answer": given})[0])

            people = [threading.Thread(target=answer, args=(one,)) for one in ("same", "different")]
            for one in people:
                one.start()
            while crawler.is_alive():
                for path in ("/groups", "/groups?order=date", "/overview", "/reviews"):
                    assert ask(served, path)[0] == 200
            for one in people:
                one.join()
            assert sorted(statuses) == [303, 409]
        finally:
            ended.set()
            crawler.join()
        assert len(reviewed(served.store)) == 1
        assert "30 groups, 30 pairs" in ask(served, "/groups?site=one.example")[2]
        assert AGENCY in groups_of(served.store)
