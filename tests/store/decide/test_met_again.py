"""Pages that are met again: whether their text and their items say what they said before."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import pytest

from shingling import Page, Store
from shingling.rules.own_fields import OwnFields
from shingling.rules.values import own_fields
from shingling.store.runs import end_run, insert_run, resume_run
from tests.support.invariants import ending, text, words
from tests.support.stores import session_of, url_of

if TYPE_CHECKING:
    from pathlib import Path

    from shingling import Verdict

BASE = words("base")
A = text(BASE)
EDITED = text(ending(BASE, "edited", 4))
URL = "https://a.example/1"


def verdicts(file: Path, *pages: Page, **rules: Any) -> list[Verdict]:
    with Store.open(url_of(file), **rules) as store:
        return [verdict for one in pages for verdict in store.check(one)]


def item(title: str | None = None, text: str = A, **fields: Any) -> Page:
    return Page(URL, text, title=title, fields=fields)


@pytest.mark.parametrize(
    ("before", "now", "changed"),
    [
        ({"price": 10}, {"price": 10}, ()),
        ({"price": 10}, {"price": 12}, ("price",)),
        ({"price": 10}, {"price": 10, "stock": 3}, ("stock",)),
        ({"price": 10, "stock": 3}, {"price": 10}, ("stock",)),
        ({"price": 10, "sizes": ["S", "M"]}, {"price": 9, "sizes": ["S"]}, ("price", "sizes")),
        ({}, {"price": 10}, ("price",)),
        ({}, {}, ()),
    ],
)
def test_an_item_that_says_something_else_has_changed(
    file: Path, before: dict[str, Any], now: dict[str, Any], changed: tuple[str, ...]
) -> None:
    _, again, third = verdicts(file, item(**before), item(**now), item(**now))
    assert again.status == ("changed" if changed else "unchanged")
    assert again.fields == changed
    assert again.repeats == (None if changed else "store")
    assert (third.status, third.fields, third.repeats) == ("unchanged", (), "store")


def test_fields_that_say_nothing_do_not_count(file: Path) -> None:
    pages = item(price=10, views=1), item(price=10, views=2)
    assert verdicts(file, *pages, ignore_fields=("views",))[1].status == "unchanged"
    assert verdicts(file.with_stem("b"), *pages, fields=("price",))[1].status == "unchanged"
    assert verdicts(file.with_stem("c"), *pages, fields=("views",))[1].status == "changed"
    pages = item(price=10), Page(URL, A)
    assert verdicts(file.with_stem("d"), *pages)[1].status == "unchanged", "no item: no data"


def document(url: str, title: str) -> Page:
    fields = OwnFields(own_fields([], [url]), is_document=True)
    fields.has_title = True
    return Page(url, A, title=title, fields=fields)


def test_a_title_alone_makes_no_page_changed_if_titles_do_not_count(file: Path) -> None:
    pages = document(URL, "Rain falls"), document(URL, "Snow falls in the valley")
    assert [one.status for one in verdicts(file, *pages)] == ["new", "changed"]
    found = verdicts(file.with_stem("b"), *pages, titles="ignore")
    assert [one.status for one in found] == ["new", "unchanged"]


def test_a_document_under_another_title_has_changed_and_is_decided_again(file: Path) -> None:
    copy = "https://a.example/2"
    found = verdicts(
        file,
        document(URL, "Rain falls on the hills"),
        document(copy, "Rain falls on the hills"),
        document(copy, "Snow falls in the valley"),
        document(copy, "Snow falls in the valley"),
        document(URL, "Wind"),
        document(URL, "Wind"),
    )
    assert [one.status for one in found] == [
        *("new", "exact"),
        *("changed", "unchanged"),
        *("changed", "unchanged"),
    ]
    assert found[1].original == URL
    assert found[2].original is None, "its title is in no line of the original"
    assert found[2].fields == ("title",)


def test_a_duplicate_whose_item_changes_with_its_original_stays_one(file: Path) -> None:
    def at(path: str, price: int) -> Page:
        return Page(f"https://a.example/{path}", A, fields={"price": price})

    pages = at("1", 10), at("2", 10), at("1", 12), at("2", 12), at("2", 12), at("2", 13)
    found = verdicts(file, *pages)
    assert [one.status for one in found] == [
        *("new", "exact"),
        *("changed", "changed", "unchanged"),
        "exact",
    ]
    assert [one.is_duplicate for one in found] == [False, True, False, True, True, False]
    assert found[4].repeats == "store"


def test_what_was_a_duplicate_until_now_does_not_repeat_what_came_out(file: Path) -> None:
    pages = Page(URL, A), Page("https://b.example/", EDITED)
    assert [one.status for one in verdicts(file, *pages)] == ["new", "near"]
    assert [one.repeats for one in verdicts(file, *pages)] == ["store", "store"]
    again = verdicts(file, *pages, threshold=0.999)
    assert [(one.status, one.original) for one in again] == [("unchanged", None)] * 2
    assert [one.repeats for one in again] == ["store", None]
    assert [one.repeats for one in verdicts(file, *pages, threshold=0.999)] == ["store"] * 2


def test_a_page_repeats_what_this_crawl_has_met_in_all_its_parts(file: Path) -> None:
    with Store.open(url_of(file)) as store:
        session = session_of(store)

        def met_by(outcome: str | None, parts: tuple[int, ...] = ()) -> tuple[int, str | None]:
            run = session.write(lambda one: insert_run(one, "s", {}, is_crawl=True))
            session.database.read(lambda one: resume_run(one, run, parts))
            (verdict,) = store.check(Page(URL, A), run=run)
            if outcome is not None:
                session.write(lambda one: end_run(one, run, outcome))
            return run.id, verdict.repeats

        first, repeats = met_by("shutdown")
        assert repeats is None
        second, repeats = met_by("shutdown", (first,))
        assert repeats == "crawl"
        third, repeats = met_by("finished", (first, second))
        assert repeats == "crawl"
        assert met_by("finished", (third,))[1] == "store", "the job had finished: it is another one"
        killed, repeats = met_by(None)
        assert repeats == "store"
        assert met_by("finished")[1] == "store", "it may still be under way"
        killed, _ = met_by(None)
        an_hour_ago = int(time.time()) - 3600
        with session.database.engine.begin() as connection:
            connection.exec_driver_sql(
                f"UPDATE runs SET started = {an_hour_ago}, finished = {an_hour_ago}"
                f" WHERE id = {killed}"
            )
        assert met_by("finished")[1] is None, "what came out of it is not known"
        assert met_by("finished")[1] == "store"


def test_pages_whose_commit_may_have_failed_repeat_nothing(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Store.open(url_of(file)) as store:
        session = session_of(store)
        write = session.database.write

        def commit_twice(action: Any, *, alone: bool = False) -> Any:
            """Do what a database does that is lost just after a commit."""
            write(action, alone=alone)
            return write(action, alone=alone)

        monkeypatch.setattr(session.database, "write", commit_twice)
        (verdict,) = store.check(Page(URL, A))
        assert (verdict.status, verdict.repeats) == ("unchanged", None)
