"""The numbers of a store: `Store.status`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from sqlalchemy import func, or_, select

from shingling.store.model import StoreStatus
from shingling.store.schema.migrate import HEAD
from shingling.store.schema.tables import (
    full,
    pages,
    reviews,
    runs,
    scheme as scheme_table,
    skipped_urls,
    url_rules,
)
from shingling.store.session import read_extractors

if TYPE_CHECKING:
    from sqlalchemy import ColumnElement, Connection, Table

    from shingling.store.session import Session


def status_of(session: Session, connection: Connection) -> StoreStatus:
    """As `Store.status`."""
    plan = connection.scalar(select(scheme_table.c.rebuilding))
    return StoreStatus(
        url=session.database.where,
        bytes=session.database.bytes(connection),
        rebuilding=plan is not None and not json.loads(plan)["dry_run"],
        scheme=session.scheme,
        index=session.index.shape,
        extractors=tuple(read_extractors(connection)),
        revision=HEAD,
        **_counts(connection),
    )


def _counts(connection: Connection) -> dict[str, Any]:
    """Numbers of pages of each kind, of runs, reviews, full keys and what is known of URLs."""

    def count(table: Table, *where: ColumnElement[bool]) -> int:
        return connection.scalar(select(func.count()).select_from(table).where(*where)) or 0

    follows = pages.c.original_id.is_not(None)
    total, duplicates = count(pages), count(pages, follows)
    exact = count(pages, follows, pages.c.status == "exact")
    has_evidence = or_(url_rules.c.agreed > 0, url_rules.c.pinned.is_not(None))
    return {
        "pages": total,
        "originals": total - duplicates,
        "duplicates": duplicates,
        "exact": exact,
        "near": duplicates - exact,
        "runs": count(runs),
        "reviews": count(reviews),
        "full_keys": count(full, full.c.owner == "bands"),
        "url_rules": count(url_rules, has_evidence),
        "skipped_urls": count(skipped_urls),
    }
