"""What makes a page follow an original is decided in one place, for every room that decides."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np
import pytest

from shingling import Page, Rules, Scheme, Store, sign
from shingling.bulk import Options, deduplicate
from shingling.similarity import overlap
from shingling.similarity.following import MAX_CANDIDATES_MEASURED, Following
from shingling.sketch import fingerprint_set
from tests.support.pages import article

if TYPE_CHECKING:
    from pathlib import Path


def test_store_bulk_and_spark_ask_the_same_function(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = article(1)
    texts = [text, f"{text} and an end of its own"]
    rules = Rules(templates=False)

    def stored(name: str) -> str:
        with Store.open(f"sqlite:///{tmp_path / name}", rules=rules) as store:
            pages = [
                Page(url=f"https://a.example/{at}", text=one, signature=sign(one, store.scheme))
                for at, one in enumerate(texts)
            ]
            return [verdict.status for verdict in store.check(pages, rules=rules)][-1]

    def in_bulk(name: str) -> int:
        rows = tmp_path / "rows.jsonl"
        rows.write_text("".join(json.dumps({"text": one}) + "\n" for one in texts))
        return deduplicate([str(rows)], tmp_path / name, Options(rules=rules, workers=0)).near

    def on_spark() -> list[int]:
        pytest.importorskip("pyspark")
        from shingling.bulk.spark.batches import of_columns
        from shingling.bulk.spark.candidates import Deciding
        from shingling.bulk.spark.measuring import OWN_TEXT, choose

        columns = ([0, 0], [1, 1], [1, 0], [OWN_TEXT, 80], [False, True], [False, True])
        schema = "block long, row long, other long, equal int, original boolean, sure boolean"
        more = ([0, 0], [0, 0], [texts[1], texts[0]])
        batch = of_columns([*columns, *more], f"{schema}, hidden long, ahead long, text string")
        [answer] = choose([batch], Deciding(Scheme(), Following.by(rules), 128, 32))
        found: list[int] = answer.column("original").to_pylist()
        return found

    assert (stored("a.db"), in_bulk("a")) == ("near", 1)
    assert on_spark() == [0]
    monkeypatch.setattr(Following, "best", lambda *_, **__: None)
    assert (stored("b.db"), in_bulk("b")) == ("new", 0)
    with pytest.raises(AssertionError):
        on_spark()


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
