"""What is kept of pages: their texts and signatures, also by what they were extracted from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from shingling.store.model import Page
from shingling.store.schema.rows import COLUMNS, key_of, row_of
from shingling.store.schema.tables import fetch_rows, select_in
from shingling.text import PreparedText

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from sqlalchemy import Connection

    from shingling.sketch import Scheme, Signature
    from shingling.store.schema.rows import Row
    from shingling.store.session import Session

_TEXTS = "SELECT page_id, zlib FROM texts WHERE page_id {}"
_READ = f"SELECT {', '.join(COLUMNS)}, body_key, zlib FROM pages"  # noqa: S608 (ours)
_BY_BODY = f"{_READ} JOIN texts ON page_id = id WHERE body_key {{}}"
_BY_URL = f"{_READ} LEFT JOIN texts ON page_id = id WHERE url_key = ? AND scope = ?"


def has_no_pages(connection: Connection) -> bool:
    """Whether a store is empty."""
    return not fetch_rows(connection, "SELECT 1 FROM pages LIMIT 1")


def pages_by_body(session: Session, keys: Collection[bytes]) -> dict[bytes, Page]:
    """Find what was extracted from bodies before: pages with their texts and signatures.

    Of several pages with one body, any: they have all that was extracted from it in common.

    Args:
        session: the store.
        keys: as pages were stored with, `Page.body_key`.
    """
    with session.database.reading() as connection:
        pages = [_checked_page(row, session) for row in select_in(connection, _BY_BODY, keys)]
    return {page.body_key: page for page in pages if page.body_key}


def page_by_url(session: Session, url: str, scope: str = "") -> Page | None:
    """Page as `check` was given it for a URL last: its text, if it is kept, and signature."""
    with session.reading() as connection:
        rows = fetch_rows(connection, _BY_URL, key_of(url), scope)
    return _checked_page(rows[0], session) if rows else None


def _checked_page(values: Sequence[Any], session: Session) -> Page:
    """Page as it was given to `check`."""
    *columns, body_key, raw = values
    row = row_of(columns, 0)
    return Page(
        url=row.url,
        prepared=None if raw is None else PreparedText.unpacked(raw),
        signature=signature_of(row, session.scheme),
        title=row.title,
        language=row.language,
        scope=row.scope,
        body_key=body_key,
    )


def signature_of(row: Row, scheme: Scheme) -> Signature:
    """Signature of a stored page."""
    from shingling.sketch.signature import Signature

    return Signature(
        minima=row.minima,
        simhash=row.simhash,
        text_hash=row.text_hash,
        words=row.words,
        scheme=scheme.id,
    )


def read_texts(connection: Connection, ids: Iterable[int]) -> dict[int, PreparedText]:
    """Texts that are kept of pages."""
    rows = select_in(connection, _TEXTS, ids)
    return {page_id: PreparedText.unpacked(raw) for page_id, raw in rows}


def read_text(connection: Connection, page_id: int) -> PreparedText | None:
    """Text of a page, or None if it is not kept."""
    return read_texts(connection, [page_id]).get(page_id)
