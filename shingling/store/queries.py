"""Read pages, groups and counts; nothing is changed."""

from __future__ import annotations

import json
from dataclasses import fields
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from sqlalchemy import func, select

from shingling.errors import SettingsError
from shingling.rules.own_fields import differing
from shingling.rules.reasons import KEEPING, Reason
from shingling.rules.rules import Rules
from shingling.store.model import LastChange, StoredPage, StoreStatus, from_seconds
from shingling.store.schema.migrate import HEAD
from shingling.store.schema.tables import (
    chunked,
    full,
    pages,
    reviews,
    rules,
    runs,
    texts,
    url_rules,
)
from shingling.store.session import read_extractors

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from sqlalchemy import ColumnElement, Connection, RowMapping, Select, Table

    from shingling.store.session import Session

ROWS_READ_AT_ONCE = 2000

_original, _compared, _compared_original = (
    pages.alias(name) for name in ("original", "compared", "compared_original")
)
SHOWN = (
    select(
        pages,
        pages.c.run_id.label("run"),
        pages.c.last_run_id.label("last_run"),
        _original.c.url.label("original"),
        _compared.c.url.label("compared_with"),
        _compared.c.title.label("compared_title"),
        _compared_original.c.fields.label("compared_original_fields"),
        _compared_original.c.site.label("compared_original_site"),
        rules.c.parameters.label("rules"),
        texts.c.last_change,
    )
    .join_from(pages, _original, pages.c.original_id == _original.c.id, isouter=True)
    .join(_compared, pages.c.compared_id == _compared.c.id, isouter=True)
    .join(
        _compared_original,
        func.coalesce(_compared.c.original_id, _compared.c.id) == _compared_original.c.id,
        isouter=True,
    )
    .join(rules, pages.c.rules_id == rules.c.id, isouter=True)
    .join(texts, texts.c.page_id == pages.c.id, isouter=True)
)

_SHOWN_NAMES = [
    column.name
    for column in fields(StoredPage)
    if column.name not in ("fields", "own_text", "change", "rules", "packed_fields")
]


def shown_pages(connection: Connection, query: Select[Any]) -> Iterator[StoredPage]:
    """Yield the pages of a query like `SHOWN`."""
    streamed = query.execution_options(yield_per=ROWS_READ_AT_ONCE)
    with connection.execute(streamed) as result:  # closed even if nobody reads to the end
        yield from map(_stored_page, result.mappings())


def _stored_page(row: RowMapping) -> StoredPage:
    values = {name: row[name] for name in _SHOWN_NAMES}
    values["reason"] = Reason.named(row["reason"])
    for name in ("first_seen", "last_seen"):
        values[name] = from_seconds(values[name])
    decided = None if row["rules"] is None else _rules(row["rules"])
    names: tuple[str, ...] = ()
    if row["reason"] == Reason.OTHER_FIELDS and row["compared_original_site"] is not None:
        by = decided or Rules()
        names = differing(
            row["fields"],
            row["compared_original_fields"],
            same_site=row["site"] == row["compared_original_site"],
            names=by.fields,
            ignored=by.ignore_fields,
        )
    change = None if row["last_change"] is None else LastChange.unpacked(row["last_change"])
    own = {"fields": names, "packed_fields": row["fields"]}
    return StoredPage(**values, **own, change=change, rules=decided)


@lru_cache(100)
def _rules(parameters: str) -> Rules | None:
    """Rules as the store keeps them; None if a newer release has written them."""
    try:
        return Rules(**json.loads(parameters))
    except (ValueError, TypeError, SettingsError):
        return None


def stored_pages(connection: Connection, ids: Iterable[int]) -> dict[int, StoredPage]:
    """Pages by these ids."""
    return {
        page.id: page
        for part in chunked(ids)
        for page in shown_pages(connection, SHOWN.where(pages.c.id.in_(part)))
    }


def duplicates_of(connection: Connection, page_id: int) -> list[StoredPage]:
    """Duplicates attached to an original, oldest first."""
    query = SHOWN.where(pages.c.original_id == page_id).order_by(pages.c.id)
    return [*shown_pages(connection, query)]


def status_of(session: Session, connection: Connection) -> StoreStatus:
    """As `Store.status`."""
    return StoreStatus(
        url=session.database.where,
        bytes=session.database.bytes(connection),
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
    skipped = count(pages, pages.c.status == "skipped")
    return {
        "pages": total,
        "originals": total - duplicates - skipped,
        "skipped": skipped,
        "duplicates": duplicates,
        "exact": exact,
        "near": duplicates - exact,
        "runs": count(runs),
        "reviews": count(reviews),
        **{reason.value: count(pages, pages.c.reason == reason.value) for reason in KEEPING},
        "full_keys": count(full),
        "url_rules": count(url_rules, url_rules.c.agreed > 0),
    }
