"""Pieces of pages, pages that contain others, and pages that are made to look like others."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from shingling import Page, Rules, Store, sign
from tests.hostile.growth import calls
from tests.store.decide.templates.pages import one
from tests.support.invariants import ending, jaccard, text, verify, words
from tests.support.stores import url_of
from tests.support.twins import twin

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from shingling.arrays import Minima


RULES = Rules(containment=0.9)
LONG = words("long", 1500)
PIECE = text(LONG[700:790])
FOOTER = words("footer", 60)
ARTICLES = [text(words(f"article {number}", 120)) for number in range(200)]


@pytest.fixture
def store(file: Path) -> Iterator[Store]:
    with Store.open(url_of(file), rules=RULES) as opened:
        yield opened
    verify(file)


def page(name: object, main_text: str, scope: str = "") -> Page:
    return Page(f"https://a.example/{name}", main_text, scope=scope)


def with_footer(name: int | str) -> Page:
    return page(name, text([*words(name, 100), *FOOTER]))


@pytest.mark.parametrize("start", [0, 333, 1400])
@pytest.mark.parametrize("length", [40, 700])
def test_a_piece_of_forty_words_or_more_is_near_to_its_page_whatever_its_length(
    store: Store, start: int, length: int
) -> None:
    piece = text(LONG[start : start + length])
    store.check([page("long", text(LONG))])
    verdict = one(store, page("piece", piece))
    assert (verdict.status, verdict.reason) == ("near", "piece")
    assert verdict.original == "https://a.example/long"
    assert verdict.containment == 1.0
    assert verdict.resemblance == pytest.approx(jaccard(piece, text(LONG)))
    again = one(store, page("piece", piece))
    assert (again.status, again.original) == ("unchanged", "https://a.example/long")


def test_a_page_that_collects_the_articles_of_another_site_takes_none_of_them(store: Store) -> None:
    collected = Page("https://b.example/all", "\n".join(ARTICLES), title="All")
    pages = [
        Page(f"https://a.example/{number}", article, title=f"No {number}")
        for number, article in enumerate(ARTICLES)
    ]
    verdicts = store.check([collected, *pages])
    assert {(verdict.status, verdict.reason) for verdict in verdicts} == {("new", None)}
    assert store.admin.redecide(RULES).to_duplicate == 0
    verdict = one(store, Page("https://www.b.example/17", ARTICLES[17]))
    assert (verdict.status, verdict.original) == ("exact", "https://a.example/17")


@pytest.mark.parametrize("length", [120, 210, 300])
def test_a_page_that_contains_a_stored_original_is_kept_and_leads_those_that_come_later(
    store: Store, length: int
) -> None:
    whole = LONG[:400]
    pages = [page("cut", text(whole[:length])), page("whole", text(whole))]
    cut, full, later = store.check([*pages, page("later", text(ending(whole, 1, 9)))])
    assert (cut.status, full.status, full.original) == ("new", "new", None)
    assert full.contains == "https://a.example/cut"
    assert (later.status, later.original) == ("near", "https://a.example/whole")


def test_pages_that_share_less_than_the_containment_are_originals(store: Store) -> None:
    half = page("half", text([*LONG[100:160], *words("own", 60)]))
    verdicts = store.check([page("long", text(LONG)), half])
    assert [(v.status, v.contains) for v in verdicts] == [("new", None), ("new", None)]
    store.admin.forget([half.url])
    [verdict] = store.check([half], rules=Rules(containment=0.4))
    assert (verdict.status, verdict.reason) == ("near", "own_text")
    store.admin.forget([half.url])
    [verdict] = store.check([half], rules=Rules(containment=0.4, own_text="ignore"))
    assert (verdict.status, verdict.reason) == ("near", "piece")


def test_a_footer_on_many_pages_makes_none_of_them_a_piece(store: Store) -> None:
    pages = [with_footer(number) for number in range(150)]
    assert {verdict.status for verdict in store.check(pages)} == {"new"}
    assert one(store, with_footer(999)).candidates < 70, "what many pages have is not looked at"
    piece = page("piece", text(words(3, 100)[10:80]))
    assert one(store, piece).original == "https://a.example/3"


def test_the_same_text_in_many_other_scopes_does_not_hide_the_whole(store: Store) -> None:
    store.check([page("long", text(LONG), f"scope {number}") for number in range(80)])
    verdict = one(store, page("piece", PIECE, "scope 79"))
    assert (verdict.reason, verdict.candidates) == ("piece", 1)


def test_short_pages_do_not_hide_the_whole(store: Store) -> None:
    rules = Rules(containment=0.9, min_words=50)
    short = [page(number, text([*LONG[700:740], f"s{number}"])) for number in range(70)]
    store.check([*short, page("long", text(LONG))], rules=rules)
    [verdict] = store.check([page("piece", PIECE)], rules=rules)
    assert verdict.original == "https://a.example/long"


def test_a_page_that_changes_within_a_batch_is_found_by_its_new_text_only(file: Path) -> None:
    first = [with_footer(number) for number in range(63)]
    changed = page("x", text(words("other x", 100)))
    then = [with_footer("x"), changed, page("piece", text(FOOTER[5:55]))]
    with Store.open(url_of(file), rules=RULES) as store:
        store.check(first)
        verdicts = store.check(then)
    with Store.open(url_of(file.with_stem("single")), rules=RULES) as store:
        store.check(first)
        assert verdicts == [one(store, checked) for checked in then]
    assert verdicts[-1].reason == "piece"


@pytest.mark.parametrize("host", ["a.example", "b.example"])
@pytest.mark.parametrize("rules", [Rules(), Rules(containment=0.9), Rules(templates=False)])
def test_words_decide_where_fingerprints_are_forged(
    tmp_path: Path, rules: Rules, host: str
) -> None:
    own = words("own", 120)
    forged = [twin(word) for word in own]
    assert not {*own} & {*forged}
    with Store.open(f"sqlite:///{tmp_path / 'dedup.db'}", rules=rules) as store:
        first = store.check_one("https://a.example/1", text(own))
        assert sign(text(own)).minima.tolist() == sign(text(forged)).minima.tolist()
        whole = store.check_one(f"https://{host}/2", text(forged))
        part = store.check_one(f"https://{host}/3", text([*forged[:60], *words("rest", 30)]))
        assert {one.status for one in (first, whole, part)} == {"new"}
        alike = store.check_one(f"https://{host}/4", text(ending(own, 1, 5)))
        assert (alike.status, alike.original) == ("near", "https://a.example/1")


def pages_of(numbers: range, minima: Minima | None = None) -> list[Page]:
    """Return pages that have nothing in common, but for their minima if these are given."""
    texts = [text(words(number)) for number in numbers]
    signed = [sign(one) for one in texts]
    if minima is not None:
        signed = [replace(one, minima=minima) for one in signed]
    return [
        Page(f"https://a.example/{one}", one, signature, title=one[:20])
        for one, signature in zip(texts, signed, strict=True)
    ]


def test_pages_that_share_all_minima_cost_a_bounded_time(tmp_path: Path) -> None:
    minima = sign(text(words("fixed"))).minima
    with Store.open(f"sqlite:///{tmp_path / 'dedup.db'}") as store:
        store.check(pages_of(range(200), minima))
        few = calls(store.check, pages_of(range(200, 210), minima))
        store.check(pages_of(range(210, 600), minima))
        many = calls(store.check, pages_of(range(600, 610), minima))
        ordinary = calls(store.check, pages_of(range(610, 620)))
        assert store.status().originals == 620
    assert many < min(1.05 * few, 16 * ordinary)
