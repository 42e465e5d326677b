"""How alike two signatures, or two texts, are."""

from shingling.similarity.classic import (
    ClassicOverlap,
    classic_overlap,
    shingles,
)
from shingling.similarity.collection import Collection, Document, Pair
from shingling.similarity.common_runs import Alignment, align, longest_common_run
from shingling.similarity.comparison import Comparison, compare
from shingling.similarity.cosine import DocumentFrequencies, Weighting, cosine
from shingling.similarity.diff import Change, word_diff, written_words
from shingling.similarity.measures import (
    Counts,
    Overlap,
    distance,
    equal_supershingles,
    estimate,
    measure_sets,
    nearest,
    overlap,
    standard_error,
)

__all__ = [
    "Alignment",
    "Change",
    "ClassicOverlap",
    "Collection",
    "Comparison",
    "Counts",
    "Document",
    "DocumentFrequencies",
    "Overlap",
    "Pair",
    "Weighting",
    "align",
    "classic_overlap",
    "compare",
    "cosine",
    "distance",
    "equal_supershingles",
    "estimate",
    "longest_common_run",
    "measure_sets",
    "nearest",
    "overlap",
    "shingles",
    "standard_error",
    "word_diff",
    "written_words",
]
