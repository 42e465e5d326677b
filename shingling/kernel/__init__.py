"""Whether there is a compiled kernel: it may not have been built, or be switched off."""

from __future__ import annotations

import os

try:
    from shingling.kernel import _kernel
except ImportError:  # there was no compiler
    COMPILED = False
else:
    COMPILED = bool(_kernel) and os.environ.get("SHINGLING_COMPILED") != "0"
