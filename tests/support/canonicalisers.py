"""Canonicalisers of packs that may not be installed."""

from __future__ import annotations

from typing import Any

import pytest

from shingling.errors import SchemeError
from shingling.text import Canonicaliser


def canonicaliser_with(**options: Any) -> Canonicaliser:
    """Return a canonicaliser, or skip the test where a pack that it needs is not installed."""
    canonicaliser = Canonicaliser(**options)
    try:
        canonicaliser.require_packs()
    except SchemeError as error:
        pytest.skip(str(error))
    return canonicaliser
