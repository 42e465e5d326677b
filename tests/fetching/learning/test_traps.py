"""Traps: one page that leads to itself under ever new URLs."""

from __future__ import annotations

import random
import re
from datetime import date, timedelta
from itertools import count
from typing import TYPE_CHECKING, Any, TypeAlias
from urllib.parse import urljoin, urlsplit

import pytest

from shingling.fetching.learning import UrlLearner
from tests.fetching.learning.simulated import Answer, crawl, text_of

if TYPE_CHECKING:
    from collections.abc import Callable

HOME = "http://site.example/"
REAL = 30
LIMIT = 1_500  # requests, which no crawl of these sites may reach
MOST = 400  # requests in a trap

Links: TypeAlias = "Callable[[str, int], tuple[str, ...]]"
"""Of a page in a trap, by its URL and the number of the request."""


def relative(*links: str) -> Links:
    return lambda url, visit: tuple(urljoin(url, link) for link in links)


def numbered(form: str) -> Links:
    """The page with the next number."""

    def links(url: str, visit: int) -> tuple[str, ...]:
        digits = "".join(one for one in url if one.isdigit())
        return (form.format(int(digits or 0) + 1),)

    return links


def visited(form: str) -> Links:
    """Two pages whose URLs no request has had."""
    return lambda url, visit: (form.format(2 * visit), form.format(2 * visit + 1))


def day_before(url: str, visit: int) -> tuple[str, ...]:
    """An archive by dates that goes back for ever."""
    found = re.search(r"/(\d+)/(\d+)/(\d+)/$", url)
    day = date(*map(int, found.groups())) if found else date(2026, 11, 26)
    return (f"{HOME}{day - timedelta(1):%Y/%m/%d}/", f"{HOME}{day:%Y/%m}/")


TRAPS = {
    "tree": relative("a/", "b/", "c/"),
    "repeated segments": relative("list/"),
    "page": numbered(HOME + "list?page={}"),
    "page in the path": numbered(HOME + "list/page/{}/"),
    "repeated parameter": lambda url, visit: (f"{url}{'&' if '?' in url else '?'}q=", HOME),
    "calendar": lambda url, visit: (
        *numbered(HOME + "calendar/{}")(url, visit),
        *numbered(HOME + "calendar/{}/week")(url, visit),
    ),
    "session id in the path": visited(HOME + "s{:x}-0/list"),
    "matrix parameter": visited(HOME + "list;a={}"),
    "timestamp": visited(HOME + "list?_={}"),
    "date archive": day_before,
}


def site_with(trap: Links, random_word: bool = False) -> Callable[[str], Answer]:
    """A site of real pages that lead into a trap."""
    visits = count()

    def answer(url: str) -> Answer:
        number = urlsplit(url).path.removeprefix("/real/")
        if url == HOME or number.isdigit():
            at = int(number) if number.isdigit() else 0
            links = (f"{HOME}real/{(2 * at + one) % REAL}" for one in (1, 2))
            return Answer(f"real {at}", (*links, f"{HOME}x/"))
        visit = next(visits)
        words = f"Nothing is here.\n{text_of('trap', 40)}"
        if random_word:
            words += f"\nYour ticket is {random.Random(visit).getrandbits(40):x} today"
        return Answer("trap", trap(url, visit), words)

    return answer


@pytest.mark.parametrize("name", TRAPS)
def test_a_trap_ends_and_loses_nothing(name: str) -> None:
    done = crawl(HOME, site_with(TRAPS[name]), UrlLearner(), LIMIT)
    assert len(done.fetched) < MOST
    assert {f"real {one}" for one in range(REAL)} <= done.contents


def test_a_trap_ends_whose_page_has_another_word_each_time() -> None:
    done = crawl(HOME, site_with(TRAPS["page"], random_word=True), UrlLearner(), LIMIT)
    assert len(done.fetched) < MOST


def test_a_smaller_risk_makes_a_crawl_look_longer_before_it_ends_a_trap() -> None:
    seen = [
        len(crawl(HOME, site_with(TRAPS["page in the path"]), UrlLearner(risk=risk), LIMIT).fetched)
        for risk in (0.05, 0.01, 0.002)
    ]
    assert seen[0] + 40 < seen[1] < seen[2] - 300


def empty(*links: str) -> Answer:
    return Answer("empty", links, "No events yet. Tell us of yours, and we shall list it here.")


def test_a_calendar_that_has_entries_again_is_crawled_to_its_end() -> None:
    def answer(url: str) -> Answer:
        month = int(url.rpartition("/")[2] or 0)
        links = (f"{HOME}{month + 1}",) if month < 200 else ()
        return empty(*links) if month % 80 else Answer(f"events {month}", links)

    done = crawl(HOME, answer, UrlLearner())
    assert len(done.fetched) == 201


def test_what_a_trap_has_skipped_is_fetched_when_something_new_comes_behind_it() -> None:
    days = 300

    def answer(url: str) -> Answer:
        name = url.removeprefix(HOME)
        if not name:
            return Answer("home", (f"{HOME}calendar",))
        if name == "calendar":
            return empty(f"{HOME}next")
        if name == "next":
            return empty(*(f"{HOME}{day}" for day in range(days)))
        return Answer(f"event {name}") if int(name) > 150 else empty()

    done = crawl(HOME, answer, UrlLearner())
    assert done.first_skip is not None
    assert {f"event {day}" for day in range(151, days)} <= done.contents


def test_a_skipped_page_is_fetched_if_a_new_page_links_to_it() -> None:
    chain = 400

    def site_of(unique: str) -> Callable[[str], Answer]:
        def answer(url: str) -> Answer:
            kind, _, number = url.removeprefix(HOME).partition("-")
            at = int(number or 0)
            if kind == "new":
                return Answer(url, (f"{HOME}new-{at + 1}",) if at < chain else (unique,))
            if kind == "empty":
                return Answer("unique") if url == unique else trap(url, 0)
            return Answer("home", (f"{HOME}empty-0", f"{HOME}new-0"))

        return answer

    def trap(url: str, visit: int) -> Answer:
        return empty(*(f"{url}{one}" for one in range(3)))

    unique = crawl(HOME, site_of(""), UrlLearner(), LIMIT).skipped[-1]
    done = crawl(HOME, site_of(unique), UrlLearner(), LIMIT)
    assert unique in done.skipped
    assert "unique" in done.contents


def test_a_site_with_many_equal_small_pages_loses_nothing() -> None:
    """Each article has a page of comments, most of which have none, with a link to the next one."""
    articles = 600

    def answer(url: str) -> Answer:
        kind, _, number = url.removeprefix(HOME).partition("-")
        at = int(number or 0)
        if kind == "comments":
            links = (f"{HOME}article-{(at + 1) % articles}", f"{HOME}comment-{at}")
            return Answer(f"comments {at}", links) if at % 90 == 7 else empty(*links)
        if kind == "comment":
            return Answer("login", (HOME,))
        return Answer(f"article {at}", (f"{HOME}comments-{at}",))

    done = crawl(HOME, answer, UrlLearner())
    assert {f"article {at}" for at in range(articles)} <= done.contents
    assert {f"comments {at}" for at in range(7, articles, 90)} <= done.contents


@pytest.mark.parametrize("settings", [{"never": ["drop-parameter rec"]}, {"explore_share": 0.4}])
def test_links_with_ids_that_are_new_at_each_request_end(settings: dict[str, Any]) -> None:
    """Whether no rule is trusted, or each page has a link that is followed as a check."""
    dice, products = random.Random(1), 60

    def answer(url: str) -> Answer:
        path = urlsplit(url).path
        if path == "/":
            return Answer("home", tuple(f"{HOME}products/{one}" for one in range(products)))
        linked = (f"{dice.randrange(products)}?rec={dice.getrandbits(40):x}" for _ in range(4))
        return Answer(path, tuple(f"{HOME}products/{one}" for one in linked))

    done = crawl(HOME, answer, UrlLearner(risk=0.05, **settings), limit=800)
    assert len(done.fetched) < 800
    assert len(done.contents) == 1 + products
