"""Differences of texts: as difflib finds them, and in bounded time for any text."""

from __future__ import annotations

import random
import time
from difflib import SequenceMatcher
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings, strategies as st

from shingling.similarity import word_diff
from shingling.similarity.diff import _Matcher, _sentences

if TYPE_CHECKING:
    from collections.abc import Callable

_MAX_CPU_SECONDS = 10.0  # of what takes about 1; the same text took hours before
_TOKENS = st.lists(st.sampled_from(["a", "b", "c", "d"]), max_size=40).map(
    lambda words: [(word, word) for word in words]
)


def _vocabulary(size: int, count: int, seed: int, joint: str) -> str:
    chosen = random.Random(seed)
    return joint.join(f"w{chosen.randrange(size)}" for _ in range(count))


_HOSTILE: dict[str, Callable[[], tuple[str, str]]] = {
    "dots": lambda: ("." * 100_000, "." * 100_000 + " x"),
    "wide full stops": lambda: ("。" * 100_000, "。" * 100_000 + "字"),
    "lines": lambda: ("\n" * 100_000, "\n" * 99_999 + "x"),
    "one word": lambda: ("word " * 100_000, "word " * 99_999 + "end"),
    "one letter without spaces": lambda: ("字" * 100_000, "字" * 99_999 + "末"),
    "a small vocabulary": lambda: (
        _vocabulary(150, 100_000, 1, " "),
        _vocabulary(150, 100_000, 2, " "),
    ),
    "short sentences": lambda: (
        _vocabulary(5_000, 40_000, 1, ". "),
        _vocabulary(5_000, 40_000, 2, ". "),
    ),
    "every other word is missing": lambda: (
        " ".join(f"w{number}" for number in range(4_400)),
        " ".join(f"w{number}" for number in range(0, 4_400, 2)),
    ),
}


@pytest.mark.parametrize("name", _HOSTILE)
def test_time_is_bounded_for_any_text(name: str) -> None:
    a, b = _HOSTILE[name]()
    began = time.process_time()
    changes = word_diff(a, b)
    assert time.process_time() - began < _MAX_CPU_SECONDS
    assert changes


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("One. Two!? \n three", ["One. ", "Two!? \n ", "three"]),
        ("1.5 of it\nand more...", ["1.5 of it\n", "and more..."]),
        ("你好。。。真的？ 是！", ["你好。。。", "真的？ ", "是！"]),
    ],
)
def test_sentences_end_with_marks_and_lines(text: str, sentences: list[str]) -> None:
    assert [sentence for sentence in _sentences(text) if sentence] == sentences


@settings(max_examples=200)
@given(_TOKENS, _TOKENS)
def test_stretches_are_those_of_difflib(a: list[tuple[str, str]], b: list[tuple[str, str]]) -> None:
    stretches = list(_Matcher(10**6).stretches(a, b))
    joined: list[tuple[bool, list[object], list[object]]] = []
    for same, own, other in stretches:
        if not joined or joined[-1][0] != same:
            joined.append((same, [], []))
        joined[-1][1].extend(own)
        joined[-1][2].extend(other)
    expected = [
        (tag == "equal", a[a_low:a_high], b[b_low:b_high])
        for tag, a_low, a_high, b_low, b_high in SequenceMatcher(None, a, b).get_opcodes()
    ]
    assert joined == expected


@given(_TOKENS, _TOKENS, st.integers(0, 100))
def test_without_steps_nothing_is_lost(
    a: list[tuple[str, str]], b: list[tuple[str, str]], steps: int
) -> None:
    stretches = list(_Matcher(steps).stretches(a, b))
    assert [token for _, own, _ in stretches for token in own] == a
    assert [token for _, _, other in stretches for token in other] == b
    assert all(list(own) == list(other) for same, own, other in stretches if same)
