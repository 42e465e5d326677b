"""Canonical words to shingles to signatures."""

from shingling.sketch.banding import SUPERSHINGLES, Banding, Keys
from shingling.sketch.exact import exact_hash
from shingling.sketch.halves import Halves
from shingling.sketch.idf import Idf
from shingling.sketch.minhash import FAMILIES, FUNCTIONS, Minima
from shingling.sketch.sampling import sample
from shingling.sketch.scheme import Scheme
from shingling.sketch.shingles import Fingerprints, fmix64, word_hashes
from shingling.sketch.signature import (
    Signature,
    fingerprints_of,
    shingles_of,
    sign,
    sign_many,
    sign_words,
    text_fingerprints,
    text_shingles,
)
from shingling.sketch.simhash import SimhashFeatures

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
    "fingerprints_of",
    "fmix64",
    "sample",
    "shingles_of",
    "sign",
    "sign_many",
    "sign_words",
    "text_fingerprints",
    "text_shingles",
    "word_hashes",
]
