"""Canonical words to shingles to signatures."""

from shingling.sketch._minhash import FUNCTIONS, Minima
from shingling.sketch._scheme import Scheme
from shingling.sketch._shingles import Fingerprints
from shingling.sketch._signature import Signature, fingerprints_of, sign, sign_words
from shingling.sketch._simhash import BITS
from shingling.sketch.banding import Banding

__all__ = [
    "BITS",
    "FUNCTIONS",
    "Banding",
    "Fingerprints",
    "Minima",
    "Scheme",
    "Signature",
    "fingerprints_of",
    "sign",
    "sign_words",
]
