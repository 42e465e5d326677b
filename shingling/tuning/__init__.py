"""Settings from labelled pairs: what to call a near-duplicate, measured."""

from shingling.tuning._pairs import LabelledPair, LabelledPairs, read_pairs, require_pairs
from shingling.tuning._plot import plot, require_plot
from shingling.tuning._report import Report, tune_on
from shingling.tuning._sample import SampledPage, pairs_from, title_key
from shingling.tuning._settings import Curve, Result, Setting, as_python, changed_scheme

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
