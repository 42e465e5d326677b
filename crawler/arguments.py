"""Arguments of spiders (`-a NAME=VALUE`), which arrive as text."""

from __future__ import annotations

import sys
from urllib.parse import urlsplit


class ArgumentError(ValueError):
    """An argument of a spider is missing or not accepted."""


def start_url(spider: str, url: str | None) -> str:
    """Return the argument `url`.

    Raises:
        ArgumentError: it is missing, or not an address of the web.
    """
    if not url:
        raise ArgumentError(f"spider {spider}: -a url=https://... is needed")
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ArgumentError(f"spider {spider}: url={url[:200]!r} is no http(s) address")
    return url


def page_limit(spider: str, limit: str | None) -> int:
    """Return the argument `limit`; without one, there is no limit.

    Raises:
        ArgumentError: it is not a whole number above 0.
    """
    if limit is None:
        return sys.maxsize
    if not limit.isdecimal() or int(limit) < 1:
        raise ArgumentError(f"spider {spider}: limit={limit[:50]!r} is no whole number above 0")
    return int(limit)
