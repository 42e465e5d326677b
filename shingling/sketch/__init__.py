"""Canonical words -> shingles -> fingerprints -> signatures, and the keys that find them again.

`shingles` hashes; `minhash` and `simhash` make the parts of a `signature`, which is made under a
`scheme`; `banding` makes the keys of an index.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from shingling.names import when_used

if TYPE_CHECKING:
    from shingling.sketch.banding import (
        SUPERSHINGLES as SUPERSHINGLES,
        Banding as Banding,
        Halves as Halves,
    )
    from shingling.sketch.idf import (
        Idf as Idf,
        look_up as look_up,
        table_entries as table_entries,
    )
    from shingling.sketch.minhash import (
        FAMILIES as FAMILIES,
        FUNCTIONS as FUNCTIONS,
    )
    from shingling.sketch.scheme import (
        Scheme as Scheme,
    )
    from shingling.sketch.shingles import (
        fmix64 as fmix64,
        winnow as winnow,
        word_hashes as word_hashes,
    )
    from shingling.sketch.signature import (
        Signature as Signature,
        exact_hash as exact_hash,
        fingerprint_set as fingerprint_set,
        fingerprint_set_of_words as fingerprint_set_of_words,
        shingle_text as shingle_text,
        shingle_words as shingle_words,
        sign as sign,
        sign_many as sign_many,
        sign_words as sign_words,
    )
    from shingling.sketch.simhash import (
        SimhashFeatures as SimhashFeatures,
        feature_hashes as feature_hashes,
    )

_MODULE_OF = {
    "Banding": "banding",
    "FAMILIES": "minhash",
    "FUNCTIONS": "minhash",
    "Halves": "banding",
    "Idf": "idf",
    "SUPERSHINGLES": "banding",
    "Scheme": "scheme",
    "Signature": "signature",
    "SimhashFeatures": "simhash",
    "exact_hash": "signature",
    "feature_hashes": "simhash",
    "fingerprint_set": "signature",
    "fingerprint_set_of_words": "signature",
    "fmix64": "shingles",
    "look_up": "idf",
    "shingle_text": "signature",
    "shingle_words": "signature",
    "sign": "signature",
    "sign_many": "signature",
    "sign_words": "signature",
    "table_entries": "idf",
    "winnow": "shingles",
    "word_hashes": "shingles",
}

__all__ = [*_MODULE_OF]
__getattr__ = when_used(__name__, _MODULE_OF)
