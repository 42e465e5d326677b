"""Labelled pairs."""

from __future__ import annotations

from typing import Any

import numpy as np

from shingling.rules.rules import Rules
from shingling.sketch import Scheme
from shingling.tuning.pairs import LabelledPair, LabelledPairs
from shingling.tuning.report import Report, tune_on
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


def tuned(pairs: list[LabelledPair], threshold: float = 0.8, **given: Any) -> Report:
    """Report on pairs, under the default scheme."""
    return tune_on(LabelledPairs(pairs), DEFAULT, Rules(threshold=threshold), **given)
