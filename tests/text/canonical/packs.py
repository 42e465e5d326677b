"""Language packs, and options that need them."""

from __future__ import annotations

from importlib.util import find_spec

import pytest

PACKS = ["py3langid", "simplemma", "stopwordsiso", "HanTa", "pymorphy3", "jieba", "rjieba"]
PACKS += ["sudachipy", "sudachidict_core", "budoux", "snowballstemmer"]
MISSING = [pack for pack in PACKS if find_spec(pack) is None]
needs_all_packs = pytest.mark.skipif(MISSING != [], reason=f"not installed: {MISSING}")
CHINESE = "我来到北京清华大学，他来到了iPhone15大厦。"
JAPANESE = "国家公務員は東京都へ行った。iPhone15を買うガール"
