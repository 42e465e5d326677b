"""benchmarks/reviewed_threshold.py: its figures of a made store."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

pytest.importorskip("datasketch")
pytest.importorskip("fastwarc")

from benchmarks.reviewed_threshold import (
    LabelledCandidate,
    holds,
    label_candidates,
    review_sample,
    summarise,
    true_quality,
)
from shingling import Store
from shingling.tuning.reviewed import Share
from tests.web.stores import EDITED_STORIES, fill_with_editions

if TYPE_CHECKING:
    from pathlib import Path

    from shingling import CandidatePair


def test_the_truth_counts_all_candidates() -> None:
    candidates = [
        LabelledCandidate(resemblance, same)
        for resemblance, same in ((0.9, True), (0.7, False), (0.6, True), (0.4, True))
    ]
    assert true_quality(candidates, 0.6) == (2 / 3, 2 / 3)
    assert true_quality(candidates, 0.95) == (1, 0)
    assert holds(Share(0.5, 0.4, 0.6), 0.6)
    assert not holds(Share(0.5, 0.4, 0.6), 0.39)


def test_reviews_of_a_sample_are_made_in_the_store_and_removed(tmp_path: Path) -> None:
    def labelled(pair: CandidatePair) -> bool:
        return int(pair.url.rpartition("/")[2]) < EDITED_STORIES // 2

    url = f"sqlite:///{tmp_path / 'dedup.db'}"
    fill_with_editions(url)
    with Store.open(url) as store:
        for review in store.admin.reviews():
            store.admin.review(review.a, review.b, same=None)
        everything = label_candidates(store, labelled)
        reviewed = [review_sample(store, labelled, seed) for seed in (1, 2)]
        assert store.admin.reviews() == []
    assert 40 <= len(everything) <= EDITED_STORIES
    figures = summarise(everything, reviewed)
    assert figures["enough"] == 2
    assert figures["figures"]["recommended: precision"]["held"] == 2
