"""Language packs, options that need them, and canonicalisers of packs that may not be installed."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import pytest

from shingling.errors import SchemeError
from shingling.text import Canonicaliser

PACKS = ["py3langid", "simplemma", "stopwordsiso", "HanTa", "pymorphy3", "jieba", "rjieba"]
PACKS += ["sudachipy", "sudachidict_core", "budoux", "snowballstemmer"]
MISSING = [pack for pack in PACKS if find_spec(pack) is None]
needs_all_packs = pytest.mark.skipif(MISSING != [], reason=f"not installed: {MISSING}")
CHINESE = "我来到北京清华大学，他来到了iPhone15大厦。"
JAPANESE = "国家公務員は東京都へ行った。iPhone15を買うガール"


def canonicaliser_with(**options: Any) -> Canonicaliser:
    """Return a canonicaliser, or skip the test where a pack that it needs is not installed."""
    canonicaliser = Canonicaliser(**options)
    try:
        canonicaliser.require_packs()
    except SchemeError as error:
        pytest.skip(str(error))
    return canonicaliser
