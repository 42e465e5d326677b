"""A text in which the titles do not stand, and what becomes template after a page was dropped."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shingling import Page
from tests.store.decide.templates.pages import A, C, article, check, footer, headline, one, page

if TYPE_CHECKING:
    from shingling import Store

NAMES = ["amber", "birch", "cedar", "delta", "ember", "flint", "grove", "heron"]
NAMES += ["iris", "jasper", "karst", "lotus"]
WALL = article("we and our partners store information on your device")


def test_twelve_sites_with_one_consent_text_keep_their_stories(store: Store) -> None:
    pages = [page(f"https://{name}.example/", WALL, title=f"The {name} story") for name in NAMES]
    for _ in range(2):
        verdicts = check(store, pages)
        assert [verdict.original for verdict in verdicts] == [None] * 12
    assert store.status().originals == 12


def test_a_wall_below_the_first_words_of_a_story_is_no_story(store: Store) -> None:
    pages = [
        page(f"https://{name}.example/", [f"The {name} story"], WALL, title=f"The {name} story")
        for name in NAMES
    ]
    verdicts = check(store, pages)
    assert {verdict.reason for verdict in verdicts[1:]} == {"title_not_in_text"}


def test_a_story_under_edited_headlines_on_twelve_sites_is_one(store: Store) -> None:
    story = ["The amber birch and the cedar of the delta", *article("story")]
    titles = ("The amber birch", "Cedar of the delta", "Birch, cedar and delta")
    pages = [
        page(f"https://{name}.example/", story, title=titles[at % 3])
        for at, name in enumerate(NAMES)
    ]
    assert {verdict.original for verdict in check(store, pages)[1:]} == {pages[0].url}


def test_a_duplicate_comes_out_once_what_it_shares_is_template(store: Store) -> None:
    shared = footer("what two sites have below each page", 12)
    first, second = (
        page(site, article(site)[:2], shared, title="News of the day") for site in (A, C)
    )
    assert [verdict.status for verdict in check(store, [first, second])] == ["new", "near"]
    for at in range(2):
        one(store, page(f"{C}{at}", article(f"{at}"), shared, title=headline(f"{at}")))
    again = one(store, second)
    assert (again.status, again.original) == ("unchanged", None)
    assert one(store, second).original is None


def test_two_posts_that_quote_half_of_a_page_make_no_template_of_it(store: Store) -> None:
    quoted, rest = article("quoted"), article("rest")
    check(store, [page(A + "page", quoted, rest, title="A page")])
    for name in ("one", "two"):
        one(store, page(A + name, quoted, article(name), title=f"Post {name}"))
    third = one(store, Page(C, "\n".join(rest), title="A page"))
    assert third.original is None or (third.resemblance or 0) < 0.6
