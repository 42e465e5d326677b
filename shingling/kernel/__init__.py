"""The compiled kernel, if there is one: text -> words and words -> signature in C.

`COMPILED` says whether it is used; if not, callers do the same in NumPy, with the same bits. It
is missing if no C compiler was found, and switched off by SHINGLING_COMPILED=0 in the
environment. This is the only module that imports `_kernel`.
"""

from __future__ import annotations

import os

try:
    from shingling.kernel._kernel import (
        fingerprints as fingerprints,
        fold_words as fold_words,
        says_more as says_more,
        sign as sign,
    )
except ImportError:
    COMPILED = False
else:
    COMPILED = os.environ.get("SHINGLING_COMPILED") != "0"
