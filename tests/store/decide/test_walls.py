"""A text in which the titles do not stand, and what becomes template after a page was dropped."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from shingling import Page
from tests.store.decide.templates.pages import A, C, article, check, footer, headline, one, page

if TYPE_CHECKING:
    from collections.abc import Sequence

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


NEWSPAPERS = (
    "The Middletown Morning Telegraph",
    "Provincial Evening Gazette and Herald",
    "Northern Counties Broadcasting Online",
)


def in_newspapers(form: str, headline: str, *texts: Sequence[str]) -> list[Page]:
    """Return a page of each newspaper: its headline, and its text."""
    return [
        page(f"https://{at}.example/", [headline], text, title=form.format(headline, name))
        for at, (name, text) in enumerate(zip(NEWSPAPERS, texts, strict=True))
    ]


@pytest.mark.parametrize(
    "form", ["{0} | {1}", "{0} - {1}", "{0}: {1}", "{1} — {0}", "{0} - News - {1}", "{0} ({1})"]
)
@pytest.mark.parametrize("headline", ["Amber birch falls", "Birch: amber falls", "The amber"])
def test_an_article_is_one_whatever_its_sites_are_called(
    store: Store, form: str, headline: str
) -> None:
    story = ["The amber and the birch, which falls in spring", *article("story")]
    edited = [story, [*story, "One line more"], [*story, "Another line"]]
    first, *others = in_newspapers(
        form, headline, *([story] * 3 if headline == "The amber" else edited)
    )
    verdicts = check(store, [first, *others])
    assert [verdict.original for verdict in verdicts] == [None, first.url, first.url]


@pytest.mark.parametrize("section", ["News", "Local news", "About us"])
def test_a_section_above_one_consent_text_makes_no_article_of_it(
    store: Store, section: str
) -> None:
    wall = [*WALL, "To bring you the news, and local news about us and more, we store this."]
    texts = [[*wall, *article(name)[:1]] for name in NEWSPAPERS]
    verdicts = check(store, in_newspapers("{} | {}", section, *texts))
    assert [verdict.original for verdict in verdicts] == [None] * 3


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
