"""Every measure of two texts at once."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from shingling.errors import require_type
from shingling.notebook import table
from shingling.rules import MIN_WORDS_FOR_SIMHASH
from shingling.similarity.common_runs import align, longest_common_run
from shingling.similarity.cosines import DocumentFrequencies, Weighting, cosine
from shingling.similarity.measures import (
    distance,
    equal_supershingles,
    estimate,
    overlap,
    standard_error,
)
from shingling.sketch import Scheme, fingerprint_set_of_words, sign_words


@dataclass(frozen=True)
class Comparison:
    """Every measure of two texts a and b.

    Args:
        words_a, words_b: canonical words.
        shingles_a, shingles_b, shared: distinct shingles.
        resemblance: shared / all, exact.
        estimate: resemblance from the 84 minima.
        standard_error: of the estimate, sqrt(s (1 - s) / 84).
        containment_a, containment_b: shared / shingles of a, of b.
        dice: 100 x 2 shared / (shingles of a + shingles of b).
        per_word: 100 x shared / words of a.
        supershingles: equal ones of 6.
        megashingles: equal ones of 15.
        simhash_distance: differing bits, of 32 or 64.
        simhash_likeness: (bits - distance) / bits.
        cosine: of the vectors of words, or of other features, by the weighting.
        longest_run: words of the longest run that both have.
        longest_subsequence: words of the longest common subsequence; None if rapidfuzz is not
            installed, or for very long texts (more than 10^10 pairs of words).
        edit_distance: words to insert, delete or replace; None likewise.
        exact: the texts are the same.
    """

    words_a: int
    words_b: int
    shingles_a: int
    shingles_b: int
    shared: int
    resemblance: float
    estimate: float
    standard_error: float
    containment_a: float
    containment_b: float
    dice: float
    per_word: float
    supershingles: int
    megashingles: int
    simhash_distance: int
    simhash_likeness: float
    cosine: float
    longest_run: int
    longest_subsequence: int | None
    edit_distance: int | None
    exact: bool

    def as_dict(self) -> dict[str, Any]:
        """Measures by name."""
        return asdict(self)

    def _repr_html_(self) -> str:
        shown = ((name.replace("_", " "), value) for name, value in self.as_dict().items())
        return table([row for row in shown if row[1] is not None])

    @property
    def warnings(self) -> list[str]:
        """Say which measures mean little here."""
        fewest = min(self.words_a, self.words_b)
        if self.exact or fewest >= MIN_WORDS_FOR_SIMHASH:
            return []
        words = f"{fewest} {'word' if fewest == 1 else 'words'}"
        limit = f"texts below {MIN_WORDS_FOR_SIMHASH} words"
        return [f"SimHash says little of {limit}; one of these has {words}"]


def compare(
    a: str, b: str, scheme: Scheme | None = None, weighting: Weighting | None = None
) -> Comparison:
    """Every measure of two texts.

    Where a text has no words, the texts have nothing in common: all measures are 0, and the
    distance is that of the most differing SimHashes.

    Args:
        a: a text.
        b: the other one.
        scheme: how they become words, shingles and signatures; None for the default.
        weighting: of the cosine; None for words with smooth weights, by the table of the
            scheme's SimHash if it has one.

    Raises:
        ArgumentError: a text is no string.
        SchemeError: the scheme asks for a language pack that is not installed.
    """
    for name, text in (("a", a), ("b", b)):
        require_type(name, text, str)
    scheme = scheme or Scheme()
    idf = scheme.simhash.idf
    weighting = weighting or Weighting(
        frequencies=None if idf is None else DocumentFrequencies.of_table(idf)
    )
    words = scheme.canonical.words(a), scheme.canonical.words(b)
    first, second = (
        sign_words(part, scheme, text) for part, text in zip(words, (a, b), strict=True)
    )
    sets = overlap(*(fingerprint_set_of_words(part, scheme) for part in words))
    resemblance = sets.resemblance
    aligned = align(*words)
    bits = scheme.simhash.bits
    have_words = bool(first.words and second.words)
    equal = equal_supershingles(first.minima, second.minima) if have_words else 0
    differing = distance(first.simhash, second.simhash) if have_words else bits
    return Comparison(
        words_a=first.words,
        words_b=second.words,
        shingles_a=sets.a,
        shingles_b=sets.b,
        shared=sets.shared,
        resemblance=resemblance,
        estimate=estimate(first, second),
        standard_error=standard_error(resemblance),
        containment_a=sets.shared / max(sets.a, 1),
        containment_b=sets.shared / max(sets.b, 1),
        dice=200 * sets.shared / max(sets.a + sets.b, 1),
        per_word=100 * sets.shared / max(first.words, 1),
        supershingles=equal,
        megashingles=equal * (equal - 1) // 2,
        simhash_distance=differing,
        simhash_likeness=(bits - differing) / bits,
        cosine=cosine(*words, weighting),
        longest_run=longest_common_run(*words),
        longest_subsequence=None if aligned is None else aligned.longest_subsequence,
        edit_distance=None if aligned is None else aligned.edit_distance,
        exact=bool(first.words) and first.text_hash == second.text_hash,
    )
