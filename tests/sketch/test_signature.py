"""Canonical words to signatures, beside a slow reference that shares no code with them."""

from __future__ import annotations

import hashlib
import json
import struct
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from shingling import Scheme, Signature, canonical_words, sign
from shingling.errors import SchemeError, SignatureError
from shingling.kernel import COMPILED
from shingling.sketch import exact_hash, fingerprint_set_of_words, shingles, sign_words
from shingling.sketch.signature import sign_by_numpy
from shingling.sketch.simhash import simhash
from shingling.text import Canonicaliser
from shingling.text.words import cut_words
from tests.hostile.growth import calls
from tests.text.reference import reference_fold

_VECTORS: list[dict[str, Any]] = json.loads(
    Path(__file__).with_name("known_answers.json").read_bytes()
)["signatures"]
_MASK = (1 << 64) - 1


def _reference_crc64(data: bytes) -> int:
    """CRC-64/XZ, bit by bit: the reflected polynomial of ECMA-182, all ones before and after."""
    value = _MASK
    for byte in data:
        value ^= byte
        for _ in range(8):
            value = value >> 1 ^ (0xC96C5795D7870F42 if value & 1 else 0)
    return value ^ _MASK


def _reference_fmix64(value: int) -> int:
    for multiplier in (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53):
        value = (value ^ value >> 33) * multiplier & _MASK
    return value ^ value >> 33


def _reference_fingerprints(words: list[str], size: int) -> list[int]:
    hashes = {word: _reference_crc64(word.encode()) for word in words}
    size = min(size, len(words))
    found = []
    for start in range(len(words) - size + 1 if words else 0):
        value = 0
        for word in words[start : start + size]:
            value = value * 0x9E3779B97F4A7C15 + hashes[word]
        found.append(_reference_fmix64(value & _MASK))
    return found


def _reference_constant(letter: str, number: int) -> int:
    digest = hashlib.sha256(f"shingling affine {letter} {number}".encode()).digest()
    return int.from_bytes(digest[:4], "little")


def _reference_minima(fingerprints: list[int]) -> list[int]:
    functions = [(_reference_constant("a", i) | 1, _reference_constant("b", i)) for i in range(84)]
    distinct = {value & 0xFFFFFFFF for value in fingerprints}
    return [
        min((a * value + b & 0xFFFFFFFF for value in distinct), default=0xFFFFFFFF)
        for a, b in functions
    ]


def _reference_simhash(features: list[int]) -> int:
    counts = [sum(feature >> bit & 1 for feature in features) for bit in range(64)]
    return sum(1 << bit for bit, count in enumerate(counts) if 2 * count > len(features))


def _reference_hash(text: str) -> bytes:
    raw = reference_fold(text).encode("utf-8", "replace")
    return hashlib.blake2b(raw, digest_size=16).digest()


def _reference_bytes(words: list[str], size: int, text: str | None = None) -> bytes:
    """The 376 bytes of a signature, by the text of docs/explanation/algorithms.md alone."""
    scheme = f'{{"shingle_size": {size}, "version": 3}}'.encode()
    text_hash = _reference_hash(" ".join(words) if text is None else text)
    features = [value for n in (1, 2, 3) for value in _reference_fingerprints(words, n)]
    return struct.pack(
        "<4s8sIQ16s84I",
        b"SHG1",
        hashlib.blake2b(scheme, digest_size=8).digest(),
        len(words),
        _reference_simhash(features),
        text_hash,
        *_reference_minima(_reference_fingerprints(words, size)),
    )


def _generated(count: int, distinct: int = 700) -> str:
    """A text of made-up words: Weyl's sequence in base 16, spelt with 16 syllables."""
    syllables = [first + second for first in "bdfg" for second in "aeiu"]
    words = []
    for number in range(count):
        state = (number * 0x9E3779B1 & 0xFFFFFFFF) >> 16
        words.append("".join(syllables[int(digit, 16)] for digit in f"{state % distinct:x}"))
    return " ".join(words)


@pytest.mark.parametrize("vector", _VECTORS, ids=lambda vector: vector["name"])
def test_signatures_equal_the_committed_known_answers(vector: dict[str, Any]) -> None:
    text = _generated(vector["generated"]) if "generated" in vector else vector["text"]
    size, raw = vector["shingle_size"], bytes.fromhex(vector["bytes"])
    signature = sign(text, Scheme(size))
    assert signature.words == vector["words"]
    assert f"{signature.simhash:016x}" == vector["simhash"]
    assert signature.text_hash.hex() == vector["text_hash"]
    assert signature.minima[:4].tolist() == vector["first_minima"]
    assert signature.to_bytes() == raw
    assert Signature.from_bytes(raw) == signature
    assert sign_by_numpy(cut_words(text), Scheme(size), text) == signature
    assert _reference_bytes(canonical_words(text), size, text) == raw


_SAME_TEXT = {
    "case": ("Ask ΟΔΟΣ, STRASSE and \u01c5.", "ask οδος, Straße AND \u01c6."),
    "white space": ("one two\nthree", "\t one  two\r\n\u2028\u3000\x85 three\u1680"),
    "soft hyphens and zero-width spaces": ("co\u00adop\u200beration\ufeff", "cooperation"),
    "variation selectors and joiners": ("\u2764\ufe0f \u2714\ufe0e a\u200db", "\u2764 \u2714 ab"),
    "a mark behind what cannot be seen": ("e\u200b\u0301te\u0301", "été"),
    "compatibility": ("ﬁne ① ＡＢＣ ½ … ™", "fine 1 abc 1⁄2 ... tm"),
    "composition": ("e\u0301 \u1112\u1161\u11ab ｶﾞ", "é 한 ガ"),
    "letters that are one": ("كتاب ٢٠٢٤ ΆΝΟΙΞΗ İZMİR IŞIK", "کِتـاب 2024 Άνοιξη izmir ışık"),
    "references escaped again": ("Müller & Söhne", "M&amp;uuml;ller &amp;amp; S&#246;hne"),
}
_OTHER_TEXT = {
    "operators": ("the operator == of C", "the operator != of C"),
    "languages": ("What is new in C++?", "What is new in C#?"),
    "signs": ("a rate of +3 %", "a rate of -3 %"),
    "a point": ("The answer is 1.5", "The answer is 15"),
    "currencies": ("it costs 5 €", "it costs 5 $"),
    "a full stop": ("That is all", "That is all."),
    "emoji": ("Well done \U0001f600", "Well done \U0001f622"),
    "blanks between words": ("over night", "overnight"),
    "digits": ("chapter 1", "chapter 2"),
    "accents": ("resume", "résumé"),
    "letters": ("ایران و عراق", "اىران او عراق"),
}


@pytest.mark.parametrize("kind", ["words", "characters", "kept case", "markup"])
@pytest.mark.parametrize("pair", [*_SAME_TEXT.values(), *_OTHER_TEXT.values()], ids=ascii)
def test_under_any_scheme_the_exact_hash_is_of_the_text(pair: tuple[str, str], kind: str) -> None:
    scheme = {
        "words": Scheme(),
        "characters": Scheme(unit="characters"),
        "kept case": Scheme(canonical=Canonicaliser(keep_case=True, keep_punctuation=True)),
        "markup": Scheme(canonical=Canonicaliser(markup=True)),
    }[kind]
    first, second = (sign(text, scheme) for text in pair)
    assert (first.text_hash == second.text_hash) is (pair in _SAME_TEXT.values())
    assert first.text_hash == exact_hash(pair[0]) == _reference_hash(pair[0])


def test_markup_is_part_of_the_text_where_it_is_no_part_of_the_words() -> None:
    scheme = Scheme(canonical=Canonicaliser(markup=True))
    plain, marked = sign("one two", scheme), sign("<b>one</b> two", scheme)
    assert plain.minima.tolist() == marked.minima.tolist()
    assert plain.text_hash != marked.text_hash


_telling = st.sampled_from(
    "aAßΣςİǅﬁ①½…Å가각\u1161\u11a8e\u0301\u0345か\u3099\u200b\u00ad\ufe0f .\n\x85"
    "iı\u0307\u0323άΐᾴ\u0308أیـ\u0654\u064e\u200cۀשׁ\u05c1١१&#;xamp36"
)


@given(st.text(st.one_of(_telling, st.characters(), st.integers(0xD800, 0xDFFF).map(chr))))
def test_the_exact_hash_is_that_of_the_slow_reference(text: str) -> None:
    assert exact_hash(text) == _reference_hash(text)
    assert exact_hash(reference_fold(text)) == exact_hash(text)
    assert canonical_words(text) == canonical_words(reference_fold(text))


def test_words_alone_stand_for_the_text_that_they_make() -> None:
    assert sign_words(["One", "two"]) == sign_words(["One", "two"], text="one  TWO")
    assert sign_words(["one", "two"]) == sign("one two")
    assert sign_words(["one", "two"], text="one + two") == sign("one + two")


@given(st.lists(st.text("abé漢", min_size=1, max_size=3), max_size=12), st.integers(1, 8))
@settings(max_examples=40)
def test_signatures_equal_the_slow_reference(words: list[str], size: int) -> None:
    assert sign_words(words, Scheme(size)).to_bytes() == _reference_bytes(words, size)


def test_the_word_hash_is_crc_64_xz() -> None:
    assert _reference_crc64(b"123456789") == 0x995DC9BBDF1939FA
    assert shingles.word_hashes(["123456789"]).tolist() == [0x995DC9BBDF1939FA]


@pytest.mark.parametrize("feature", [_MASK, 0, 1, 1 << 63, 0x0001_0001_0001_0001])
@pytest.mark.parametrize("count", [4095, 4096, 4097, 65_536, 200_000])
def test_simhash_counts_more_features_than_a_lane_holds(feature: int, count: int) -> None:
    others = np.full(count - 1, feature ^ _MASK, dtype=np.uint64)
    features = np.concatenate([np.full(count, feature, dtype=np.uint64), others])
    assert simhash(features) == feature


def test_distinct_fingerprints_are_sorted_and_without_repeats() -> None:
    words = canonical_words(_generated(300, 40))
    found = fingerprint_set_of_words(words, Scheme(1))
    assert found.tolist() == sorted(set(_reference_fingerprints(words, 1)))


_SIGNATURES = st.builds(
    Signature,
    minima=st.lists(st.integers(0, 2**32 - 1), min_size=84, max_size=84).map(
        lambda values: np.array(values, dtype=np.uint32)
    ),
    simhash=st.integers(0, _MASK),
    text_hash=st.binary(min_size=16, max_size=16),
    words=st.integers(0, 2**32 - 1),
    scheme=st.integers(0, _MASK).map(lambda value: f"{value:016x}"),
)


@given(_SIGNATURES)
def test_a_signature_is_read_back_from_its_bytes(signature: Signature) -> None:
    raw = signature.to_bytes()
    read = Signature.from_bytes(raw)
    assert len(raw) == 376
    assert read == signature
    assert hash(read) == hash(signature)
    assert read.to_bytes() == raw
    assert (read.simhash, read.words) == (signature.simhash, signature.words)
    assert (read.text_hash, read.scheme) == (signature.text_hash, signature.scheme)
    assert read.minima.dtype == np.uint32
    assert read.minima.tolist() == signature.minima.tolist()


def test_signatures_of_different_texts_or_schemes_are_not_equal() -> None:
    assert sign("one two") != sign("two one")
    assert sign("one two", Scheme(1)) != sign("one two", Scheme(2))
    assert sign("one two") != "one two"
    assert len({sign("one two"), sign("One\nTWO"), sign("two one"), sign("one, two!")}) == 3


@pytest.mark.parametrize("length", [0, 3, 40, 336, 375, 376, 377, 752])
def test_bytes_of_another_length_or_with_another_magic_are_no_signature(length: int) -> None:
    raw = sign("some words").to_bytes() * 2
    if length == 376:
        raw = b"SHG2" + raw[4:]
    with pytest.raises(SignatureError, match=f"{length} bytes") as caught:
        Signature.from_bytes(raw[:length])
    assert isinstance(caught.value, ValueError)


@pytest.mark.parametrize(
    "text", ["", "{", "null", "[]", '"text"', '{"shingle_size": "5"}', '{"shingle_size": [5]}']
)
def test_json_that_is_no_scheme_of_this_release_is_refused(text: str) -> None:
    with pytest.raises(SchemeError):
        Scheme.from_json(text)


def test_eight_threads_that_sign_at_once_give_the_signatures_of_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # So small a cache is emptied all the time, while other threads read it.
    monkeypatch.setattr(shingles, "_MAX_CACHED_WORDS", 50)
    texts = [f"{_generated(120)} {number} {_generated(number)}" for number in range(60)]
    for signed in (sign, lambda text: sign_by_numpy(text.split())):
        expected = [*map(signed, texts)]
        with ThreadPoolExecutor(8) as threads:
            found = list(threads.map(signed, texts * 8))
        assert found == expected * 8


def test_the_cache_of_word_hashes_is_bounded() -> None:
    words = [f"{number:x}" for number in range(150_000)]
    hashes = shingles.word_hashes(words)
    assert 0 < len(shingles._word_hashes) <= 1 << 16
    assert hashes[0] == _reference_crc64(b"0")
    assert hashes[-1] == _reference_crc64(words[-1].encode())
    assert shingles.word_hashes(words).tolist() == hashes.tolist()
    long = "x" * 100_000
    assert shingles.word_hashes([long, long]).tolist() == [_reference_crc64(long.encode())] * 2
    assert long not in shingles._word_hashes


@pytest.mark.skipif(not COMPILED, reason="the kernel is not there")
def test_no_word_of_a_text_costs_a_call() -> None:
    assert calls(sign, _generated(1000)) == calls(sign, _generated(8000)) < 100
