"""Pieces of pages, and pages that contain others."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from shingling import Page, Rules, Store
from tests.support.invariants import ending, jaccard, text, verify, words
from tests.support.stores import url_of

if TYPE_CHECKING:
    from pathlib import Path

OTHER = text(words("other", 200))
LONG = words("long", 1500)
PIECE = text(LONG[700:790])


@pytest.mark.parametrize("start", [0, 333, 1400])
@pytest.mark.parametrize("length", [40, 100, 700])
def test_a_piece_of_forty_words_or_more_is_near_to_its_page_whatever_its_length(
    file: Path, start: int, length: int
) -> None:
    rules = Rules(containment=0.9)
    piece = text(LONG[start : start + length])
    with Store.open(url_of(file), rules=rules) as store:
        store.check([Page("https://a.example/long", text(LONG))], rules=rules)
        [verdict] = store.check([Page("https://a.example/piece", piece)], rules=rules)
        assert (verdict.status, verdict.reason) == ("near", "piece")
        assert verdict.original == "https://a.example/long"
        assert verdict.containment == 1.0
        assert verdict.resemblance == pytest.approx(jaccard(piece, text(LONG)))
        [again] = store.check([Page("https://a.example/piece", piece)], rules=rules)
        assert (again.status, again.original) == ("unchanged", "https://a.example/long")
    verify(file)


def test_a_page_that_contains_a_stored_one_is_an_original_and_says_so(file: Path) -> None:
    rules = Rules(containment=0.9)
    with Store.open(url_of(file), rules=rules) as store:
        store.check([Page("https://a.example/piece", PIECE)], rules=rules)
        [verdict] = store.check([Page("https://a.example/long", text(LONG))], rules=rules)
        assert (verdict.status, verdict.original) == ("new", None)
        assert verdict.contains == "https://a.example/piece"
        assert not verdict.is_duplicate
        copy = text(ending(LONG, "copy", 40))
        [verdict] = store.check([Page("https://b.example/long", copy)], rules=rules)
        assert (verdict.status, verdict.original) == ("near", "https://a.example/long")
    verify(file)


ARTICLES = [text(words(f"article {number}", 120)) for number in range(200)]


def test_a_page_that_collects_the_articles_of_another_site_takes_none_of_them(file: Path) -> None:
    rules = Rules(containment=0.9)
    with Store.open(url_of(file), rules=rules) as store:
        collected = Page("https://b.example/all", "\n".join(ARTICLES), title="All")
        pages = [
            Page(f"https://a.example/{number}", article, title=f"No {number}")
            for number, article in enumerate(ARTICLES)
        ]
        verdicts = store.check([collected, *pages], rules=rules)
        assert {(verdict.status, verdict.reason) for verdict in verdicts} == {("new", None)}
        assert store.admin.redecide(rules).to_duplicate == 0
        own = Page("https://www.b.example/17", ARTICLES[17])
        [verdict] = store.check([own], rules=rules)
        assert (verdict.status, verdict.original) == ("exact", "https://a.example/17")
    verify(file)


@pytest.mark.parametrize("host", ["a.example", "b.example"])
@pytest.mark.parametrize(("share", "found_elsewhere"), [(2, True), (3, True), (5, False)])
def test_a_page_of_another_site_may_be_four_times_as_long_as_its_piece(
    file: Path, host: str, share: int, found_elsewhere: bool
) -> None:
    rules = Rules(containment=0.9)
    comments = words("comments", 120 * (share - 1))
    with Store.open(url_of(file), rules=rules) as store:
        whole = Page("https://a.example/long", f"{ARTICLES[0]}\n{text(comments)}")
        piece = Page(f"https://{host}/piece", ARTICLES[0])
        verdict = store.check([whole, piece], rules=rules)[1]
        is_found = found_elsewhere or host == "a.example"
        assert (verdict.status, verdict.reason) == (
            ("near", "piece") if is_found else ("new", None)
        )
    verify(file)


def test_pages_that_share_less_than_the_containment_are_originals(file: Path) -> None:
    rules = Rules(containment=0.9)
    half = text([*LONG[100:160], *words("own", 60)])
    with Store.open(url_of(file), rules=rules) as store:
        pages = [Page("https://a.example/long", text(LONG)), Page("https://a.example/half", half)]
        verdicts = store.check(pages, rules=rules)
        assert [(v.status, v.contains) for v in verdicts] == [("new", None), ("new", None)]
        lower = Rules(containment=0.4)
        store.admin.forget(["https://a.example/half"])
        [verdict] = store.check(pages[1:], rules=lower)
        assert (verdict.status, verdict.reason) == ("near", "piece")
    verify(file)


def test_a_footer_on_many_pages_makes_none_of_them_a_piece(file: Path) -> None:
    footer = words("footer", 60)
    rules = Rules(containment=0.9)
    with Store.open(url_of(file), rules=rules) as store:
        pages = [
            Page(f"https://a.example/{number}", text([*words(number, 100), *footer]))
            for number in range(150)
        ]
        assert {verdict.status for verdict in store.check(pages, rules=rules)} == {"new"}
        [verdict] = store.check(
            [Page("https://a.example/last", text([*words(999, 100), *footer]))], rules=rules
        )
        assert verdict.candidates < 70, "what many pages have is not looked at"
        piece = Page("https://a.example/piece", text(words(3, 100)[10:80]))
        [verdict] = store.check([piece], rules=rules)
        assert verdict.original == "https://a.example/3"
    verify(file)


def test_the_same_text_in_many_other_scopes_does_not_hide_the_whole(file: Path) -> None:
    rules = Rules(containment=0.9)
    with Store.open(url_of(file), rules=rules) as store:
        pages = [
            Page("https://a.example/long", text(LONG), scope=f"scope {number}")
            for number in range(80)
        ]
        store.check(pages, rules=rules)
        piece = Page("https://a.example/piece", PIECE, scope="scope 79")
        [verdict] = store.check([piece], rules=rules)
        assert (verdict.reason, verdict.candidates) == ("piece", 1)
    verify(file)


def test_short_pages_do_not_hide_the_whole(file: Path) -> None:
    rules = Rules(containment=0.9, min_words=50)
    with Store.open(url_of(file), rules=rules) as store:
        short = [
            Page(f"https://a.example/{number}", text([*LONG[700:740], f"s{number}"]))
            for number in range(70)
        ]
        store.check([*short, Page("https://a.example/long", text(LONG))], rules=rules)
        [verdict] = store.check([Page("https://a.example/piece", PIECE)], rules=rules)
        assert verdict.original == "https://a.example/long"
    verify(file)


def test_a_page_that_changes_within_a_batch_is_found_by_its_new_text_only(file: Path) -> None:
    footer = words("footer", 60)
    rules = Rules(containment=0.9)
    first = [
        Page(f"https://a.example/{number}", text([*words(number, 100), *footer]))
        for number in range(63)
    ]
    then = [
        Page("https://a.example/x", text([*words("x", 100), *footer])),
        Page("https://a.example/x", text(words("other x", 100))),
        Page("https://a.example/piece", text(footer[5:55])),
    ]
    with Store.open(url_of(file), rules=rules) as store:
        store.check(first, rules=rules)
        verdicts = store.check(then, rules=rules)
    with Store.open(url_of(file.with_stem("single")), rules=rules) as store:
        store.check(first, rules=rules)
        assert verdicts == [store.check([page], rules=rules)[0] for page in then]
    assert verdicts[-1].reason == "piece"
