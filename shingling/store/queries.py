"""Read pages, groups, runs and counts; nothing is changed."""

from __future__ import annotations

import json
from dataclasses import fields
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from sqlalchemy import func, select

from shingling.errors import SettingsError
from shingling.rules.rules import Rules
from shingling.store.backends.base import damage_of
from shingling.store.decide.site_fields import SiteFields
from shingling.store.model import StoredPage, StoreStatus, from_seconds
from shingling.store.runs import RunRecord
from shingling.store.schema import checks
from shingling.store.schema.migrate import HEAD
from shingling.store.schema.rows import (
    COLUMNS,
    EXPORTED_NAMES,
    problems_of,
    replaced,
    row_from,
)
from shingling.store.schema.statements import among, chunked
from shingling.store.schema.tables import (
    full,
    pages,
    reviews,
    rules,
    runs,
    scheme as scheme_table,
    url_rules,
)
from shingling.store.session import read_extractors

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sqlalchemy import ColumnElement, Connection, RowMapping, Table

    from shingling.store.schema.checks import Check
    from shingling.store.session import Session

ROWS_READ_AT_ONCE = 2000

_original, _compared = pages.alias("original"), pages.alias("compared")
SHOWN = (
    select(
        pages,
        _original.c.url.label("original"),
        _compared.c.url.label("compared_with"),
        func.coalesce(_compared.c.original_id, _compared.c.id).label("lead_id"),
        rules.c.parameters.label("rules"),
    )
    .join_from(pages, _original, pages.c.original_id == _original.c.id, isouter=True)
    .join(_compared, pages.c.compared_id == _compared.c.id, isouter=True)
    .join(rules, pages.c.rules_id == rules.c.id, isouter=True)
)
_BY_ID = select(pages).where(among(pages.c.id))

RUN_CHECKS: dict[str, tuple[Check, Any]] = {
    "spider": (checks.STRING, ""),
    "started": (checks.TIME, 0),
    "finished": (checks.or_none(checks.TIME), None),
    "outcome": (checks.or_none(checks.STRING), None),
    "counts": (checks.JSON_OBJECT, "{}"),
    "settings": (checks.JSON_OBJECT, "{}"),
}
"""What the columns of a run must be, and what stands for something else."""

_COLUMN_OF = {shown: column for column, shown in EXPORTED_NAMES.items()}
_SHOWN_COLUMNS = {
    one.name: _COLUMN_OF.get(one.name, one.name)
    for one in fields(StoredPage)
    if one.name not in ("fields", "rules")
}


def stored_page(row: RowMapping, connection: Connection) -> StoredPage:
    """Page of a row of `SHOWN`; harmless values take the place of impossible ones."""
    shown: dict[str, Any] = {**row}
    stored = [row[name] for name in COLUMNS]
    if problems := problems_of(stored):
        damage_of(connection).note(row["id"], row["url"], "row")
        shown |= zip(COLUMNS, replaced(stored, problems), strict=True)
    values = {name: shown[column] for name, column in _SHOWN_COLUMNS.items()}
    for name in ("first_seen", "last_seen"):
        values[name] = from_seconds(values[name])
    decided = None if row["rules"] is None else _rules(row["rules"])
    names: tuple[str, ...] = ()
    if shown["reason"] == "other_fields" and row["lead_id"] is not None:
        names = differing_fields(connection, row["id"], row["lead_id"], decided)
    return StoredPage(**values, fields=names, rules=decided)


@lru_cache(100)
def _rules(parameters: str) -> Rules | None:
    """Rules as the store keeps them; None where a newer release has written them."""
    try:
        return Rules(**json.loads(parameters))
    except (ValueError, TypeError, SettingsError):
        return None


def differing_fields(
    connection: Connection,
    page_id: int,
    other_id: int,
    decided: Rules | None,
    *,
    all_of_them: bool = False,
) -> tuple[str, ...]:
    """Name the fields in which the item of a page says what that of another one does not.

    Args:
        connection: to the store.
        page_id: of the page.
        other_id: of the other one.
        decided: rules that say which fields count; None: all that say something.
        all_of_them: whether those that do not count are named as well.
    """
    found = connection.execute(_BY_ID, {"values": [page_id, other_id]}).mappings()
    rows = {row["id"]: row_from(row, 0) for row in found}
    if page_id not in rows or other_id not in rows:
        return ()
    own, other = rows[page_id], rows[other_id]
    named = None if decided is None or decided.fields == "auto" else decided.fields
    known = SiteFields(connection, named)
    differing = known.all_differing if all_of_them else known.differing
    return known.named(own.site, differing(own, other))


def stored_pages(connection: Connection, ids: Sequence[int]) -> list[StoredPage]:
    """Pages of these ids, in this order."""
    found: dict[int, StoredPage] = {}
    for part in chunked(ids):
        for row in connection.execute(SHOWN.where(pages.c.id.in_(part))).mappings():
            found[row["id"]] = stored_page(row, connection)
    return [found[page_id] for page_id in ids]


def duplicates_of(connection: Connection, page_id: int) -> list[StoredPage]:
    """Duplicates attached to an original, oldest first."""
    query = SHOWN.where(pages.c.original_id == page_id).order_by(pages.c.id)
    return [stored_page(row, connection) for row in connection.execute(query).mappings()]


def list_runs(connection: Connection, limit: int = 10) -> list[RunRecord]:
    """Last runs, newest first."""
    query = select(runs).order_by(runs.c.id.desc()).limit(limit)
    found = [sound_run(row) for row in connection.execute(query).mappings()]
    for values in found:
        for name in ("counts", "settings"):
            values[name] = json.loads(values[name])
        for name in ("started", "finished"):
            values[name] = None if values[name] is None else from_seconds(values[name])
    return [RunRecord(**values) for values in found]


def sound_run(row: RowMapping | Mapping[str, Any]) -> dict[str, Any]:
    """Row of a run with harmless values in place of impossible ones."""
    sound = {
        name: row[name] if check[0](row[name]) else harmless
        for name, (check, harmless) in RUN_CHECKS.items()
    }
    return {**row, **sound}


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
    return {
        "pages": total,
        "originals": total - duplicates,
        "duplicates": duplicates,
        "exact": exact,
        "near": duplicates - exact,
        "runs": count(runs),
        "reviews": count(reviews),
        "full_keys": count(full, full.c.owner == "bands"),
        "url_rules": count(url_rules, url_rules.c.agreed > 0),
    }
