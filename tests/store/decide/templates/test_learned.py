"""What is learned of a site, and left out of what is compared."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from shingling import Rules, Store
from tests.store.decide.templates.pages import (
    TEMPLATE,
    WHOLE,
    A,
    B,
    C,
    article,
    check,
    footer,
    headline,
    lines,
    one,
    page,
    pages_of,
    said,
    short_article,
    short_pages,
    statuses,
)
from tests.support.invariants import jaccard
from tests.support.stores import rows_of

if TYPE_CHECKING:
    from pathlib import Path


# What pages of one site have in common


def test_pages_with_only_their_template_in_common_are_not_flagged(store: Store) -> None:
    pages = short_pages(A, 6)
    alike = [jaccard(a.text or "", b.text or "") for a in pages for b in pages if a is not b]
    assert min(alike) > 0.55
    assert statuses(check(store, pages)) == ["new"] * 6


def test_lines_that_differ_in_numbers_and_case_are_one_block(store: Store) -> None:
    pages = [
        page(
            f"{A}{at}",
            article(f"{at}"),
            [f"Copyright {2020 + at} The Site, {at**5} readers {'Online' if at else 'ONLINE'}"],
            title=headline(f"{at}"),
        )
        for at in range(3)
    ]
    shares = [verdict.template or 0.0 for verdict in check(store, pages)]
    assert shares[0] == 0.0
    assert min(shares[1:]) > 0.0


def test_blocks_that_one_title_has_are_no_template(store: Store) -> None:
    pages = [
        page(f"{A}{at}", lines(f"part {at}", 5), footer("a"), title="A long read") for at in (1, 2)
    ]
    assert [verdict.template for verdict in check(store, pages)] == [0.0, 0.0]


def test_the_share_that_was_left_out_is_that_of_the_characters(store: Store) -> None:
    body, around = article("a"), footer("a")
    first, second = (
        page(f"{A}{at}", around, body if at else article("other"), title=f"Title {'xy'[at]}")
        for at in range(2)
    )
    assert one(store, first).template == 0.0
    verdict = one(store, second)
    left, gone = sum(map(len, body)), sum(map(len, around))
    assert verdict.template == pytest.approx(gone / (left + gone))
    assert verdict.as_dict()["template"] == round(gone / (left + gone), 4)
    assert one(store, second).as_dict()["template"] is None, "it is not compared again"


# What teaches nothing, and what little


@pytest.mark.parametrize("title", [None, "?! — |"])
def test_pages_without_a_title_teach_nothing(store: Store, file: Path, title: str | None) -> None:
    pages = [page(one.url, [one.text or ""], title=title) for one in short_pages(A, 3)]
    verdicts = check(store, pages)
    assert statuses(verdicts) == ["new", "near", "near"]
    assert [verdict.template for verdict in verdicts] == [0.0] * 3
    assert rows_of(file, "SELECT site FROM site_blocks") == []


@pytest.mark.parametrize("prefix", ["page-", "file:///"])
def test_pages_without_a_host_are_of_one_site(store: Store, prefix: str) -> None:
    verdicts = check(store, short_pages(prefix, 3))
    assert statuses(verdicts) == ["new"] * 3
    assert [bool(verdict.template) for verdict in verdicts] == [False, True, True]


def test_a_title_that_all_pages_have_does_not_keep_their_template_unknown(store: Store) -> None:
    pages = [page(f"{A}{at}", article(f"{at}"), footer(A), title="The Site") for at in range(9)]
    verdicts = check(store, pages)
    assert statuses(verdicts) == ["new"] * 9
    assert [bool(verdict.template) for verdict in verdicts] == [False] * 6 + [True] * 3
    walls = [page(f"{A}wall{at}", footer(A), title=headline(f"{at}")) for at in range(2)]
    assert said(check(store, walls)) == [TEMPLATE] * 2


def test_a_page_that_changes_its_text_and_title_keeps_its_paragraphs(store: Store) -> None:
    first, *others = pages_of(A, 3, footer(A))
    check(store, [first, *others])
    body = article(f"{A} 0")
    around = sum(map(len, footer(A)))
    for at in range(3):
        body = [*body, *lines(f"update {at}", 1)]
        verdict = one(store, page(first.url, body, footer(A), title=headline(f"update {at}")))
        assert verdict.status == "changed"
        assert verdict.template == pytest.approx(around / (sum(map(len, body)) + around))
    verdict = one(store, page(C, body, title="Taken from elsewhere"))
    assert (verdict.original, verdict.resemblance) == (first.url, 1.0)


# Rules


def test_pages_without_templates_teach_what_is_used_later(store: Store) -> None:
    pages = short_pages(A, 5, 60)
    verdicts = check(store, pages, WHOLE)
    assert statuses(verdicts) == ["new"] + ["near"] * 4
    assert {verdict.template for verdict in verdicts} == {None}
    assert store.admin.redecide(WHOLE).to_original == 0
    changes = store.admin.redecide(Rules())
    assert (changes.to_original, changes.to_duplicate, changes.originals) == (4, 0, (1, 5))
    assert {stored.status for stored in store.pages()} == {"new"}
    assert store.admin.redecide(WHOLE).to_duplicate == 4


def test_templates_have_no_effect_without_texts(store: Store, file: Path) -> None:
    rules = Rules(store_text=False)
    verdicts = check(store, short_pages(A, 4, 60), rules)
    assert "near" in statuses(verdicts)
    assert {verdict.template for verdict in verdicts} == {None}
    assert rows_of(file, "SELECT site FROM site_blocks") == []


def test_redecide_corrects_what_was_said_before_a_template_was_known(store: Store) -> None:
    shared = lines("what a network of sites has below each page", 8)
    early = [
        page(site + "first", short_article(site), shared, title=headline(site)) for site in (A, B)
    ]
    assert said(check(store, early)) == [("new", None, None), ("near", None, A + "first")]
    for site in (A, B):
        later = page(site + "second", short_article(f"{site} 2"), shared, title="A second one")
        assert one(store, later).status == "new"
    copy = page(A + "third", short_article(A), shared, title=headline(A))
    assert one(store, copy).original == A + "first"
    dry = store.admin.redecide(Rules(), dry_run=True)
    assert (dry.to_original, dry.to_duplicate) == (1, 0)
    assert store.admin.redecide(Rules()) == dry
    groups = {stored.url: stored.original for stored in store.pages()}
    assert groups == {
        A + "first": None,
        B + "first": None,
        A + "second": None,
        B + "second": None,
        A + "third": A + "first",
    }
