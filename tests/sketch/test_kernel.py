"""The compiled kernel gives the bits that NumPy gives."""

from __future__ import annotations

import os
import random
import re
import shutil
import threading

import numpy as np
import pytest
from hypothesis import example, given, strategies as st

from shingling import Scheme, SimhashFeatures, canonical_words, sign, sign_many
from shingling.kernel import COMPILED
from shingling.sketch import fmix64, shingle_text, signature
from shingling.sketch.minhash import AFFINE
from shingling.text.bounding import class_table
from shingling.text.folding import fold_table
from shingling.text.words import cut_by_class, cut_words, join_words
from tests.support.installed import ROOT
from tests.support.processes import ANEW, run_fork
from tests.text.reference import reference_fold

_SWITCHED_OFF = os.environ.get("SHINGLING_COMPILED") == "0"
_HAS_COMPILER = any(map(shutil.which, ("cc", "gcc", "clang", "cl")))

# Code points that depend on those beside them, and of every class.
_TELLING = "aé\u0301\u0345ßΣςİǅﬁ①½Å²가ᄀ\u1161\u11a8กา\u0e31漢か\u3099ガ\uff9e"
_TELLING += "\u200b\u00ad\ufe0f\u034f .-\0\n"
_TELLING += "'ʼŉ´न\u094dदंٲ"
_TELLING += "iı\u0307ά\u0342أی\u0654\u064eـۀשׁ\u05c1١\u200c"
_texts = st.text(
    st.one_of(
        st.sampled_from(_TELLING),
        st.characters(),
        st.integers(0xD800, 0xDFFF).map(chr),  # lone surrogates
    ),
    max_size=40,
)
_words = st.lists(st.text("abcdeжя漢", min_size=1, max_size=6), max_size=300)


def _cut(text: str) -> bytes:
    """Canonical words, joined by blanks: by NumPy, of a text that is folded without the table."""
    words = cut_by_class(reference_fold(text), class_table())
    assert cut_words(text) == words
    return " ".join(words).encode()


@pytest.mark.skipif(_SWITCHED_OFF, reason="the kernel is switched off")
def test_the_kernel_is_there_where_a_compiler_is() -> None:
    assert COMPILED or not _HAS_COMPILER


@pytest.mark.parametrize(
    "context", ["{}", "a{}b", "{0}{0}", "한{}", "ก{}ก", "e{}\u0301", "{} 漢{}"]
)
def test_every_code_point_is_folded_and_cut_as_by_numpy(context: str) -> None:
    # In one text, set apart so that code points of different cases do not meet.
    codes = [*range(0x3400), *range(0xA000, 0x11000, 7), *range(0x1D000, 0x1D800)]
    codes += [*range(0x2F800, 0x2FA20), *range(0xE0000, 0xE0200), 0x10FFFF]
    for start in range(0, len(codes), 64):
        part = codes[start : start + 64]
        text = "\n".join(context.format(chr(code), chr(code)) for code in part)
        if join_words(text) == _cut(text):
            continue
        for code in part:
            one = context.format(chr(code), chr(code))
            assert join_words(one) == _cut(one), hex(code)


@given(_texts)
@example("\u200ba\u200b\u0301")
@example("\u0301a")
@example("ก\u0e31a")
@example("각\u200b\u11a8")
def test_texts_are_folded_and_cut_as_by_numpy(text: str) -> None:
    assert join_words(text) == _cut(text)


@given(
    _words,
    st.integers(1, 12),
    st.sampled_from(["words", "words:2", "words:1-3", "words:2-7"]),
    st.sampled_from([32, 64]),
)
def test_words_are_signed_as_by_numpy(
    words: list[str], size: int, features: str, bits: int
) -> None:
    scheme = Scheme(size, simhash=SimhashFeatures(bits, features))
    assert signature._kernel_signs(scheme) == COMPILED
    expected = signature.sign_by_numpy(words, scheme)
    assert signature.sign_words(words, scheme) == expected
    assert (
        sign(" ".join(words), scheme).minima.tolist()
        == signature.sign_by_numpy(cut_words(" ".join(words)), scheme).minima.tolist()
    )


@pytest.mark.parametrize("count", [1023, 1024, 1025, 65_535, 65_536, 140_000])
def test_long_texts_are_signed_as_by_numpy(count: int) -> None:
    rnd = random.Random(count)
    words = [str(rnd.randrange(count)) for _ in range(count)]
    assert sign(" ".join(words)) == signature.sign_by_numpy(words, Scheme())
    text = " ".join(words)
    assert np.array_equal(shingle_text(text), signature.shingle_words(words))


@pytest.mark.parametrize("words", [["a b"], ["", "a"], ["a", ""], [""], [" "], []])
def test_words_with_blanks_in_them_are_signed_as_they_are(words: list[str]) -> None:
    assert signature.sign_words(words) == signature.sign_by_numpy(words, Scheme())


@pytest.mark.parametrize("threads", [1, 4])
def test_many_texts_are_signed_in_their_order(threads: int) -> None:
    texts = [f"text number {number} " * 50 for number in range(200)]
    assert sign_many(iter(texts), threads=threads) == [*map(sign, texts)]
    assert sign_many([], threads=threads) == []


@pytest.mark.skipif(not COMPILED, reason="the kernel is not there")
def test_other_threads_run_while_a_text_is_signed() -> None:
    joined = b" ".join(str(number).encode() for number in range(2_000_000))

    def turns() -> int:
        """How often this thread runs while another one signs."""
        thread = threading.Thread(
            target=signature.sign_by_kernel, args=(joined, Scheme(), bytes(16))
        )
        thread.start()
        counted = 0
        while thread.is_alive():
            thread.join(0.001)
            counted += 1
        return counted

    # Without the GIL released it is one or two: before the call and after it.
    assert any(turns() > 5 for _ in range(20))


@pytest.mark.skipif(not COMPILED, reason="the kernel is not there")
def test_arguments_that_make_no_sense_are_refused() -> None:
    from shingling.kernel import _kernel

    with pytest.raises(ValueError, match="a table of 4 bytes"):
        _kernel.fold_words("text", b"\0" * 4, False)
    for size in (0, -1):
        with pytest.raises(ValueError, match="shingles of"):
            _kernel.fingerprints(b"a b", size)
        with pytest.raises(ValueError, match="shingles of"):
            _kernel.sign(b"a b", AFFINE.tobytes(), size, 1, 3)
        with pytest.raises(ValueError, match="shingles of"):
            _kernel.sign(b"a b", AFFINE.tobytes(), 5, size, 3)
    with pytest.raises(ValueError, match="functions of 4 bytes"):
        _kernel.sign(b"a b", b"\0" * 4, 5, 1, 3)
    with pytest.raises(TypeError):
        _kernel.fold_words(b"text", fold_table(), False)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="a key of 4 bytes"):
        _kernel.fingerprints(b"a b", 5, b"\0" * 4)
    with pytest.raises(ValueError, match="a key of 4 bytes"):
        _kernel.says_more("a", "b", fold_table().data, 5, b"\0" * 4)
    with pytest.raises(ValueError, match="a table of 4 bytes"):
        _kernel.says_more("a", "b", b"\0" * 4, 5, bytes(16))
    # Folded lines that are missing have no words.
    assert _kernel.says_more("5 a\nb", "a\nb", fold_table().data, 1, bytes(16), "", "a\nb") is False
    assert _kernel.fingerprints(b"", 5) == _kernel.fingerprints(b"", 5, bytes(16)) == b""
    assert len(_kernel.fingerprints(b"  ", 1)) == 3 * 8  # three words without a letter


@pytest.mark.skipif(not COMPILED, reason="the kernel is not there")
@pytest.mark.parametrize(
    ("length", "hashed"),
    [(7, 0xD3927D989BB11140), (8, 0x369095118D299A8E), (15, 0xD320D86D2A519956)],
)
def test_words_under_a_key_are_hashed_by_siphash(length: int, hashed: int) -> None:
    """Known answers of SipHash-1-3 under the key 00, 01, ..., 0F."""
    from shingling.kernel import _kernel

    [found] = np.frombuffer(
        _kernel.fingerprints(bytes(range(length)), 1, bytes(range(16))), np.uint64
    )
    assert found == fmix64(np.array([hashed], np.uint64))[0]


def test_without_the_kernel_everything_is_the_same() -> None:
    text = "The quick brown fox – Straße, 漢字 und 2½ Maß"
    script = (
        "from shingling import canonical_words, sign; from shingling.kernel import COMPILED;"
        f"print(COMPILED, canonical_words({text!r}), sign({text!r}).to_bytes().hex())"
    )
    without = {"SHINGLING_COMPILED": "0"}
    shown = run_fork(ROOT, "-c", ANEW + script, environment=without)
    assert shown.stdout == f"False {canonical_words(text)} {sign(text).to_bytes().hex()}\n"


def test_a_kernel_of_a_newer_python_works_in_an_older_one() -> None:
    # Of CPython 3.13, "#" needs no macro; a binary that is made there fails with it on 3.11.
    formats = re.findall(
        r'(?:ParseTuple|BuildValue)\([^"]*"([^"]+)"',
        (ROOT / "shingling" / "kernel" / "_kernel.c").read_text("utf-8"),
    )
    assert len(formats) >= 5
    assert not any("#" in one for one in formats)
