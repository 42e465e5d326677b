"""Every parameter of a scheme, beside slow references that share no code with it."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from math import log
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from shingling import Scheme, sign
from shingling.errors import SchemeError
from shingling.similarity.measures import estimate
from shingling.sketch import (
    FUNCTIONS,
    SimhashFeatures,
    fingerprint_set_of_words,
    shingle_words,
    winnow,
    word_hashes,
)
from shingling.sketch.crc_family import POLYNOMIALS, crc_values
from shingling.sketch.idf import Idf, word_weights
from shingling.text import Canonicaliser

_KNOWN: list[dict[str, Any]] = json.loads(
    Path(__file__).with_name("known_answers.json").read_bytes()
)["by_parameters"]
_WORDS = st.lists(
    st.sampled_from(["a", "b", "c", "d", "e", "f", "ab", "abc", "кот", "кошка", "猫", "كلب"]),
    max_size=40,
)
_SCHEMES = [
    Scheme(),
    Scheme(shingle_size=1),
    Scheme(family="crc"),
    Scheme(ordered=False),
    Scheme(unit="characters", shingle_size=9),
    Scheme(unit="characters", shingle_size=4, ordered=False, family="crc"),
    Scheme(simhash=SimhashFeatures(bits=32)),
    Scheme(simhash=SimhashFeatures(features="words")),
    Scheme(simhash=SimhashFeatures(features="words:2", bits=32)),
    Scheme(simhash=SimhashFeatures(features="characters:4")),
    Scheme(simhash=SimhashFeatures(features="words", keywords=3)),
    Scheme(canonical=Canonicaliser(keep_case=True, keep_punctuation=True, markup=True)),
]


# The family crc


def _divide(value: int, divisor: int) -> tuple[int, int]:
    quotient = 0
    while value.bit_length() >= divisor.bit_length():
        shift = value.bit_length() - divisor.bit_length()
        value ^= divisor << shift
        quotient |= 1 << shift
    return quotient, value


def _irreducible(polynomial: int) -> bool:
    """Rabin's test over GF(2) for degree 32: x^(2^32) = x, and gcd(x^(2^16) - x, p) = 1."""
    power = 2
    for step in range(1, 33):
        square = sum(1 << (2 * bit) for bit in range(32) if power >> bit & 1)
        power = _divide(square, polynomial)[1]
        if step == 16:
            a, b = polynomial, power ^ 2
            while b:
                a, b = b, _divide(a, b)[1]
            if a != 1:
                return False
    return power == 2


def test_the_polynomials_are_irreducible_and_those_that_the_digests_give() -> None:
    assert len(set(POLYNOMIALS)) == FUNCTIONS
    for number, polynomial in enumerate(POLYNOMIALS):
        tries = (
            int.from_bytes(
                hashlib.sha256(f"shingling crc {number} {attempt}".encode()).digest()[:4], "little"
            )
            | 1
            for attempt in range(1000)
        )
        assert polynomial == next(low for low in tries if _irreducible((1 << 32) | low))


def _reference_crc(polynomial: int, value: int) -> int:
    """CRC-32 over 8 bytes, bit by bit, then fmix32 of MurmurHash3."""
    reflected = int(f"{polynomial:032b}"[::-1], 2)
    crc = 0xFFFFFFFF
    for byte in value.to_bytes(8, "little"):
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (reflected if crc & 1 else 0)
    crc ^= 0xFFFFFFFF
    for shift, multiplier in ((16, 0x85EBCA6B), (13, 0xC2B2AE35)):
        crc = (crc ^ crc >> shift) * multiplier & 0xFFFFFFFF
    return crc ^ crc >> 16


@given(st.lists(st.integers(0, 2**64 - 1), min_size=1, max_size=5))
def test_crc_values_are_those_of_the_definition(values: list[int]) -> None:
    found = crc_values(np.array(values, dtype=np.uint64))
    for place in (0, 1, 42, 83):
        assert found[place].tolist() == [_reference_crc(POLYNOMIALS[place], v) for v in values]


# Shingles


@given(_WORDS, st.integers(1, 6))
def test_unordered_shingles_are_bags_of_words(words: list[str], size: int) -> None:
    scheme = Scheme(size, ordered=False)
    size = min(size, len(words))
    bags = {
        tuple(sorted(words[at : at + size])) for at in range(len(words) - size + 1 if words else 0)
    }
    assert len(fingerprint_set_of_words(words, scheme)) == len(bags)


@given(_WORDS, st.integers(1, 9))
def test_character_shingles_are_those_of_the_words_written_together(
    words: list[str], size: int
) -> None:
    text = "".join(words)
    size_of = min(size, len(text))
    pieces = {text[at : at + size_of] for at in range(len(text) - size_of + 1 if text else 0)}
    assert len(fingerprint_set_of_words(words, Scheme(size, unit="characters"))) == len(pieces)


# SimHash


def _majority(weighted: dict[int, int], bits: int) -> int:
    total = sum(weighted.values())
    return sum(
        1 << bit
        for bit in range(bits)
        if 2 * sum(weight for value, weight in weighted.items() if value >> bit & 1) > total
    )


def _features(words: list[str], size: int, unit: str = "words") -> list[int]:
    found: list[int] = shingle_words(words, Scheme(size, unit=unit)).tolist()
    return found


@given(_WORDS.filter(bool))
def test_simhashes_are_weighted_majorities(words: list[str]) -> None:
    text = " ".join(words)
    for features, found in {
        "words": _features(words, 1),
        "words:2": _features(words, 2),
        "words:1-3": [f for size in (1, 2, 3) for f in _features(words, size)],
        "characters:4": _features(words, 4, "characters"),
    }.items():
        for bits in (32, 64):
            scheme = Scheme(simhash=SimhashFeatures(bits=bits, features=features))
            assert sign(text, scheme).simhash == _majority(Counter(found), bits)
    counts = Counter(_features(words, 1))
    chosen = dict(sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:3])
    scheme = Scheme(simhash=SimhashFeatures(features="words", keywords=3))
    assert sign(text, scheme).simhash == _majority(chosen, 64)


@given(st.lists(_WORDS, min_size=1, max_size=6), _WORDS.filter(bool))
def test_idf_weights_words_by_how_few_documents_have_them(
    documents: list[list[str]], words: list[str]
) -> None:
    idf = Idf.learn(documents)
    number = len(documents)
    counts = Counter(word for document in documents for word in set(document))

    def weight(word: str) -> int:
        count = counts[word] if counts[word] > 1 else 0  # words of one document are not kept
        return round(256 * (1 + log((1 + number) / (1 + count))))

    hashes = word_hashes(words)
    assert word_weights(idf, hashes).tolist() == [weight(word) for word in words]
    weighted = {
        _features([word], 1)[0]: count * weight(word) for word, count in Counter(words).items()
    }
    scheme = Scheme(simhash=SimhashFeatures(features="words", idf=idf))
    assert sign(" ".join(words), scheme).simhash == _majority(weighted, 64)


def test_a_learned_table_survives_its_file_and_the_scheme(tmp_path: Path) -> None:
    idf = Idf.learn([["a", "b"], ["a", "c"], ["a", "b", "d"]])
    assert len(idf) == 2
    file = tmp_path / "idf.json"
    file.write_text(idf.to_json(), encoding="utf-8")
    again = Idf.from_json(file.read_text(encoding="utf-8"))
    assert again == idf
    scheme = Scheme(simhash=SimhashFeatures(features="words", idf=again))
    assert Scheme.from_json(scheme.to_json()) == scheme
    assert scheme.id == Scheme.from_json(scheme.to_json()).id != Scheme().id
    assert scheme.describe()["simhash"]["idf"] == "Idf(3 documents, 2 words)"
    small = Idf.learn([["a", "b"], ["a", "b"], ["a"]], max_words=1)
    assert word_weights(small, word_hashes(["a", "b"])).tolist() == [256, round(256 * (1 + log(4)))]


@pytest.mark.parametrize(
    "text",
    [
        *("", "[]", "5", "{}", '{"documents": 3}'),
        '{"documents": 0, "table": ""}',
        '{"documents": 3, "table": "??"}',
        '{"documents": 3, "table": "AAAA"}',
        '{"documents": 3, "table": 5}',
        '{"documents": "3", "table": ""}',
    ],
)
def test_a_file_that_is_no_table_is_refused(text: str) -> None:
    with pytest.raises(SchemeError):
        Idf.from_json(text)


# Samples


@given(st.lists(st.integers(0, 50), max_size=60), st.integers(1, 10))
def test_winnowing_picks_the_smallest_of_every_window(values: list[int], window: int) -> None:
    found = set(winnow(np.array(values, dtype=np.uint64), window).tolist())
    windows = [values[at : at + window] for at in range(max(len(values) - window + 1, 1))]
    assert found == {min(part) for part in windows if part}


# Schemes as values


@pytest.mark.parametrize("scheme", _SCHEMES)
def test_a_scheme_survives_json_and_has_an_id_of_its_own(scheme: Scheme) -> None:
    again = Scheme.from_json(scheme.to_json())
    assert again == scheme
    assert again.id == scheme.id
    assert sum(other.id == scheme.id for other in _SCHEMES) == 1


@pytest.mark.parametrize("known", _KNOWN, ids=[json.dumps(known["scheme"]) for known in _KNOWN])
def test_known_answers_of_every_kind_of_scheme(known: dict[str, Any]) -> None:
    """A change of any of these is a new scheme version."""
    scheme = Scheme.from_dict(known["scheme"])
    signature = sign(known["text"], scheme)
    assert scheme.id == known["id"]
    assert f"{signature.simhash:016x}" == known["simhash"]
    assert hashlib.sha256(signature.to_bytes()).hexdigest() == known["sha256"]


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"shingle_size": 0}, "shingle_size 0"),
        ({"shingle_size": 101}, "shingle_size 101"),
        ({"shingle_size": True}, "shingle_size True"),
        ({"shingle_size": 2.0}, "shingle_size 2.0"),
        ({"unit": "bytes"}, "unit 'bytes' is not accepted: words or characters"),
        ({"family": "md5"}, "family 'md5' is not accepted: affine or crc"),
        ({"ordered": "yes"}, "ordered 'yes'"),
        ({"version": 4}, "version 4 is not known; accepted: 3"),
        ({"version": "2"}, "version '2' is not known"),
        ({"version": True}, "version True is not known"),
        ({"familly": "crc"}, "did you mean family"),
        ({"canonical": {"stopwords": True}}, "did you mean canonical.stop_words"),
        ({"canonical": {"stop_words": 1}}, "stop_words"),
        ({"canonical": {"lemmas": "snowball"}}, "snowball"),
        ({"canonical": "russian"}, "canonical 'russian'"),
        ({"simhash": {"bits": 128}}, "bits 128"),
        ({"simhash": {"features": "bytes:4"}}, "features 'bytes:4'"),
        ({"simhash": {"features": "words:3-2"}}, "features 'words:3-2'"),
        ({"simhash": {"features": "words:0"}}, "features 'words:0'"),
        ({"simhash": {"features": "words:101"}}, "at most 100"),
        ({"simhash": {"features": 4}}, "features 4"),
        ({"simhash": {"keywords": -1}}, "keywords -1"),
        ({"simhash": {"keywords": 5}}, "set features to 'words'"),
        ({"simhash": {"idf": "idf.json"}}, "idf"),
        ({"simhash": 64}, "simhash 64"),
    ],
)
def test_a_scheme_that_cannot_be_is_refused_by_name(
    parameters: dict[str, Any], message: str
) -> None:
    with pytest.raises(SchemeError, match=message):
        Scheme.from_dict(parameters)


# Texts of every kind


@pytest.mark.parametrize("scheme", _SCHEMES)
@pytest.mark.parametrize("text", ["", " \n", "—", "\u200b"])
def test_texts_without_words_resemble_nothing(text: str, scheme: Scheme) -> None:
    if scheme.canonical.keep_punctuation and text == "—":
        return  # a dash is a word there
    signature = sign(text, scheme)
    assert signature.words == 0
    assert estimate(signature, sign("", scheme)) == 0.0


@pytest.mark.parametrize(
    "scheme",
    [
        Scheme(),
        Scheme(family="crc"),
        Scheme(ordered=False),
        Scheme(unit="characters", shingle_size=9),
    ],
)
def test_a_text_of_very_many_words_has_a_signature(scheme: Scheme) -> None:
    words = [f"w{number % 977}" for number in range(150_000)]
    assert sign(" ".join(words), scheme).words == 150_000
