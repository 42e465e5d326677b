"""How alike two signatures, or two texts, are."""

from shingling.similarity._compare import Comparison, compare
from shingling.similarity._diff import Change, word_diff, written_words
from shingling.similarity._measures import (
    Overlap,
    cosine,
    distance,
    equal_supershingles,
    estimate,
    overlap,
    standard_error,
)
from shingling.similarity._runs import longest_common_run

__all__ = [
    "Change",
    "Comparison",
    "Overlap",
    "compare",
    "cosine",
    "distance",
    "equal_supershingles",
    "estimate",
    "longest_common_run",
    "overlap",
    "standard_error",
    "word_diff",
    "written_words",
]
