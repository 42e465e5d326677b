"""Pages that are decided together."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from hypothesis import given, settings, strategies as st

from shingling import Page, Store, sign
from tests.store.decide.steps.pages import BASE, NEAR, OTHER, A
from tests.support.invariants import beginning, ending, groups_of, text, verify
from tests.support.stores import emptied, url_of

if TYPE_CHECKING:
    from pathlib import Path


def test_pages_of_one_batch_are_duplicates_of_each_other(store: Store) -> None:
    verdicts = store.check([Page("a", A), Page("b", A), Page("c", NEAR), Page("d", OTHER)])
    assert [(verdict.status, verdict.original) for verdict in verdicts] == [
        ("new", None),
        ("exact", "a"),
        ("near", "a"),
        ("new", None),
    ]


def test_a_url_twice_in_a_batch_is_unchanged_the_second_time(store: Store) -> None:
    verdicts = store.check([Page("a", A), Page("a", A), Page("b", A), Page("b", A)])
    assert [verdict.status for verdict in verdicts] == ["new", "unchanged", "exact", "unchanged"]
    assert verdicts[3].original == "a"
    assert store.status().pages == 2


def test_a_page_is_never_a_duplicate_of_itself(store: Store) -> None:
    pages = [Page("a", main_text) for main_text in (A, NEAR, A, text(BASE[:10]), A)]
    verdicts = store.check(pages) + [store.check([page])[0] for page in pages]
    assert {verdict.original for verdict in verdicts} == {None}
    assert len({verdict.page_id for verdict in verdicts}) == 1


def test_an_empty_batch_has_no_verdicts(store: Store) -> None:
    assert store.check([]) == []


def test_a_batch_of_three_thousand_pages_is_decided(store: Store) -> None:
    signature, random_ = sign(A), np.random.default_rng(1)
    pages = [
        Page(
            f"https://example.org/{at}",
            signature=replace(
                signature,
                minima=random_.integers(0, 1 << 32, 84, dtype=np.uint32),
                text_hash=random_.bytes(16),
            ),
        )
        for at in range(3000)
    ]
    assert {verdict.status for verdict in store.check(pages)} == {"new"}
    assert {verdict.status for verdict in store.check(pages)} == {"unchanged"}
    assert store.status().originals == 3000


FAMILY = [
    A,
    NEAR,
    text(ending(BASE, 1, 8)),
    text(beginning(BASE, 2, 7)),
    text(ending(BASE, 3, 40)),
    OTHER,
    text(BASE[:12]),
    "three short words",
]
SIGNED = [(main_text, sign(main_text)) for main_text in FAMILY]


@settings(max_examples=20)
@given(
    st.lists(st.tuples(st.integers(0, 5), st.integers(0, len(FAMILY) - 1)), max_size=14),
    st.lists(st.integers(1, 5), min_size=14, max_size=14),
)
def test_pages_in_batches_are_decided_as_one_by_one(
    empty: Path, fetched: list[tuple[int, int]], sizes: list[int]
) -> None:
    pages = [
        Page(f"u{url}", SIGNED[which][0], SIGNED[which][1], fetched=at)
        for at, (url, which) in enumerate(fetched)
    ]
    with emptied(empty) as path, Store.open(url_of(path)) as store:
        singly = []
        for page in pages:
            singly += store.check([page])
        groups = groups_of(path)
    with emptied(empty) as path, Store.open(url_of(path)) as store:
        together, rest = [], pages
        for size in sizes:
            together += store.check(rest[:size])
            rest = rest[size:]
        together += store.check(rest)
        assert together == singly
        assert groups_of(path) == groups
        verify(path)
