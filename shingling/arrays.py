"""Names of the kinds of arrays, for annotations: nothing imports them when it runs."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Flags: TypeAlias = NDArray[np.bool_]
"""Which of some things are meant."""

Integers: TypeAlias = NDArray[np.int64]
"""Numbers of things, sizes and places; keys as SQL has them."""

Floats: TypeAlias = NDArray[np.float64]
"""Measures and weights."""

Octets: TypeAlias = NDArray[np.uint8]
"""Bytes, or numbers as small as they."""

Numbers: TypeAlias = NDArray[np.uint32]
"""Numbers below 2^32: sizes, hash values, rows of `bulk`."""

Minima: TypeAlias = NDArray[np.uint32]
"""Minima of a text, uint32[84], or of several."""

Hashes: TypeAlias = NDArray[np.uint64]
"""Hashes of words and blocks, SimHashes, keys without a sign."""

Fingerprints: TypeAlias = NDArray[np.uint64]
"""Hashes of shingles, or of other features."""

Records: TypeAlias = NDArray[Any]
"""Records of several fields, or columns of any kind."""
