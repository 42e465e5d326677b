"""Pages that are template all over."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.store.decide.templates.pages import (
    TEMPLATE,
    A,
    check,
    footer,
    lines,
    one,
    page,
    pages_of,
    said,
    statuses,
)

if TYPE_CHECKING:
    from shingling import Page, Store


@pytest.fixture
def site(store: Store) -> list[Page]:
    """Return stored pages of site A, whose template is known then."""
    pages = pages_of(A, 4, footer(A, 3))
    check(store, pages)
    return pages


def test_an_index_page_of_known_blocks_is_skipped(store: Store, site: list[Page]) -> None:
    teasers = lines("teasers", 3)
    indexes = [
        page(f"{A}{name}", teasers[at:], footer(A, 3), title=f"All of {name}")
        for at, name in enumerate(["news", "sport", "weather"])
    ]
    assert said(check(store, indexes))[1:] == [TEMPLATE] * 2


def test_consent_walls_with_the_titles_of_articles_are_skipped(
    store: Store, site: list[Page]
) -> None:
    wall = lines("we value your privacy", 4)
    titles = [known.title for known in site]
    walls = [page(f"{A}wall/{at}", wall, title=title) for at, title in enumerate(titles)]
    verdicts = check(store, walls)
    assert said(verdicts) == [("new", None, None)] + [TEMPLATE] * 3
    assert [verdict.template for verdict in verdicts[1:]] == [1.0] * 3


def test_an_article_that_is_fetched_again_as_a_consent_wall_is_skipped(
    store: Store, site: list[Page]
) -> None:
    wall = lines("we value your privacy", 4)
    verdicts = check(store, [page(known.url, wall, title=known.title) for known in site])
    assert statuses(verdicts) == ["changed"] + ["skipped"] * 3
    assert {verdict.reason for verdict in verdicts[1:]} == {"template"}
    assert {verdict.original for verdict in verdicts} == {None}


@pytest.mark.parametrize(("count", "reason"), [(19, "template"), (20, None)])
def test_a_page_with_fewer_words_left_than_the_least_length_is_template(
    store: Store, site: list[Page], count: int, reason: str | None
) -> None:
    rest = " ".join(f"own{at}" for at in range(count))
    verdict = one(store, page(A + "x", [rest], footer(A, 3), title="Something else"))
    assert verdict.reason == reason
    assert verdict.status == ("skipped" if reason else "new")


def test_a_short_page_is_template_only_where_nothing_is_left_of_it(
    store: Store, site: list[Page]
) -> None:
    [menu] = [" ".join(footer(A, 1)[0].split()[:10])]
    verdicts = check(
        store,
        [
            page(A + "x", [menu], title="One title"),
            page(A + "y", [menu, "and three words"], title="Another title"),
            page(A + "z", [menu], title="A third title"),
        ],
    )
    assert [verdict.reason for verdict in verdicts] == ["short", "short", "template"]


def test_a_page_that_is_template_is_nobodys_original_on_its_site(
    store: Store, site: list[Page]
) -> None:
    around = footer(A, 3)
    check(store, [page(A + "empty", around, title="An empty page")])
    own = [" ".join(f"own{at}" for at in range(20))]
    verdict = one(store, page(A + "x", own, around, title="Something else"))
    assert (verdict.status, verdict.original) == ("new", None)
