"""The thirty words of Chinese texts that weigh most: none of them is a particle.

The texts are generated: 900 of 60 words drawn from jieba's dictionary, each before a particle, as
often as in an article; and 100 copies of some of them with another word in one place.
"""

from __future__ import annotations

import random
from functools import cache
from pathlib import Path

import pytest

from shingling.sketch import Idf, Scheme, SimhashFeatures, sign
from shingling.text import Canonicaliser

jieba = pytest.importorskip("jieba")

_PARTICLES = "的 了 在 是 和 也 都 就 与 对 从 把 被 这 那 我们 他们 因为 所以 但是".split()  # noqa: SIM905
_CHINESE = Canonicaliser(language="zh", chinese="jieba")
_TEXTS, _COPIES, _KEYWORDS, _BITS = 900, 100, 30, 2


@cache
def generated_rows() -> list[tuple[int, str]]:
    """Texts with the number of the one that each is, or is a copy of."""
    lines = Path(str(jieba.__file__)).with_name("dict.txt").read_text("utf-8").splitlines()
    entries = [line.split() for line in lines]
    nouns = [
        word
        for word, frequency, part in entries
        if len(word) == 2 and part in ("n", "v") and int(frequency) >= 200
    ]
    chance = random.Random(1)
    texts = []
    for _ in range(_TEXTS):
        words = []
        for _ in range(60):
            particle = _PARTICLES[min(int(chance.expovariate(1 / 4)), len(_PARTICLES) - 1)]
            words += [chance.choice(nouns), particle]
        texts.append(words)
    copies = [(number, [*texts[number]]) for number in chance.sample(range(_TEXTS), _COPIES)]
    for _, words in copies:
        words[2 * chance.randrange(60)] = chance.choice(nouns)
    return [(number, "".join(words)) for number, words in [*enumerate(texts), *copies]]


def _flagged(scheme: Scheme) -> tuple[int, int]:
    """Rows within two bits of an earlier one, and how many of them are no copy of it."""
    flagged = wrong = 0
    kept: list[tuple[int, int]] = []
    for number, text in generated_rows():
        bits = sign(text, scheme).simhash
        near = [one for one, other in kept if (bits ^ other).bit_count() <= _BITS]
        flagged += bool(near)
        wrong += bool(near) and number not in near
        if not near:
            kept.append((number, bits))
    return flagged, wrong


def _scheme(canonical: Canonicaliser, *, idf: bool) -> Scheme:
    table = Idf.learn(canonical.words(text) for _, text in generated_rows()) if idf else None
    features = SimhashFeatures(features="words", keywords=_KEYWORDS, idf=table)
    return Scheme(canonical=canonical, simhash=features)


def flagged_by_keywords(canonical: Canonicaliser) -> tuple[int, int]:
    """Rows that the words of greatest tf-idf take for copies, and how many of them are not."""
    return _flagged(_scheme(canonical, idf=True))


@pytest.mark.parametrize("idf", [False, True], ids=["tf", "tf-idf"])
def test_different_texts_are_not_taken_for_copies(idf: bool) -> None:
    flagged, wrong = _flagged(_scheme(_CHINESE, idf=idf))

    assert wrong <= 1
    assert flagged >= 25
