"""How pages are decided: methods, default values, limits and names that rooms share.

Importing them costs nothing. `rules` has what is chosen of them, and `own_fields` what items say.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Keys(Enum):
    """What the originals are found by, for a method."""

    BANDS = "bands of minima, as many as the threshold needs"
    SUPERSHINGLES = "supershingles: six bands of 14 minima"
    SIMHASH_HALVES = "halves of SimHashes"


@dataclass(frozen=True)
class Method:
    """A method: a page is a near-duplicate of an original if all that it asks for holds.

    Args:
        name: as `DEDUP_METHOD` has it.
        summary: how it decides, in a few words.
        keys: what it finds candidates by; None looks for exact duplicates only.
        threshold: whether it asks for a resemblance of `DEDUP_THRESHOLD`.
        distance: whether it asks for SimHashes within `DEDUP_SIMHASH_DISTANCE`, which verdicts
            tell then.
        supershingles: how many of the six have to be equal at least.
    """

    name: str
    summary: str
    keys: Keys | None
    threshold: bool = False
    distance: bool = False
    supershingles: int = 0


_METHODS = (
    Method("minhash", "by resemblance", Keys.BANDS, threshold=True),
    Method("megashingle", "by two of six equal supershingles", Keys.SUPERSHINGLES, supershingles=2),
    Method("simhash", "by distance", Keys.SIMHASH_HALVES, distance=True),
    Method("minhash+simhash", "where both agree", Keys.BANDS, threshold=True, distance=True),
    Method("exact", "for exact duplicates only", None),
)

METHODS = {method.name: method for method in _METHODS}
"""Methods by name."""

INDEXED_METHODS = tuple(name for name, method in METHODS.items() if method.keys is not None)
"""Names of those that a store is indexed for."""

DEFAULT_METHOD = "minhash"

OWN_TEXT = ("keep", "strict", "ignore")
"""What becomes of a page whose text says something of its own, by the names of the setting."""

TITLES = ("count", "ignore")
"""Whether another title makes another page, by the names of the setting."""

MOVING_LINES = ("count", "ignore")
"""Whether a page has changed if only lines that move differ, by the names of the setting."""

DEFAULT_THRESHOLD = 0.5
"""Resemblance at or above which a page is a near-duplicate."""

DEFAULT_MIN_WORDS = 20
"""Words below which a text is a duplicate only of the same text under the same title."""

DEFAULT_SIMHASH_DISTANCE = 3
"""Bits in which the SimHashes of near-duplicates differ at most."""

MAX_SIMHASH_DISTANCE = 7
"""Bits that an index of SimHashes can look for at most."""

DEFAULT_CONTAINMENT = 0.9
"""Share of a page's shingles from which on it is a piece of another, if pieces are wanted."""

DEFAULT_EXTRACTOR = "quick"
"""What takes the main text out of HTML."""

DEFAULT_SHINGLE_SIZE = 5
"""Words in a shingle."""

MAX_BYTES = 10_000_000
"""Size of a page above which it is not read."""

WORKER_MEMORY_BYTES = 1 << 30
"""Memory that a worker process may take."""

MIN_WORDS_FOR_SIMHASH = 200
"""Words below which the SimHashes of near-duplicates often differ in more bits."""

MAX_FILE_BYTES = 1_000_000_000
"""Size of a file that a person names, above which it is not read."""

MAX_LINE_BYTES = 100_000_000
"""Default limit to a line of a file: some pages of the largest size, as JSON."""

SET_MEASURES = ("resemblance", "dice", "share", "containment")
"""Measures of two sets of shingles, each from 0 to 1."""

MEASURES = (*SET_MEASURES, "cosine")
"""Measures of two texts, each from 0 to 1."""

UNIQUENESS = "uniqueness"
"""Measure of one text among others: the share of its shingles that none of them has."""

UNIQUE_FROM = 0.96
"""Uniqueness from which on a text is called unique."""

WEIGHTINGS = ("smooth", "tf", "tf-idf", "tf-idf-max")
"""Weights of a cosine."""

CLASSIC_HASHES = ("crc32", "md5", "sha1")
"""Hashes of the text of a shingle."""

THRESHOLD_MEASURES = ("resemblance", "dice")
"""Measures that give each other: an index for resemblance finds all pairs by either."""


def resemblance_of_dice(dice: float) -> float:
    """Resemblance of two sets by Dice's coefficient, both from 0 to 1."""
    return dice / (2 - dice)
