"""Read pages, groups, runs and counts; nothing is changed."""

from __future__ import annotations

import json
from dataclasses import fields
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from sqlalchemy import and_, bindparam, func, select

from shingling.errors import SettingsError, StoreError
from shingling.rules.rules import Rules
from shingling.sketch import Signature
from shingling.store.decide.site_fields import SiteFields
from shingling.store.decide.texts import unpacked
from shingling.store.model import Page, StoredPage, from_seconds
from shingling.store.runs import RunRecord
from shingling.store.schema import checks, fields as kinds
from shingling.store.schema.damage import damage_of
from shingling.store.schema.rows import (
    COLUMNS,
    EXPORTED_NAMES,
    ORIGINS,
    is_damaged,
    problems_of,
    read_minima,
    replaced,
    row_from,
    url_key,
)
from shingling.store.schema.statements import among, chunked
from shingling.store.schema.tables import pages, rules, runs, texts
from shingling.store.urls import safe_url

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from sqlalchemy import ColumnElement, Connection, RowMapping

    from shingling.sketch import Scheme
    from shingling.store.schema.checks import Check
    from shingling.store.session import Session

ROWS_READ_AT_ONCE = 2000

_READ = select(pages, texts.c.zlib, texts.c.body_key)
_BY_BODY = _READ.join_from(texts, pages).where(among(texts.c.body_key))
_BY_URL = _READ.join_from(pages, texts, isouter=True).where(
    pages.c.url_key == bindparam("url_key"), pages.c.scope == bindparam("scope")
)

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


def key_of(url: str) -> bytes:
    """Key of a URL that is not yet as the store keeps it."""
    return url_key(safe_url(url))


def chosen(
    connection: Connection,
    urls: Sequence[str],
    site: str | None,
    run: int | None,
    before: int | None,
) -> list[int]:
    """Ids of pages by their URLs, and of those that fulfil all other conditions given.

    Args:
        connection: to the store.
        urls: as in `Store.forget`.
        site: that they are of.
        run: that stored them first.
        before: seconds since 1970 that they were last seen before.

    Returns:
        Duplicates first, then originals.
    """
    others: list[ColumnElement[bool]] = []
    if site is not None:
        others.append(pages.c.site == site)
    if run is not None:
        others.append(pages.c.run_id == run)
    if before is not None:
        others.append(pages.c.last_seen < before)
    conditions = [and_(*others)] if others else []
    conditions += [pages.c.url_key.in_(keys) for keys in chunked(map(key_of, urls))]
    query = select(pages.c.original_id.is_(None), pages.c.id)
    found: set[tuple[Any, ...]] = set()
    for one in conditions:
        found.update(map(tuple, connection.execute(query.where(one))))
    return [page_id for _, page_id in sorted(found)]


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


def pages_by_body(session: Session, keys: Collection[bytes]) -> dict[bytes, Page]:
    """Find what was extracted from bodies before: pages with their texts and signatures.

    Of several pages with one body, any: they have all that was extracted from it in common.

    Args:
        session: the store.
        keys: as pages were stored with, `Page.body_key`.
    """
    with session.database.reading() as connection:
        rows = (
            row
            for part in chunked(keys)
            for row in connection.execute(_BY_BODY, {"values": part}).mappings()
        )
        pages_of = ((row["body_key"], _checked_page(row, session)) for row in rows)
        return {key: page for key, page in pages_of if page is not None}


def page_by_url(session: Session, url: str, scope: str = "") -> Page | None:
    """Page as `check` was given it for a URL last: its text, if it is kept, and signature."""
    bound = {"url_key": key_of(url), "scope": scope}
    with session.reading() as connection:
        row = connection.execute(_BY_URL, bound).mappings().one_or_none()
    return None if row is None else _checked_page(row, session)


def _checked_page(row: RowMapping, session: Session) -> Page | None:
    """Page as it was given to `check`; None where something of it is damaged."""
    text = None if row["zlib"] is None else unpacked(row["zlib"])
    is_signed = not is_damaged([row[name] for name in COLUMNS])
    if not is_signed or (text is None and row["zlib"] is not None):
        what = "text" if is_signed else "signature"
        session.database.damage.note(row["id"], row["url"], what)
        return None
    return Page(
        url=row["url"],
        prepared=text,
        signature=signature_of(row, session.scheme),
        **{name: row[name] for name in ORIGINS["extracted"]},
        scope=row["scope"],
        body_key=row["body_key"],
    )


def signature_of(row: RowMapping, scheme: Scheme) -> Signature:
    """Signature in a row of `pages`.

    Raises:
        StoreError: it is damaged.
    """
    if is_damaged([row[name] for name in COLUMNS]):
        name = f"page {row['id']} ({row['url']})"
        raise StoreError(f"{name}: its signature is damaged; run `scrapy dedup check`")
    return Signature(
        minima=read_minima(row["minima"]),
        simhash=kinds.SIGNED.read(row["simhash"]),
        text_hash=row["text_hash"],
        words=row["words"],
        scheme=scheme.id,
    )
