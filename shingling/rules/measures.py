"""Names of measures, of weights and of hashes; importing them costs nothing."""

from __future__ import annotations

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
