"""Default values, limits and names that rooms share; importing them costs nothing."""

from __future__ import annotations

DEFAULT_THRESHOLD = 0.5
"""Resemblance at or above which a page is a near-duplicate."""

DEFAULT_MIN_WORDS = 20
"""Words below which a text is a duplicate only of the same text under the same title."""

DEFAULT_SIMHASH_DISTANCE = 3
"""Bits in which the SimHashes of near-duplicates differ at most."""

MAX_SIMHASH_DISTANCE = 7
"""Bits that an index of SimHashes can look for at most."""

DEFAULT_CONTAINMENT = 0.9
"""Share of a page's shingles from which on it is a piece of another, where pieces are wanted."""

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
