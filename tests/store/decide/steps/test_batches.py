"""Pages that are decided together."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from shingling import Page, Store, sign
from tests.store.decide.steps.pages import NEAR, OTHER, A
from tests.support.stores import both_databases


@both_databases
def test_pages_of_one_batch_are_duplicates_of_each_other(store: Store) -> None:
    verdicts = store.check([Page("a", A), Page("b", A), Page("c", NEAR), Page("d", OTHER)])
    assert [(verdict.status, verdict.original) for verdict in verdicts] == [
        ("new", None),
        ("exact", "a"),
        ("near", "a"),
        ("new", None),
    ]


def test_an_empty_batch_has_no_verdicts(store: Store) -> None:
    assert store.check([]) == []


@both_databases
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
