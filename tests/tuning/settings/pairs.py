"""Labelled pairs."""

from __future__ import annotations

import numpy as np

from shingling.sketch import Scheme
from shingling.tuning.pairs import LabelledPair
from tests.support.pages import article

THRESHOLDS = np.arange(1, 101) / 100
DEFAULT = Scheme()


def changed(text: str, number: int) -> str:
    """Replace some words of a text, spread evenly."""
    words = text.split()
    for place in range(number):
        words[place * len(words) // number] = f"other{place}"
    return " ".join(words)


def made_pairs(number: int = 24, *, same: int = 6, different: int = 60) -> list[LabelledPair]:
    """Make pairs of texts of 200 words, of which `same` or `different` words differ, or more."""
    texts = [article(seed, 200) for seed in range(number)]
    found = [LabelledPair(text, changed(text, same + i % 5), True) for i, text in enumerate(texts)]
    texts = [article(1000 + seed, 200) for seed in range(number)]
    return found + [
        LabelledPair(text, changed(text, different + i % 9), False) for i, text in enumerate(texts)
    ]
