"""Names of the kinds of arrays that rows are kept and compared in."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Integers: TypeAlias = NDArray[np.int64]
"""Numbers of rows, sizes and places."""

Flags: TypeAlias = NDArray[np.bool_]
"""Which rows or pairs are meant."""

Records: TypeAlias = NDArray[Any]
"""`ROW_RECORD` of rows, or columns of any kind."""

RowNumbers: TypeAlias = NDArray[np.uint32]
"""Numbers of rows as they are kept, `NO_ROW` in place of none."""

Keys: TypeAlias = NDArray[np.uint64]
"""Keys of bands, or halves of hashes."""
