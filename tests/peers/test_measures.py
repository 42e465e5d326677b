"""The numbers of other systems, by ports of their algorithms, and ours on the same texts."""

from __future__ import annotations

from pathlib import Path

import pytest

from shingling import DocumentFrequencies, Scheme, Weighting, compare, extract, sign
from shingling.rules import WEIGHTINGS
from shingling.similarity import cosine
from shingling.sketch import Idf, SimhashFeatures, word_hashes
from shingling.sketch.simhash import feature_hashes
from shingling.text import canonical_words
from tests.peers.algorithms import TermVectors, cosine_of_vectors, pieces, simhash32
from tests.support.installed import ROOT
from tests.support.pages import article

SAMPLE = ROOT / "crawler" / "sample" / "amd64" / "en"
CATS = ("the cat sat on the mat", "the cat sat on a mat", "we all scream for ice cream")


@pytest.fixture(scope="module")
def manual() -> list[list[str]]:
    """Words of the pages of a manual."""
    return [
        words
        for page in sorted(Path(SAMPLE).glob("*.html"))
        if (words := canonical_words(extract(page.read_bytes()) or ""))
    ]


def test_cosines_over_documents_are_those_of_the_article(manual: list[list[str]]) -> None:
    peer = TermVectors(manual)
    counted = DocumentFrequencies.of_documents(word_hashes(words) for words in manual)
    for name in ("tf-idf", "tf-idf-max"):
        weighting = Weighting(name, frequencies=counted)
        for place in range(len(manual)):
            ours = cosine(manual[0], manual[place], weighting)
            assert ours == pytest.approx(peer.similarity(0, place)), (name, place)


def test_frequencies_come_from_a_learned_table_as_well(manual: list[list[str]]) -> None:
    documents = manual * 2  # a table leaves out the words of one document
    counted = DocumentFrequencies.of_documents(word_hashes(words) for words in documents)
    table = DocumentFrequencies.of_table(Idf.learn(documents, max_words=100_000))
    for name in WEIGHTINGS:
        a = cosine(manual[0], manual[1], Weighting(name, frequencies=counted))
        b = cosine(manual[0], manual[1], Weighting(name, frequencies=table))
        assert a == pytest.approx(b, abs=0.01), name


@pytest.mark.parametrize(("length", "overlap"), [(4, 3), (2, 1), (4, 0), (5, 2)])
@pytest.mark.parametrize("text", [*CATS, article(1)], ids=["mat", "a mat", "cream", "article"])
def test_simhashes_of_overlapping_characters_are_those_of_the_article(
    text: str, length: int, overlap: int
) -> None:
    words = canonical_words(text)
    joined = " ".join(words)
    tokens = pieces(joined, length, overlap)
    features = f"characters+blanks:{length}:{overlap}"
    hashes = feature_hashes(words, features).tolist()
    assert len(hashes) == len(tokens)
    theirs = simhash32(tokens, dict(zip(tokens, hashes, strict=True)).__getitem__)
    scheme = Scheme(simhash=SimhashFeatures(bits=32, features=features))
    assert sign(text, scheme).simhash == theirs


def test_blanks_count_where_they_are_asked_for() -> None:
    a, b = "over night", "overnight"
    for features, same in (("characters:4", True), ("characters+blanks:4", False)):
        scheme = Scheme(simhash=SimhashFeatures(features=features))
        assert (sign(a, scheme).simhash == sign(b, scheme).simhash) is same
        unit = Scheme(4, unit=features.partition(":")[0])
        assert (compare(a, b, unit).resemblance == 1) is same


def test_the_cosine_of_bigrams_is_that_of_their_counts() -> None:
    def counts(text: str) -> dict[str, float]:
        found = pieces(text, 2, 1)
        return {piece: found.count(piece) for piece in found}

    for a in CATS:
        for b in CATS:
            weighting = Weighting("tf", "characters+blanks:2")
            assert compare(a, b, weighting=weighting).cosine == pytest.approx(
                cosine_of_vectors(counts(a), counts(b))
            )
