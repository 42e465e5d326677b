"""What is learned of the URLs of sites, as the store keeps it for all crawls.

Two tables: rules with their evidence, and requests that were skipped. Several crawlers add to the
same counts: what is written are differences. All rows are bounded, and each site has a bounded
number of skipped requests, of which the oldest give way.
"""

from __future__ import annotations

import json
import time
from contextlib import closing
from itertools import islice
from typing import TYPE_CHECKING, Any

from sqlalchemy import bindparam, delete, select, text

from shingling.fetching.rows import (
    COUNTS,
    MAX_REQUEST_CHARS,
    RuleCounts,
    SkippedUrl,
    is_sound_rule,
    is_sound_skip,
    rule_key,
    skip_key,
)
from shingling.store.schema.statements import among, chunked
from shingling.store.schema.tables import skipped_urls, url_rules
from shingling.store.urls import safe_url
from shingling.text import clean

if TYPE_CHECKING:
    from collections.abc import Collection, Generator, Iterable, Iterator, Sequence

    from sqlalchemy import Connection

    from shingling.store.session import Session

MAX_RULES_OF_SITE = 20_000  # that are read
MAX_SKIPPED_OF_SITE = 10_000

INSERT_RULE = (
    "INSERT INTO url_rules (rule_key, site, change, node, agreed, contradicted, saved, explored,"
    " pinned, updated) VALUES (:rule_key, :site, :change, :node, :agreed, :contradicted,"
    " :saved, :explored, :pinned, :updated) ON CONFLICT (rule_key) DO UPDATE SET"
)
PINNED = bindparam("pinned", type_=url_rules.c.pinned.type)
_ADD_RULE = text(
    f"{INSERT_RULE} agreed = url_rules.agreed + excluded.agreed,"
    " contradicted = url_rules.contradicted + excluded.contradicted,"
    " saved = url_rules.saved + excluded.saved,"
    " explored = url_rules.explored + excluded.explored,"
    " updated = excluded.updated"
).bindparams(PINNED)
_PIN_RULE = text(f"{INSERT_RULE} pinned = excluded.pinned").bindparams(PINNED)
_PUT_SKIPPED = text(
    "INSERT INTO skipped_urls (skip_key, spider, site, url, page, rules, request, created)"
    " VALUES (:skip_key, :spider, :site, :url, :page, :rules, :request, :created)"
    " ON CONFLICT (skip_key) DO UPDATE SET page = excluded.page, rules = excluded.rules,"
    " request = excluded.request, created = excluded.created"
)

_DELETE_SKIPPED = delete(skipped_urls).where(among(skipped_urls.c.skip_key))

ROWS_READ_AT_ONCE = 500


def read_rules(connection: Connection, site: str | None = None) -> Iterator[RuleCounts]:
    """Yield the rules of a site, or of all of them; damaged rows are left out."""
    query = select(url_rules).order_by(url_rules.c.site, url_rules.c.change, url_rules.c.node)
    if site is not None:
        query = query.where(url_rules.c.site == site).limit(MAX_RULES_OF_SITE)
    for row in connection.execute(query).mappings():
        if is_sound_rule(row):
            counts = {name: max(0, row[name]) for name in COUNTS}
            names = (row["site"], row["change"], row["node"])
            yield RuleCounts(*names, **counts, pinned=row["pinned"])


def read_skipped(connection: Connection, site: str, spider: str) -> list[SkippedUrl]:
    """Read the requests of a spider to a site that were skipped, oldest first."""
    with closing(read_all_skipped(connection, site, spider)) as skipped:
        return [*islice(skipped, MAX_SKIPPED_OF_SITE)]


def read_all_skipped(
    connection: Connection, site: str | None = None, spider: str | None = None
) -> Generator[SkippedUrl]:
    """Yield requests that were skipped, oldest first; damaged rows are left out.

    Args:
        connection: to the store.
        site: host, without `www.`; None: of all sites.
        spider: that made them; None: of all.
    """
    query = select(skipped_urls).order_by(skipped_urls.c.site, skipped_urls.c.created)
    if site is not None:
        query = query.where(skipped_urls.c.site == site)
    if spider is not None:
        query = query.where(skipped_urls.c.spider == clean(spider))
    with connection.execute(query.execution_options(yield_per=ROWS_READ_AT_ONCE)) as result:
        for row in result.mappings():
            if is_sound_skip(row):
                values = {name: row[name] for name in SkippedUrl._fields}
                yield SkippedUrl(**values | {"rules": tuple(json.loads(row["rules"]))})


def save(
    session: Session,
    rules: Sequence[RuleCounts] = (),
    skipped: Sequence[SkippedUrl] = (),
    made: Collection[tuple[str, str]] = (),
) -> None:
    """Add what was learned since the last time, in one transaction.

    Args:
        session: the store.
        rules: differences of their counts.
        skipped: requests that were skipped.
        made: spiders and URLs of skipped requests that are made after all.
    """
    now = int(time.time())
    added = in_order((rule_row(one, now) for one in rules), "rule_key")
    skips = in_order((_skip_row(one, now) for one in skipped), "skip_key")
    gone = [skip_key(clean(spider), safe_url(url)) for spider, url in made]

    def write(connection: Connection) -> None:
        for statement, rows in ((_ADD_RULE, added), (_PUT_SKIPPED, skips)):
            if rows:
                connection.execute(statement, rows)
        for part in chunked(gone):
            connection.execute(_DELETE_SKIPPED, {"values": part})
        for site in sorted({row["site"] for row in skips}):
            _drop_oldest(connection, site)

    if added or skips or gone:
        session.database.write(write)


def pin_rule(session: Session, site: str, change: str, node: str, pinned: bool | None) -> None:
    """Note a person's word on a rule: always (True), never (False), or none (None)."""
    row = rule_row(RuleCounts(site, change, node, pinned=pinned), int(time.time())) or {}
    session.database.write(lambda connection: connection.execute(_PIN_RULE, row))


def forget_rules(
    session: Session, site: str, change: str | None = None, node: str | None = None
) -> int:
    """Forget what was learned of a site's URLs; or one change, or one node of it.

    Returns:
        How many rules there were.
    """
    statement = delete(url_rules).where(url_rules.c.site == site)
    if change is not None:
        statement = statement.where(url_rules.c.change == change)
    if node is not None:
        statement = statement.where(url_rules.c.node == node)
    return session.database.write(lambda connection: connection.execute(statement).rowcount)


def rule_row(one: RuleCounts, now: int) -> dict[str, Any] | None:
    """Row of a rule's differences; None where a name is longer than is kept."""
    row = {**one._asdict(), "rule_key": rule_key(*one[:3]), "updated": now}
    return row if is_sound_rule(row) else None


def _skip_row(one: SkippedUrl, now: int) -> dict[str, Any] | None:
    spider, url = clean(one.spider), clean(safe_url(one.url))
    row = {
        **one._asdict(),
        "skip_key": skip_key(spider, url),
        "spider": spider,
        "url": url,
        "page": clean(safe_url(one.page)),
        "rules": json.dumps(one.rules),
        "created": now,
    }
    if one.request is not None and len(one.request) > MAX_REQUEST_CHARS:
        row["request"] = None  # the page is known all the same
    return row if is_sound_skip(row) else None


def in_order(rows: Iterable[dict[str, Any] | None], key: str) -> list[dict[str, Any]]:
    """Rows in the order of their keys, so that no two crawlers wait for each other's."""
    return sorted((row for row in rows if row is not None), key=lambda row: row[key])


def _drop_oldest(connection: Connection, site: str) -> None:
    """Leave a site so many skipped requests at most: the oldest give way."""
    own, moment = skipped_urls.c.site == site, skipped_urls.c.created
    newest = select(moment).where(own).order_by(moment.desc())
    oldest_kept = connection.scalar(newest.offset(MAX_SKIPPED_OF_SITE - 1).limit(1))
    if oldest_kept is not None:
        connection.execute(delete(skipped_urls).where(own, moment < oldest_kept))
