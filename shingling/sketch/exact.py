"""Text -> exact hash.

Texts that differ only in case, white space or invisible characters have the same one. It is part
of a signature, beside minima and SimHash.
"""

from __future__ import annotations

import hashlib

import numpy as np

from shingling.text import nfkc_casefold

_HASH_BYTES = 16


def exact_hash(text: str) -> bytes:
    """Exact hash of a text, 16 bytes, under every scheme.

    BLAKE2b-128 (RFC 7693) of the text in UTF-8, in NFKC_Casefold (Unicode Standard, section 3.13),
    with one blank for each run of white space and none at the ends. Case, line breaks and invisible
    characters do not count; every letter, digit, symbol and punctuation mark does.
    """
    return hash_folded(nfkc_casefold(text))


def hash_folded(folded: str) -> bytes:
    """`exact_hash` of a text that `nfkc_casefold` has folded already."""
    # A stored text has a question mark for a lone surrogate.
    raw = folded.encode("utf-8", "replace")
    if b"  " in raw:
        codes = np.frombuffer(raw, np.uint8)
        blank = codes == ord(" ")
        kept = np.ones(len(codes), bool)  # all but blanks after a blank
        np.logical_not(blank[1:] & blank[:-1], out=kept[1:])
        raw = codes[kept].tobytes()
    return hashlib.blake2b(raw.strip(), digest_size=_HASH_BYTES).digest()
