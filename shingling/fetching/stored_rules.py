"""What is learned of the URLs of sites, as the store keeps it for all crawls: rules and evidence.

Several crawlers add to the same counts: what is written are differences. Crawls at the same time
may have counted the same pages. So pages that others have added meanwhile stand for a crawl's own:
the crawl adds those by which it has counted more. All rows are bounded.
"""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING

from sqlalchemy import select, text

from shingling.fetching.learning.pages import AddedCounts, RuleCounts
from shingling.store.schema.tables import url_rules

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shingling.store.session import Session

_MAX_RULES_OF_SITE = 20_000  # that are read
_MAX_CHARS = 2000  # of a site, a change or a node
_MAX_COUNT = 1 << 53  # pages or requests

_ADD_RULE = text(
    "INSERT INTO url_rules (rule_key, site, change, node, agreed, contradicted, saved, explored)"
    " VALUES (:rule_key, :site, :change, :node, :agreed, :contradicted, :saved, :explored)"
    " ON CONFLICT (rule_key) DO UPDATE SET"
    " agreed = CASE"
    " WHEN excluded.agreed < 0 OR url_rules.agreed <= :known"
    " THEN url_rules.agreed + excluded.agreed"
    " WHEN url_rules.agreed < :known + excluded.agreed THEN :known + excluded.agreed"
    " ELSE url_rules.agreed END,"
    " contradicted = url_rules.contradicted + excluded.contradicted,"
    " saved = url_rules.saved + excluded.saved,"
    " explored = url_rules.explored + excluded.explored"
)


def read_rules(session: Session, site: str | None) -> list[RuleCounts]:
    """Read the rules of a site, or of all of them."""
    columns = (url_rules.c[name] for name in RuleCounts._fields)
    query = select(*columns).order_by(url_rules.c.site, url_rules.c.change, url_rules.c.node)
    if site is not None:
        query = query.where(url_rules.c.site == site).limit(_MAX_RULES_OF_SITE)
    with session.database.reading() as connection:
        rows = connection.execute(query).all()
    # Counts that several crawlers have halved may be below zero.
    return [RuleCounts(*row[:3], *(max(0, count) for count in row[3:])) for row in rows]


def save(session: Session, rules: Sequence[RuleCounts]) -> bool:
    """Add what was learned since the last time, in one transaction; it is done if that returns.

    Args:
        session: the store.
        rules: differences of their counts.
    """
    rows = [
        {
            **rule._asdict(),
            "rule_key": _key(*rule[:3]),
            "known": rule.known if isinstance(rule, AddedCounts) else _MAX_COUNT,
        }
        for rule in filter(_is_bounded, rules)
    ]
    # In the order of their keys, so that no two crawlers wait for each other's.
    added = sorted(rows, key=lambda row: row["rule_key"])
    if added:
        session.database.write(lambda connection: connection.execute(_ADD_RULE, added))
    return True


def _key(*names: str) -> bytes:
    """128-bit key of a rule: of its site, change and node, which may be long."""
    return hashlib.blake2b(json.dumps(names).encode(), digest_size=16).digest()


def _is_bounded(rule: RuleCounts) -> bool:
    """Whether the names and counts of a rule are small enough to be stored."""
    return all(len(name) <= _MAX_CHARS and name.isprintable() for name in rule[:3]) and all(
        abs(count) <= _MAX_COUNT for count in rule[3:]
    )
