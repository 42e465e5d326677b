"""What is learned of the URLs of sites, as the store keeps it for all crawls: rules and evidence.

Several crawlers add to the same counts: what is written are differences. All rows are bounded.
"""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

from sqlalchemy import select, text

from shingling.fetching.learning.pages import RuleCounts
from shingling.store.schema.tables import url_rules

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shingling.store.session import Session

_MAX_RULES_OF_SITE = 20_000  # that are read
_MAX_CHARS = 2000  # of a site, a change or a node
_MAX_COUNT = 1 << 53  # pages or requests
_NAMES, _COUNTS = RuleCounts._fields[:3], RuleCounts._fields[3:]

_ADD_RULE = text(
    "INSERT INTO url_rules (rule_key, site, change, node, agreed, contradicted, saved, explored)"
    " VALUES (:rule_key, :site, :change, :node, :agreed, :contradicted, :saved, :explored)"
    " ON CONFLICT (rule_key) DO UPDATE SET"
    " agreed = url_rules.agreed + excluded.agreed,"
    " contradicted = url_rules.contradicted + excluded.contradicted,"
    " saved = url_rules.saved + excluded.saved,"
    " explored = url_rules.explored + excluded.explored"
)


def read_rules(session: Session, site: str | None) -> list[RuleCounts]:
    """Read the rules of a site, or of all of them; damaged rows are left out."""
    query = select(url_rules).order_by(url_rules.c.site, url_rules.c.change, url_rules.c.node)
    if site is not None:
        query = query.where(url_rules.c.site == site).limit(_MAX_RULES_OF_SITE)
    with session.database.reading() as connection:
        rows = [*filter(_is_sound, connection.execute(query).mappings())]
    # Counts that several crawlers have halved may be below zero.
    return [
        RuleCounts(*(row[name] for name in _NAMES), *(max(0, row[name]) for name in _COUNTS))
        for row in rows
    ]


def save(session: Session, rules: Sequence[RuleCounts]) -> bool:
    """Add what was learned since the last time, in one transaction; it is done if that returns.

    Args:
        session: the store.
        rules: differences of their counts.
    """
    rows = [{**rule._asdict(), "rule_key": _key(*rule[:3])} for rule in rules]
    # In the order of their keys, so that no two crawlers wait for each other's.
    added = sorted(filter(_is_sound, rows), key=lambda row: row["rule_key"])
    if added:
        session.database.write(lambda connection: connection.execute(_ADD_RULE, added))
    return True


def _key(*names: str) -> bytes:
    """128-bit key of a rule: of its site, change and node, which may be long."""
    return hashlib.blake2b(json.dumps(names).encode(), digest_size=16).digest()


def _is_sound(row: Any) -> bool:
    """Whether a row may have been written by this package, or may be written."""
    names = [row[name] for name in _NAMES]
    return (
        all(type(name) is str and len(name) <= _MAX_CHARS and name.isprintable() for name in names)
        and all(type(row[name]) is int and abs(row[name]) <= _MAX_COUNT for name in _COUNTS)
        and row["rule_key"] == _key(*names)
    )
