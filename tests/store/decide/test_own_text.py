"""On one site, a page that says something of its own in few words is kept."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from shingling import Page, Reason, Rules, Store
from shingling.errors import SettingsError
from tests.support.invariants import text, verify, words
from tests.support.stores import url_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from shingling import Verdict

SITE, OTHER_SITE = "https://town.example/", "https://mirror.example/"
LETTERS = str.maketrans("0123456789", "abcdefghij")
PROSE = [text(words(seed, 40)).translate(LETTERS) for seed in range(4)]


def bulletin(degrees: int, *more: str, site: str = SITE, path: str | None = None) -> Page:
    lines = [PROSE[0], f"The maximum of today is {degrees} degrees.", *PROSE[1:], *more]
    url = f"{site}{degrees if path is None else path}"
    return Page(url, "\n".join(lines), title="Weather bulletin", fetched=1)


def said(verdicts: Sequence[Verdict]) -> list[tuple[str, str | None, bool]]:
    return [(one.status, one.reason, one.is_duplicate) for one in verdicts]


KEPT, NEW, COPY = ("near", "own_text", False), ("new", None, False), ("near", None, True)


def test_each_bulletin_is_kept_with_both_lines_and_becomes_an_original(store: Store) -> None:
    verdicts = store.check([bulletin(degrees) for degrees in range(10, 20)])
    assert said(verdicts) == [NEW, *[KEPT] * 9]
    assert verdicts[1].original == SITE + "10"
    assert verdicts[1].own_text == (
        "The maximum of today is 11 degrees.",
        "The maximum of today is 10 degrees.",
    )
    assert {page.status for page in store.pages()} == {"new"}
    [copy] = store.check([bulletin(15, path="copy")])
    assert (copy.status, copy.original) == ("exact", SITE + "15")


def test_what_an_original_says_too_is_no_reason_to_keep_a_page(store: Store) -> None:
    update = (
        "The bridge is closed for all who walk or drive, so take the ferry, which goes each hour."
    )
    more = [update, update.upper().replace("FERRY", "BOAT THAT LEAVES HERE")]
    first, longer, shorter = store.check(
        [bulletin(1, path="a"), bulletin(1, *more, path="b"), bulletin(1, update, path="c")]
    )
    assert said([first, longer, shorter]) == [NEW, KEPT, COPY]
    assert shorter.original in (SITE + "a", SITE + "b")


@pytest.mark.parametrize("row", ["{}\n{}", "{}: {}"])
def test_a_number_counts_for_its_label_wherever_another_line_has_it(store: Store, row: str) -> None:
    def flat(path: str, order: Sequence[int], *facts: int) -> Page:
        rows = [row.format(f"Label {'abcd'[at]}", facts[at]) for at in order]
        return Page(SITE + path, "\n".join([*PROSE, *rows, PROSE[1]]), title="Flat", fetched=1)

    first, equal, reordered = [0, 1, 2, 3], [3, 3, 2, 5], [3, 2, 2, 5]
    assert said(
        store.check(
            [
                flat("a", first, *equal),
                flat("b", first, *reordered),
                flat("c", first, 3, 5, 2, 3),
                flat("d", [1, 3, 0, 2], 3, 7, 2, 5),
                flat("e", [1, 3, 0, 2], *equal),
            ]
        )
    ) == [NEW, KEPT, KEPT, KEPT, COPY]


def test_on_other_sites_resemblance_decides(store: Store) -> None:
    store.check([bulletin(10)])
    assert said(store.check([bulletin(20, site=OTHER_SITE)])) == [COPY]


@pytest.mark.parametrize(
    ("own_text", "numbers", "in_words"),
    [("keep", KEPT, COPY), ("strict", KEPT, KEPT), ("ignore", COPY, COPY)],
)
def test_the_setting_says_what_keeps_a_page_and_acts_when_it_is_met_again(
    file: Path, own_text: str, numbers: tuple[str, ...], in_words: tuple[str, ...]
) -> None:
    pages = [
        bulletin(10, "The ticket costs twelve crowns for all."),
        bulletin(11, "The ticket costs twelve crowns for all."),
        bulletin(10, "The ticket costs twenty crowns for all.", path="words"),
    ]
    rules = Rules(own_text=own_text)
    with Store.open(url_of(file), rules=rules) as store:
        assert said(store.check(pages)) == [NEW, numbers, in_words]
        kept = [page.url for page in store.pages() if page.original is None]
        store.check(pages, rules=Rules(own_text="ignore"))
        assert [page.url for page in store.pages() if page.original is None] == [pages[0].url]
        store.admin.redecide(rules)
        assert [page.url for page in store.pages() if page.original is None] == kept
    verify(file)


def test_without_texts_resemblance_decides_and_a_wrong_value_names_the_three(file: Path) -> None:
    with Store.open(url_of(file), store_text=False) as store:
        assert said(store.check([bulletin(10), bulletin(11)])) == [NEW, COPY]
    with pytest.raises(SettingsError, match="own_text 'yes' is not accepted: keep or strict or ig"):
        Rules(own_text="yes")


def test_a_page_that_is_met_again_is_unchanged_and_a_review_goes_before_its_text(
    store: Store,
) -> None:
    pages = [bulletin(degrees) for degrees in (10, 11, 12)]
    store.check(pages)
    again = store.check(pages)
    assert [(one.status, one.is_duplicate) for one in again] == [("unchanged", False)] * 3
    store.admin.review(pages[0].url, pages[1].url, same=True)
    assert [page.original for page in store.pages()] == [None, pages[0].url, None]


def test_what_is_known_to_move_keeps_a_page_no_longer(store: Store) -> None:
    def news(number: int, views: int, path: str) -> Page:
        lines = [f"{views} views", *(text(words(f"{number} {at}", 40)) for at in range(4))]
        return Page(
            SITE + path, "\n".join(lines), title=f"News {text(words(number, 3))}", fetched=1
        )

    first, second = news(1, 10, "1"), news(1, 11, "1?sid=a")
    assert said(store.check([first, second])) == [NEW, KEPT]
    for number in (2, 3):
        pair = [news(number, 20, f"{number}"), news(number, 21, f"{number}?sid=a")]
        assert said(store.check(pair)) == [NEW, KEPT]
    assert said(store.check([news(4, 20, "4"), news(4, 21, "4?sid=a")])) == [NEW, COPY]
    [again] = store.check([second])
    assert (again.status, again.original, again.is_duplicate) == ("near", first.url, True)


def test_pages_whose_original_has_gone_are_decided_by_their_texts(store: Store) -> None:
    pages = [bulletin(10), bulletin(10, path="copy"), bulletin(11), bulletin(11, path="other")]
    store.check(pages)
    store.admin.forget([SITE + "10"])
    store.admin.forget([SITE + "11"])
    found = {page.url: (page.original, page.reason) for page in store.pages()}
    assert [original for original, _ in found.values()] == [None, None]
    assert {reason for _, reason in found.values()} <= {None, Reason.OWN_TEXT}


def test_a_page_of_hardly_more_than_the_template_is_compared_whole(store: Store) -> None:
    short = [text(words(f"line {at}", 12)) for at in range(4)]
    for number in range(4):
        said_there = [f"{line} {number}" for line in short]
        title = f"Title {text(words(number, 2))}"
        store.check([Page(f"{SITE}{number}", "\n".join(said_there), title=title, fetched=1)])
    title = f"Title {text(words(0, 2))}"
    again = "\n".join(f"{line} 9" for line in short)
    [verdict] = store.check([Page(f"{SITE}again", again, title=title, fetched=1)])
    assert not verdict.is_duplicate


def test_a_page_that_repeats_its_own_url_says_nothing_by_it(store: Store) -> None:
    paths = [f"shop/item-{number}/" + "missing/" * 24 for number in range(3)]
    pages = [bulletin(10, f"You have asked for /{path}", path=path) for path in paths]
    assert said(store.check(pages)) == [NEW, COPY, COPY]
