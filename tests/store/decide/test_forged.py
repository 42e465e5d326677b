"""Pages that are made to look like others: by words with equal hashes, or by equal minima."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from shingling import Page, Rules, Store, sign
from shingling.sketch.shingles import word_hashes
from tests.support.invariants import ending, text, words

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path
    from types import FrameType

    from shingling.sketch import Minima

PLAIN = "a" * 76  # more letters than a hash has bits


def crc(word: str) -> int:
    return int(word_hashes([word])[0])


def spelled(letters: int) -> str:
    """Return `PLAIN` with other letters at the places of these bits."""
    return "".join("ce"[at % 2] if letters >> at & 1 else "a" for at in range(len(PLAIN)))


def solved() -> list[tuple[int, int]]:
    """Return what letters change of a hash, and which letters: each row another highest bit."""
    rows: list[tuple[int, int]] = []
    for at in range(len(PLAIN)):
        letters = 1 << at
        changed = crc(spelled(letters)) ^ crc(PLAIN)
        for bits, others in rows:
            if changed ^ bits < changed:
                changed, letters = changed ^ bits, letters ^ others
        if changed:
            rows.append((changed, letters))
            rows.sort(reverse=True)
    return rows


ROWS = solved()


def twin(word: str) -> str:
    """Return another word with the same hash: CRCs are linear."""
    wanted, letters = crc(word) ^ crc(PLAIN), 0
    for bits, others in ROWS:
        if wanted ^ bits < wanted:
            wanted, letters = wanted ^ bits, letters ^ others
    return spelled(letters)


@pytest.mark.parametrize("host", ["a.example", "b.example"])
@pytest.mark.parametrize("rules", [Rules(), Rules(containment=0.9), Rules(templates=False)])
def test_words_decide_where_fingerprints_are_forged(
    tmp_path: Path, rules: Rules, host: str
) -> None:
    own = words("own", 120)
    forged = [twin(word) for word in own]
    assert not {*own} & {*forged}
    with Store.open(f"sqlite:///{tmp_path / 'dedup.db'}", rules=rules) as store:
        first = store.check_one("https://a.example/1", text(own))
        assert sign(text(own)).minima.tolist() == sign(text(forged)).minima.tolist()
        whole = store.check_one(f"https://{host}/2", text(forged))
        part = store.check_one(f"https://{host}/3", text([*forged[:60], *words("rest", 30)]))
        assert {one.status for one in (first, whole, part)} == {"new"}
        alike = store.check_one(f"https://{host}/4", text(ending(own, 1, 5)))
        assert (alike.status, alike.original) == ("near", "https://a.example/1")


def pages_of(numbers: range, minima: Minima | None = None) -> list[Page]:
    """Return pages that have nothing in common, but for their minima if these are given."""
    texts = [text(words(number)) for number in numbers]
    signed = [sign(one) for one in texts]
    if minima is not None:
        signed = [replace(one, minima=minima) for one in signed]
    return [
        Page(f"https://a.example/{one}", one, signature, title=one[:20])
        for one, signature in zip(texts, signed, strict=True)
    ]


def calls_of(store: Store, pages: Sequence[Page]) -> int:
    """Count the calls of functions while pages are checked."""
    called = 0

    def count(_frame: FrameType, kind: str, _argument: object) -> None:
        nonlocal called
        called += kind in ("call", "c_call")

    sys.setprofile(count)
    try:
        assert {verdict.status for verdict in store.check(pages)} == {"new"}
    finally:
        sys.setprofile(None)
    return called


def test_pages_that_share_all_minima_cost_a_bounded_time(tmp_path: Path) -> None:
    minima = sign(text(words("fixed"))).minima
    with Store.open(f"sqlite:///{tmp_path / 'dedup.db'}") as store:
        store.check(pages_of(range(300), minima))
        few = calls_of(store, pages_of(range(300, 320), minima))
        store.check(pages_of(range(320, 2000), minima))
        many = calls_of(store, pages_of(range(2000, 2020), minima))
        ordinary = calls_of(store, pages_of(range(2020, 2040)))
    assert many < min(1.05 * few, 12 * ordinary)
