"""What the spiders yield."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


@dataclass
class PageItem:
    """A page; dedup fills in `text`, `title` and `language`, and its result under `dedup`."""

    url: str
    title: str | None = None
    text: str | None = None
    language: str | None = None
    fetched: str = field(default_factory=_now)
    dedup: dict[str, Any] | None = None
