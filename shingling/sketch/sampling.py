"""Some of a page's fingerprints, by which a piece of it is found again."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from shingling.sketch.shingles import Fingerprints

WINDOW = 32


def sample(shingles: Fingerprints, window: int = WINDOW) -> Fingerprints:
    """Return the smallest fingerprint of every `window` consecutive shingles (winnowing).

    Two texts that share a run of that many shingles share one of these, whatever surrounds
    it; about 2 of window + 1 fingerprints are taken (Schleimer, Wilkerson and Aiken 2003).

    Args:
        shingles: fingerprints in text order, uint64[n].
        window: shingles.

    Returns:
        uint64[k], sorted, without repeats.
    """
    if len(shingles) <= window:
        return shingles.min(keepdims=True) if len(shingles) else shingles
    windows = np.lib.stride_tricks.sliding_window_view(shingles, window)
    return np.unique(windows.min(axis=1))
