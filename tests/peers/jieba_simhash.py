"""SimHash of the thirty words of a text that weigh most by tf-idf, cut and weighed by jieba.

Written anew from an article on a collection in MongoDB. Its hash of a word is Python's own, which
differs from one run to the next; here it is another one of 64 bits.
"""

from __future__ import annotations

import hashlib
import random
from pathlib import Path
from typing import TYPE_CHECKING

import jieba
from jieba import analyse

from shingling import Canonicaliser, Scheme, SimhashFeatures
from shingling.sketch import sign_words
from shingling.sketch.idf import Idf

if TYPE_CHECKING:
    from collections.abc import Iterable

_KEYWORDS = 30
_BITS = 64
_DISTANCE = 2
_PARTICLES = "的 了 在 是 和 也 都 就 与 对 从 把 被 这 那 我们 他们 因为 所以 但是".split()  # noqa: SIM905 (easier to read)
_TEXTS, _COPIES, _WORDS = 900, 100, 60


def generated_rows() -> list[tuple[int, str]]:
    """Texts, and copies with another word in one place, by the number of the text that each is.

    Their words are drawn from jieba's dictionary, each before a particle, as often as in an
    article.
    """
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
        for _ in range(_WORDS):
            particle = _PARTICLES[min(int(chance.expovariate(1 / 4)), len(_PARTICLES) - 1)]
            words += [chance.choice(nouns), particle]
        texts.append(words)
    copies = [(number, [*texts[number]]) for number in chance.sample(range(_TEXTS), _COPIES)]
    for _, words in copies:
        words[2 * chance.randrange(_WORDS)] = chance.choice(nouns)
    return [(number, "".join(words)) for number, words in [*enumerate(texts), *copies]]


def removed(simhashes: Iterable[int]) -> dict[int, list[int]]:
    """Places of texts within two bits of an earlier one that stays: of which ones."""
    kept: list[tuple[int, int]] = []
    found = {}
    for place, bits in enumerate(simhashes):
        near = [one for one, other in kept if (bits ^ other).bit_count() <= _DISTANCE]
        if near:
            found[place] = near
        else:
            kept.append((place, bits))
    return found


def theirs(text: str) -> int:
    """SimHash of the article."""
    votes = [0.0] * _BITS
    for word, weight in analyse.extract_tags(text, topK=_KEYWORDS, withWeight=True):
        digest = hashlib.blake2b(word.encode(), digest_size=_BITS // 8).digest()
        value = int.from_bytes(digest, "big")
        for bit in range(_BITS):
            votes[bit] += weight if value >> bit & 1 else -weight
    return sum(1 << bit for bit in range(_BITS) if votes[bit] > 0)


def ours(texts: list[str]) -> list[int]:
    """SimHashes here of as many words, weighed by a table of the same texts."""
    chinese = Canonicaliser(language="zh", chinese="jieba")
    words = [*map(chinese.words, texts)]
    features = SimhashFeatures(features="words", keywords=_KEYWORDS, idf=Idf.learn(words))
    scheme = Scheme(canonical=chinese, simhash=features)
    pairs = zip(words, texts, strict=True)
    return [sign_words(of_text, scheme, text).simhash for of_text, text in pairs]
