"""Bring a scheme from version 1 to 2: exact hashes are of whole texts, no longer of their words.

The tables are described here as they were at revision 0007, which runs this.
"""

from __future__ import annotations

import json
import logging
import zlib
from dataclasses import replace
from typing import TYPE_CHECKING

from sqlalchemy import bindparam, case, column, exists, func, select, table, update

from shingling.sketch import Scheme, exact_hash

if TYPE_CHECKING:
    from sqlalchemy import Connection, TableClause

logger = logging.getLogger(__name__)

_TEXTS_AT_ONCE = 100

_scheme = table("scheme", column("id"), column("parameters"), column("rebuilding"))
_texts = table("texts", column("page_id"), column("zlib"))
_pages, _next_pages = (
    table(name, column("id"), column("text_hash"), column("status"), column("original_id"))
    for name in ("pages", "next_pages")
)


def hash_whole_texts(connection: Connection) -> bool:
    """Bring a store of version 1 to version 2, if it has the texts of all pages.

    Exact duplicates whose text is that of no other page in their group but such duplicates
    become near ones: the oldest of those with one text; the others stay exact ones of it. All
    else stays, and a rebuild that was interrupted can go on.

    Args:
        connection: within a transaction that writes, alone.

    Returns:
        Whether it was done.
    """
    row = connection.execute(select(_scheme.c.parameters, _scheme.c.rebuilding)).one_or_none()
    scheme = None if row is None else Scheme.from_json(row.parameters)
    if row is None or scheme is None or scheme.version != 1 or _lacks_texts(connection):
        return False
    number = connection.scalar(select(func.count()).select_from(_pages))
    logger.info("exact hashes are made anew, of the whole texts of %s pages", f"{number:,}")
    for pages in (_pages, _next_pages):
        _hash_anew(connection, pages)
        _keep_one_per_text(connection, pages)
    scheme = replace(scheme, version=2)
    rebuilding = row.rebuilding
    if rebuilding is not None:
        plan = json.loads(rebuilding)
        plan["scheme"]["version"] = 2
        rebuilding = json.dumps(plan)
    values = {"id": scheme.id, "parameters": scheme.to_json(), "rebuilding": rebuilding}
    connection.execute(update(_scheme).values(values))
    return True


def _lacks_texts(connection: Connection) -> bool:
    kept = select(_texts.c.page_id).where(_texts.c.page_id == _pages.c.id)
    return bool(connection.scalar(select(exists(select(_pages.c.id).where(~exists(kept))))))


def _hash_anew(connection: Connection, pages: TableClause) -> None:
    """Give pages the exact hashes of their texts."""
    query = (
        select(pages.c.id, _texts.c.zlib)
        .join_from(pages, _texts, _texts.c.page_id == pages.c.id)
        .where(pages.c.id > bindparam("last"))
        .order_by(pages.c.id)
        .limit(_TEXTS_AT_ONCE)
    )
    change = update(pages).where(pages.c.id == bindparam("page"))
    change = change.values(text_hash=bindparam("hash"))
    last = 0
    while batch := connection.execute(query, {"last": last}).all():
        hashes = [
            {"page": page_id, "hash": exact_hash(zlib.decompress(raw).decode())}
            for page_id, raw in batch
        ]
        connection.execute(change, hashes)
        last = batch[-1].id


def _keep_one_per_text(connection: Connection, pages: TableClause) -> None:
    """Make one exact duplicate of each text near, where no other page of its group has it."""
    stands = case((pages.c.status == "exact", 0), else_=1)
    alone = (
        select(func.min(pages.c.id))
        .group_by(func.coalesce(pages.c.original_id, pages.c.id), pages.c.text_hash)
        .having(func.sum(stands) == 0)
    )
    connection.execute(update(pages).where(pages.c.id.in_(alone)).values(status="near"))
