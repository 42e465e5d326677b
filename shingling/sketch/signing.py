"""Text -> signature, and text -> fingerprints of its shingles, under a scheme.

The compiled kernel signs under schemes that it knows (`_kernel_signs`), NumPy under all others
and where there is no kernel. Both give the same bits.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from shingling import kernel
from shingling.sketch.minhash import AFFINE, minima
from shingling.sketch.scheme import Scheme
from shingling.sketch.shingles import KEY, fingerprints, keyed_hashes, unit_hashes, word_hashes
from shingling.sketch.signature import Signature, exact_hash, hash_folded
from shingling.sketch.simhash import simhash_of_words, tf_shingle_sizes
from shingling.text import join_folded_words, join_words, nfkc_casefold, plain_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from shingling.sketch.shingles import Fingerprints

_DEFAULT = Scheme()
_AFFINE_BYTES = AFFINE.tobytes()


def sign(text: str, scheme: Scheme = _DEFAULT) -> Signature:
    """Sign a text.

    A text without words has a signature with `words == 0`, which resembles no other.

    Args:
        text: main text of a page.
        scheme: to sign under.

    Raises:
        SchemeError: the scheme needs a language pack that is not installed.
    """
    plain = plain_text(scheme.canonical, text)
    if plain is None or not _kernel_signs(scheme):
        return sign_words(scheme.canonical.words(text), scheme, text)
    folded = nfkc_casefold(text)  # once, for words and exact hash
    joined = join_folded_words(folded) if plain is text else join_words(plain)
    return sign_by_kernel(joined, scheme, hash_folded(folded))


def sign_many(
    texts: Iterable[str], scheme: Scheme = _DEFAULT, *, threads: int = 1
) -> list[Signature]:
    """Sign texts, in their order.

    Args:
        texts: any number of them.
        scheme: to sign under.
        threads: number of threads. More than one help with the compiled kernel, which releases
            the GIL.

    Raises:
        SchemeError: the scheme needs a language pack that is not installed.
    """
    sign_one = partial(sign, scheme=scheme)
    if threads <= 1:
        return [*map(sign_one, texts)]
    with ThreadPoolExecutor(threads) as pool:
        return [*pool.map(sign_one, texts)]


def sign_words(
    words: Sequence[str], scheme: Scheme = _DEFAULT, text: str | None = None
) -> Signature:
    """Sign canonical words.

    Args:
        words: cut from a text.
        scheme: to sign under.
        text: that the exact hash is taken of; None for the words, joined by blanks. Keywords are
            chosen without the function words of the text; if it is None, of all words.
    """
    if _kernel_signs(scheme):
        joined = " ".join(words)
        # The kernel splits at blanks: no word may be empty or contain one.
        if joined.count(" ") == len(words) - 1 and "" not in words:
            return sign_by_kernel(
                joined.encode(), scheme, exact_hash(joined if text is None else text)
            )
    return sign_by_numpy(words, scheme, text)


def sign_by_kernel(joined: bytes, scheme: Scheme, text_hash: bytes) -> Signature:
    """Sign canonical words in UTF-8, joined by blanks, with the compiled kernel."""
    sizes = tf_shingle_sizes(scheme.simhash)
    assert sizes is not None
    raw, simhash, words = kernel.sign(
        joined, _AFFINE_BYTES, scheme.shingle_size, sizes[0], sizes[-1]
    )
    return Signature(
        minima=np.frombuffer(raw, dtype=np.uint32),
        simhash=simhash & ((1 << scheme.simhash.bits) - 1),
        text_hash=text_hash,
        words=words,
        scheme=scheme.id,
    )


def sign_by_numpy(
    words: Sequence[str], scheme: Scheme = _DEFAULT, text: str | None = None
) -> Signature:
    """`sign_words` without the compiled kernel."""
    hashes = word_hashes(words)
    units = hashes if scheme.unit == "words" else unit_hashes(words, scheme.unit)
    shingles = fingerprints(units, scheme.shingle_size, ordered=scheme.ordered)
    weighed = words
    if text is not None and scheme.simhash.keywords:
        weighed = scheme.canonical.content_words(text, [*words])
    return Signature(
        minima=minima(shingles, scheme.family),
        simhash=simhash_of_words(
            weighed, hashes if weighed is words else word_hashes(weighed), scheme.simhash
        ),
        text_hash=exact_hash(" ".join(words) if text is None else text),
        words=len(words),
        scheme=scheme.id,
    )


def shingle_text(text: str, scheme: Scheme = _DEFAULT) -> Fingerprints:
    """Fingerprints of the shingles of a text, in text order: uint64[n]."""
    plain = plain_text(scheme.canonical, text)
    if plain is None or not _kernel_signs(scheme):
        return shingle_words(scheme.canonical.words(text), scheme)
    raw = kernel.fingerprints(join_words(plain), scheme.shingle_size)
    return np.frombuffer(raw, dtype=np.uint64)


def shingle_words(words: Sequence[str], scheme: Scheme = _DEFAULT) -> Fingerprints:
    """Fingerprints of the shingles of canonical words, in text order: uint64[n]."""
    units = unit_hashes(words, scheme.unit)
    return fingerprints(units, scheme.shingle_size, ordered=scheme.ordered)


def fingerprint_set(text: str, scheme: Scheme = _DEFAULT) -> Fingerprints:
    """Distinct fingerprints of the shingles of a text, sorted: uint64[k].

    They are for comparing texts in this process: words are hashed under its key. Anybody can make
    two words with one CRC, nobody two that are one here.
    """
    plain = plain_text(scheme.canonical, text)
    if plain is not None and _kernel_signs(scheme):
        raw = kernel.fingerprints(join_words(plain), scheme.shingle_size, KEY)
        return _distinct(np.frombuffer(raw, dtype=np.uint64))
    units = unit_hashes(scheme.canonical.words(text), scheme.unit, keyed_hashes)
    return _distinct(fingerprints(units, scheme.shingle_size, ordered=scheme.ordered))


def fingerprint_set_of_words(words: Sequence[str], scheme: Scheme = _DEFAULT) -> Fingerprints:
    """Distinct fingerprints of the shingles of canonical words, sorted: uint64[k]."""
    return _distinct(shingle_words(words, scheme))


def _distinct(shingles: Fingerprints) -> Fingerprints:
    """Sort values, and drop repeats: twice as fast as `np.unique`, which hashes them."""
    ordered = np.sort(shingles)
    is_new = np.ones(len(ordered), bool)
    np.not_equal(ordered[1:], ordered[:-1], out=is_new[1:])
    return ordered[is_new]


def _kernel_signs(scheme: Scheme) -> bool:
    """Whether there is a compiled kernel that signs words under this scheme."""
    return (
        kernel.COMPILED
        and scheme.unit == "words"
        and scheme.ordered
        and scheme.family == "affine"
        and tf_shingle_sizes(scheme.simhash) is not None
    )
