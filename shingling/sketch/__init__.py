"""Canonical words -> shingles -> fingerprints -> signatures, and the keys that find them again.

`shingles` hashes; `minhash` and `simhash` make the parts of a `signature`, which is made under a
`scheme`; `banding` makes the keys of an index.
"""

from shingling.sketch.banding import SUPERSHINGLES, Banding, Halves
from shingling.sketch.minhash import FAMILIES, FUNCTIONS
from shingling.sketch.scheme import Scheme
from shingling.sketch.shingles import fmix64, winnow, word_hashes
from shingling.sketch.signature import (
    Signature,
    exact_hash,
    fingerprint_set,
    fingerprint_set_of_words,
    shingle_text,
    shingle_words,
    sign,
    sign_many,
    sign_words,
)
from shingling.sketch.simhash import Idf, SimhashFeatures, feature_hashes, look_up, table_entries

__all__ = [
    "FAMILIES",
    "FUNCTIONS",
    "SUPERSHINGLES",
    "Banding",
    "Halves",
    "Idf",
    "Scheme",
    "Signature",
    "SimhashFeatures",
    "exact_hash",
    "feature_hashes",
    "fingerprint_set",
    "fingerprint_set_of_words",
    "fmix64",
    "look_up",
    "shingle_text",
    "shingle_words",
    "sign",
    "sign_many",
    "sign_words",
    "table_entries",
    "winnow",
    "word_hashes",
]
