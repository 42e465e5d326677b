"""`shingling` under the name of the distribution: `ADDONS = {"scrapy_shingling.Addon": 500}`."""

from __future__ import annotations

from typing import Any

import shingling

__all__ = shingling.__all__


def __getattr__(name: str) -> Any:
    return getattr(shingling, name)
