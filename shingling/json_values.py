"""Values of rows as JSON has them."""

from __future__ import annotations

import base64
import json
import math
from contextlib import suppress
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any


def json_value(value: Any) -> Any:
    """Value as JSON has it: times in ISO 8601, bytes as text or base64.

    Objects of this package are written by their `as_dict`.
    """
    if value is None or isinstance(value, (str, bool, int, float)):
        return value
    as_dict = getattr(value, "as_dict", None) or getattr(value, "_asdict", None)
    if as_dict is not None:
        return json_value(as_dict())
    if isinstance(value, (date, time)):
        return value.isoformat()
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, (bytes, bytearray, memoryview)):
        raw = bytes(value)
        try:
            return raw.decode()
        except UnicodeDecodeError:
            return base64.b64encode(raw).decode()
    if isinstance(value, dict):
        return {str(name): json_value(item) for name, item in value.items()}
    if isinstance(value, (list, tuple, set)):
        return [json_value(item) for item in value]
    return str(value)


def number_or_time(value: Any) -> float | None:
    """Read a number, or the seconds since 1970 of a time in ISO 8601; None of anything else."""
    with suppress(TypeError, ValueError, OverflowError):
        number = float(value)
        return number if math.isfinite(number) else None
    with suppress(TypeError, ValueError, OverflowError):
        moment = datetime.fromisoformat(value)
        return moment.replace(tzinfo=moment.tzinfo or UTC).timestamp()
    return None


def to_json(values: dict[str, Any]) -> bytes:
    """Encode a row as a line of JSON, without its end."""
    return json.dumps(values, ensure_ascii=False).encode("utf-8", "replace")
