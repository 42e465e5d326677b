"""Measure stored texts by other measures than resemblance: every text that is kept is read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import select

from shingling.store.admin.queries import ROWS_READ_AT_ONCE
from shingling.store.schema.tables import texts
from shingling.text import PreparedText

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlalchemy import Connection


def stored_texts(connection: Connection) -> Iterator[tuple[int, PreparedText]]:
    """Yield the ids of pages whose texts are kept, and these, in the order of the ids."""
    query = select(texts.c.page_id, texts.c.zlib).order_by(texts.c.page_id)
    with connection.execute(query, execution_options={"yield_per": ROWS_READ_AT_ONCE}) as rows:
        for page_id, raw in rows:
            yield page_id, PreparedText.unpacked(raw)
