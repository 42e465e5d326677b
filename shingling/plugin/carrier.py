"""The former place of `SourceMiddleware`, for settings that name it."""

from __future__ import annotations

import warnings
from typing import Any


def __getattr__(name: str) -> Any:
    if name != "ResponseCarrier":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from shingling.plugin.middleware import SourceMiddleware

    warnings.warn(
        f"{__name__}.ResponseCarrier is now shingling.plugin.middleware.SourceMiddleware",
        DeprecationWarning,
        stacklevel=2,
    )
    return SourceMiddleware
