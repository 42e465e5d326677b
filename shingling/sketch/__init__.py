"""Canonical words -> shingles -> fingerprints -> signatures, and the keys that find them again.

`shingles` hashes; `minhash` and `simhash` make the parts of a `signature`, which is made under a
`scheme`; `banding` makes the keys of an index. Few schemes need `crc_family` and `idf`.
"""

from shingling.sketch.banding import (
    SUPERSHINGLES as SUPERSHINGLES,
    Banding as Banding,
    Halves as Halves,
)
from shingling.sketch.minhash import FAMILIES as FAMILIES, FUNCTIONS as FUNCTIONS
from shingling.sketch.scheme import Scheme as Scheme
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
