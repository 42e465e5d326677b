"""Settings recommended by labelled pairs of texts.

Pairs come from a file (`pairs`) or are drawn from a store (`sampling`). `report.tune_on` tries
settings on them (`settings`): `measuring` compares the texts of the pairs, `evaluation` chooses
cutoffs and computes their quality, and `plotting` draws the result.
"""

from shingling.tuning.pairs import LabelledPair, LabelledPairs, read_pairs, require_pairs
from shingling.tuning.plotting import plot, require_plot
from shingling.tuning.report import Report, tune_on
from shingling.tuning.sampling import SampledPage, pairs_from, title_key
from shingling.tuning.settings import Curve, Result, Setting, as_python, changed_scheme

__all__ = [
    "Curve",
    "LabelledPair",
    "LabelledPairs",
    "Report",
    "Result",
    "SampledPage",
    "Setting",
    "as_python",
    "changed_scheme",
    "pairs_from",
    "plot",
    "read_pairs",
    "require_pairs",
    "require_plot",
    "title_key",
    "tune_on",
]
