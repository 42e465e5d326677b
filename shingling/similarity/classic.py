"""Shingles as checksums of their text, as articles on the algorithm and older systems keep them.

Verdicts do not use these: they are for those who compare values with such a system.
"""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from shingling.errors import SchemeError, require_type
from shingling.rules import CLASSIC_HASHES
from shingling.text import canonical_words

if TYPE_CHECKING:
    from collections.abc import Callable

    from shingling.text import Canonicaliser

_HEX_DIGESTS: dict[str, Callable[[bytes], str]] = {
    "md5": lambda raw: hashlib.md5(raw, usedforsecurity=False).hexdigest(),
    "sha1": lambda raw: hashlib.sha1(raw, usedforsecurity=False).hexdigest(),
}


def shingles(
    text: str | Sequence[str],
    size: int = 10,
    step: int = 1,
    hash: str = "crc32",  # noqa: A002 (a public name)
    *,
    canonical: Canonicaliser | None = None,
    signed: bool = False,
) -> list[Any]:
    """Checksum of the text of each shingle, in text order, repeats included.

    The text of a shingle is its words, joined by one blank, in UTF-8. What is left at the end of
    a text is no shingle: a text of fewer than `size` words has none.

    Args:
        text: a text, or its words, which are taken as they are.
        size: words in a shingle, 1 or more.
        step: words from the beginning of a shingle to that of the next: 1 for overlapping
            shingles, `size` for shingles end to end.
        hash: "crc32" (CRC-32 of ISO 3309, as zlib, PHP and Node.js compute it), "md5" or "sha1".
        canonical: cuts the text into words; None cuts it as `canonical_words` does.
        signed: CRC-32 as a signed number of 32 bits, as PHP gives it on 32-bit systems.

    Returns:
        Whole numbers for crc32, hexadecimal digits for md5 and sha1.

    Raises:
        SchemeError: an argument is not accepted, or a language pack is not installed.
    """
    require_type("text", text, Sequence)
    for name, value in (("size", size), ("step", step)):
        if type(value) is not int or value < 1:
            raise SchemeError(f"{name} {value!r} is not accepted: a whole number from 1 on")
    if hash not in CLASSIC_HASHES:
        raise SchemeError(f"hash {hash!r} is not known: {' or '.join(CLASSIC_HASHES)}")
    if isinstance(text, str):
        text = canonical_words(text) if canonical is None else canonical.words(text)
    # A lone surrogate becomes a question mark, as in a stored text.
    encoded = [word.encode("utf-8", "replace") for word in text]
    joined = (
        b" ".join(encoded[start : start + size]) for start in range(0, len(text) - size + 1, step)
    )
    if hash != "crc32":
        return [*map(_HEX_DIGESTS[hash], joined)]
    sums = map(zlib.crc32, joined)
    return [value - (value >> 31 << 32) for value in sums] if signed else [*sums]


class ClassicOverlap(NamedTuple):
    """What two lists of checksums have in common, counted as such systems do.

    Args:
        words_a: words of a.
        shingles_a, shingles_b: shingles of each text, repeats included.
        shared: shingles of a whose checksum b has, repeats included.
        dice: 100 x 2 shared / (shingles of a + shingles of b); 0.0 if there are none.
        per_word: 100 x shared / words of a; 0.0 if it has none.
        per_shingle: 100 x shared / shingles of a; 0.0 if it has none.
    """

    words_a: int
    shingles_a: int
    shingles_b: int
    shared: int
    dice: float
    per_word: float
    per_shingle: float


def classic_overlap(
    a: Sequence[str],
    b: Sequence[str],
    size: int,
    step: int,
    hash: str,  # noqa: A002 (a public name)
) -> ClassicOverlap:
    """Compare the `shingles` of the words of two texts."""
    first, second = (shingles(words, size, step, hash) for words in (a, b))
    known = set(second)
    shared = sum(checksum in known for checksum in first)
    return ClassicOverlap(
        words_a=len(a),
        shingles_a=len(first),
        shingles_b=len(second),
        shared=shared,
        dice=200 * shared / max(len(first) + len(second), 1),
        per_word=100 * shared / max(len(a), 1),
        per_shingle=100 * shared / max(len(first), 1),
    )
