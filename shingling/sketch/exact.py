"""The exact hash, which two pages have in common that say the same."""

from __future__ import annotations

import hashlib

import numpy as np

from shingling.text import fold_whole

_BYTES = 16


def hash_bytes(raw: bytes) -> bytes:
    """Return BLAKE2b-128."""
    return hashlib.blake2b(raw, digest_size=_BYTES).digest()


def exact_hash(text: str) -> bytes:
    """Return the exact hash of a text, 16 bytes, as every scheme of version 2 has it.

    BLAKE2b-128 of the text in UTF-8, in NFKC_Casefold (the Unicode Standard, section 3.13) and
    with each run of white space as one blank, none at the ends: case, line breaks and what
    cannot be seen do not count; every letter, digit, symbol and punctuation mark does.
    """
    return hash_folded(fold_whole(text))


def hash_folded(folded: str) -> bytes:
    """Return the exact hash of a text that `fold_whole` has folded."""
    # A lone surrogate counts as the question mark that a stored text has in its place.
    raw = folded.encode("utf-8", "replace")
    if b"  " in raw:
        codes = np.frombuffer(raw, np.uint8)
        blank = codes == ord(" ")
        stays = np.ones(len(codes), bool)  # all but blanks behind another
        np.logical_not(blank[1:] & blank[:-1], out=stays[1:])
        raw = codes[stays].tobytes()
    return hash_bytes(raw.strip())
