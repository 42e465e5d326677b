"""What makes a page follow an original is decided in one place, for every room that decides."""

from __future__ import annotations

import numpy as np

from shingling import Rules
from shingling.similarity import overlap
from shingling.similarity.following import MAX_CANDIDATES_MEASURED, Following
from shingling.sketch import fingerprint_set
from tests.support.pages import article


def test_the_most_alike_is_followed_and_among_equals_the_oldest() -> None:
    following = Following.by(Rules(threshold=0.5))
    text = article(2)
    same, other = fingerprint_set(text), fingerprint_set(article(3))
    measures = [overlap(same, other), overlap(same, same), overlap(same, same)]
    ranked = [(0, 0.9), (1, 0.9), (2, 0.9)]
    best = following.best(ranked, [1, 3, 2], measures.__getitem__)
    assert best is not None
    assert best[0] == 2
    assert following.best(ranked, [1, 3, 2], measures.__getitem__, any_of_them=True) == (
        1,
        measures[1],
    )
    assert following.best([(0, 0.9)], [1, 3, 2], measures.__getitem__) is None
    assert following.best(ranked, [1, 3, 2], lambda _: None) is None


def test_the_nearest_estimates_are_measured_and_no_more_than_the_limit() -> None:
    following = Following.by(Rules(threshold=0.5, templates=False))
    estimates = np.linspace(0.2, 0.9, 100)
    ranked = following.ranked(estimates)
    assert [place for place, _ in ranked] == [*range(99, 99 - MAX_CANDIDATES_MEASURED, -1)]
    assert following.ranked(np.array([following.worth - 0.01, following.worth])) == [
        (1, following.worth)
    ]


def test_methods_accept_by_supershingles_and_by_distance() -> None:
    equal = np.zeros((3, 84), bool)
    equal[1, :14] = equal[2, :28] = True
    nothing = np.zeros(1, np.uint64)
    others = np.array([0, 0b111, 0b1111], np.uint64)

    def accepted(method: str) -> list[bool]:
        following = Following.by(Rules(method=method, simhash_distance=3))
        found: list[bool] = following.accepts(equal, nothing, others).tolist()
        return found

    assert accepted("minhash") == [True, True, True]
    assert accepted("megashingle") == [False, False, True]
    assert accepted("simhash") == accepted("minhash+simhash") == [True, True, False]
