"""Canonical words to shingles to signatures."""

from shingling.sketch._idf import Idf
from shingling.sketch._minhash import FAMILIES, FUNCTIONS, Minima
from shingling.sketch._sample import sample
from shingling.sketch._scheme import Scheme
from shingling.sketch._shingles import Fingerprints, fmix64, word_hashes
from shingling.sketch._signature import (
    Signature,
    fingerprints_of,
    shingles_of,
    sign,
    sign_many,
    sign_words,
    text_fingerprints,
    text_shingles,
)
from shingling.sketch._simhash import SimhashFeatures
from shingling.sketch.banding import SUPERSHINGLES, Banding, Keys
from shingling.sketch.halves import Halves

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
