"""How alike two signatures, or two texts, are."""

from shingling.similarity.classic import (
    CLASSIC_HASHES,
    ClassicOverlap,
    classic_overlap,
    shingles,
)
from shingling.similarity.common_runs import Alignment, align, longest_common_run
from shingling.similarity.comparison import Comparison, compare
from shingling.similarity.cosine import WEIGHTINGS, DocumentFrequencies, Weighting, cosine
from shingling.similarity.diff import Change, word_diff, written_words
from shingling.similarity.measures import (
    Overlap,
    distance,
    equal_supershingles,
    estimate,
    nearest,
    overlap,
    standard_error,
)

__all__ = [
    "CLASSIC_HASHES",
    "WEIGHTINGS",
    "Alignment",
    "Change",
    "ClassicOverlap",
    "Comparison",
    "DocumentFrequencies",
    "Overlap",
    "Weighting",
    "align",
    "classic_overlap",
    "compare",
    "cosine",
    "distance",
    "equal_supershingles",
    "estimate",
    "longest_common_run",
    "nearest",
    "overlap",
    "shingles",
    "standard_error",
    "word_diff",
    "written_words",
]
