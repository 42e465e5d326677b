"""Rows of what is learned of URLs: their values, their keys, and what a sound one is."""

from __future__ import annotations

import hashlib
import json
from typing import Any, NamedTuple

from shingling.store.schema import checks
from shingling.store.urls import MAX_URL_CHARS

MAX_CHANGE_CHARS = 1000  # of the text form of a change
MAX_NODE_CHARS = 2000  # of a host with a path
MAX_SITE_CHARS = 253
MAX_REQUEST_CHARS = 8192  # of the JSON of a skipped request

_MAX_COUNT = 1 << 53  # pages or requests
_CHANGE = checks.bounded_string(MAX_CHANGE_CHARS)


class RuleCounts(NamedTuple):
    """What was counted of a rule, or is to be added to its counts.

    What is added may be negative, because contradictions outweigh what was counted before them; a
    sum below zero is zero.

    Args:
        site: host, without `www.`.
        change: of URLs, in its text form.
        node: path below which it was counted, `/` or such as `/forum/show.php`.
        agreed: pages that were the same with and without the change.
        contradicted: pages that were not.
        saved: requests that were skipped by it; counted at the node `/` alone.
        explored: those that it would have skipped, and that were made all the same.
        pinned: what a person has said: always (True), never (False); None where nobody has.
    """

    site: str
    change: str
    node: str
    agreed: int = 0
    contradicted: int = 0
    saved: int = 0
    explored: int = 0
    pinned: bool | None = None


COUNTS = ("agreed", "contradicted", "saved", "explored")
"""Names of the counts."""


class SkippedUrl(NamedTuple):
    """A request that was skipped.

    Args:
        site: host, without `www.`.
        url: of it.
        page: URL of the page that it would have repeated.
        rules: the changes by which it was skipped.
        request: JSON of the request; None where it cannot be made again.
        spider: that made it.
    """

    site: str
    url: str
    page: str
    rules: tuple[str, ...]
    request: str | None
    spider: str


def rule_key(site: str, change: str, node: str) -> bytes:
    """128-bit key of a rule."""
    return hashlib.blake2b(json.dumps([site, change, node]).encode(), digest_size=16).digest()


def skip_key(spider: str, url: str) -> bytes:
    """128-bit key of a skipped request of a spider."""
    return hashlib.blake2b(json.dumps([spider, url]).encode(), digest_size=16).digest()


RULE_FIELDS: dict[str, checks.Check] = {
    "site": checks.bounded_string(MAX_SITE_CHARS),
    "change": _CHANGE,
    "node": checks.bounded_string(MAX_NODE_CHARS),
    # What several crawlers add may be negative.
    **dict.fromkeys(COUNTS, checks.whole_number(-_MAX_COUNT, _MAX_COUNT)),
    "pinned": checks.or_none(checks.of_type(bool)),
}
"""Fields of a rule, with what they may be."""

_SKIP_FIELDS: dict[str, checks.Check] = {
    "site": checks.bounded_string(MAX_SITE_CHARS),
    **dict.fromkeys(("url", "page"), checks.bounded_string(MAX_URL_CHARS)),
    "spider": checks.of_type(str),
    "request": checks.or_none(checks.bounded_string(MAX_REQUEST_CHARS)),
    "created": checks.of_type(int),
}


def is_sound_rule(row: Any) -> bool:
    """Whether a row of `url_rules` may have been written by this package."""
    return (
        _are_sound(row, RULE_FIELDS)
        and row["rule_key"] == rule_key(row["site"], row["change"], row["node"])
        and type(row["updated"]) is int
    )


def is_sound_skip(row: Any) -> bool:
    """Whether a row of `skipped_urls` may have been written by this package."""
    return (
        _are_sound(row, _SKIP_FIELDS)
        and row["skip_key"] == skip_key(row["spider"], row["url"])
        and _is_list_of_changes(row["rules"])
    )


def _are_sound(row: Any, fields: dict[str, checks.Check]) -> bool:
    return all(fits(row[name]) for name, (fits, _) in fields.items())


def _is_list_of_changes(value: object) -> bool:
    try:
        changes = json.loads(value) if type(value) is str else None
    except (ValueError, RecursionError):
        return False
    return type(changes) is list and all(map(_CHANGE[0], changes))
