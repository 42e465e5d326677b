"""Copies, which have all in common: they are found, and make no template."""

from __future__ import annotations

import pytest

from shingling import Rules, Store
from tests.store.decide.templates.pages import (
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
    statuses,
)
from tests.support.invariants import jaccard

TITLES = [
    ("Rain falls hard on the old town", "The old town: hard on Rain falls!"),
    ("Rain falls hard on the old town | A Site", "Rain falls hard on the old town"),
    (
        "Rain falls hard on the old town - Local news | A Site",
        "Rain falls hard on the old town | A Site",
    ),
    ("Local news: Rain falls hard on the old town", "Rain falls hard on the old town"),
    ("A Site » Rain falls hard on the old town", "Rain falls hard on the old town"),
]
BOTH_WAYS = [*TITLES, *(titles[::-1] for titles in TITLES[1:])]


@pytest.mark.parametrize(("pages_before", "around"), [(0, 0), (7, 2)])
def test_copies_within_a_site_are_found_and_make_no_template_of_their_paragraphs(
    store: Store, pages_before: int, around: int
) -> None:
    for number, (first, second) in enumerate(BOTH_WAYS):
        site = f"https://site{number}.example/"
        others = [
            page(
                f"{site}{at}",
                article(f"{number} {at}"),
                footer(site, around),
                title=f"{headline(f'{number} {at}')} | A Site",
            )
            for at in range(pages_before)
        ]
        assert {*statuses(check(store, others, size=5))} <= {"new"}
        body = article(f"body {number}")
        extra = lines(f"extra {number}", 1)
        copies = [
            page(site + "original", body, footer(site, around), title=first),
            page(site + "copy", body, extra, footer(site, around), title=second),
            page(site + "again", body, extra, footer(site, around), title=second),
            page(site + "third", body, footer(site, around), title=first),
            page(f"https://far{number}.example/", body, title="Taken from elsewhere"),
        ]
        verdicts = check(store, copies)
        assert {verdict.original for verdict in verdicts[1:]} == {site + "original"}
        assert {verdict.status for verdict in verdicts[1:]} <= {"near", "exact"}


def test_a_copy_with_the_same_title_teaches_nothing_where_it_lacks_the_template(
    store: Store,
) -> None:
    body, title = article("body"), headline("body")
    check(store, [page(A + "original", body, footer(A, 8), title=title)])
    check(store, pages_of(A, 2, footer(A, 8)))
    assert one(store, page(A + "print", body, title=title)).template == 0.0
    verdict = one(store, page(C + "copy", body, title="Taken from elsewhere"))
    assert verdict.original in (A + "original", A + "print")
    assert verdict.resemblance == 1.0


def test_a_copy_on_another_site_is_found_in_its_template(store: Store) -> None:
    around = {site: footer(site, 4) for site in (A, B)}
    for site in around:
        check(store, pages_of(site, 2, around[site]))
    bodies = [article(f"shared {at}") for at in range(12)]
    for_a, for_b = (
        [
            page(f"{site}x{at}", body, around[site], title=headline(f"{site} {at}"))
            for at, body in enumerate(bodies)
        ]
        for site in around
    )
    alike = [jaccard(a.text or "", b.text or "") for a, b in zip(for_a, for_b, strict=True)]
    assert max(alike) < Rules().threshold
    assert statuses(check(store, for_a)) == ["new"] * 12
    found = [verdict for verdict in check(store, for_b) if verdict.original]
    assert len(found) >= 10
    for verdict in found:
        assert verdict.original in [first.url for first in for_a]
        assert verdict.resemblance == 1.0
