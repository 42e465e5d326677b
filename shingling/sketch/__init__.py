"""Canonical words -> shingles -> fingerprints -> signatures, and the keys that find them again.

`shingles` hashes; `minhash` (with the hash families `affine` and `crc`), `simhash` (with `idf`)
and `exact` make the parts of a `signature`; `signing` makes signatures of texts under a `scheme`;
`banding` and `halves` make the keys of an index.
"""

from shingling.sketch.banding import SUPERSHINGLES, Banding, Keys
from shingling.sketch.exact import exact_hash
from shingling.sketch.halves import Halves
from shingling.sketch.idf import Idf, look_up, table_entries
from shingling.sketch.minhash import FAMILIES, FUNCTIONS, Minima
from shingling.sketch.scheme import Scheme
from shingling.sketch.shingles import Fingerprints, fmix64, winnow, word_hashes
from shingling.sketch.signature import Signature
from shingling.sketch.signing import (
    fingerprint_set,
    fingerprint_set_of_words,
    shingle_text,
    shingle_words,
    sign,
    sign_many,
    sign_words,
)
from shingling.sketch.simhash import SimhashFeatures, feature_hashes

__all__ = [
    "FAMILIES",
    "FUNCTIONS",
    "SUPERSHINGLES",
    "Banding",
    "Fingerprints",
    "Halves",
    "Idf",
    "Keys",
    "Minima",
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
