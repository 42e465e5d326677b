"""Settings recommended by labelled pairs of texts.

Pairs come from a file (`pairs`) or are drawn from a store (`sampling`). `report.tune_on` tries
settings on them (`settings`): `measuring` compares the texts of the pairs, `evaluation` chooses
cutoffs and computes their quality, and `plotting` draws the result. `reviewed` recommends a
threshold by a person's reviews of stored pages.
"""

from shingling.tuning.pairs import LabelledPair, LabelledPairs, read_pairs, require_pairs
from shingling.tuning.plotting import plot, require_plot
from shingling.tuning.report import Report, tune_on
from shingling.tuning.reviewed import (
    Recommendation,
    ReviewedPair,
    ReviewedQuality,
    Share,
    ThresholdCount,
    recommend,
    reviewed_quality,
    sample_pairs,
    threshold_curve,
)
from shingling.tuning.sampling import SampledPage, pairs_from, title_key
from shingling.tuning.settings import Curve, Result, Setting, as_python, changed_scheme

__all__ = [
    "Curve",
    "LabelledPair",
    "LabelledPairs",
    "Recommendation",
    "Report",
    "Result",
    "ReviewedPair",
    "ReviewedQuality",
    "SampledPage",
    "Setting",
    "Share",
    "ThresholdCount",
    "as_python",
    "changed_scheme",
    "pairs_from",
    "plot",
    "read_pairs",
    "recommend",
    "require_pairs",
    "require_plot",
    "reviewed_quality",
    "sample_pairs",
    "threshold_curve",
    "title_key",
    "tune_on",
]
