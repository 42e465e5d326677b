"""What is kept of pages: their texts and signatures, also by what they were extracted from."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, Any

from sqlalchemy import bindparam, select

from shingling.store.backends.base import damage_of
from shingling.store.model import Page
from shingling.store.schema.rows import key_of, row_from
from shingling.store.schema.tables import among, chunked, fetch_rows, pages, select_in, texts
from shingling.text import PreparedText

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from sqlalchemy import Connection, RowMapping

    from shingling.sketch import Scheme, Signature
    from shingling.store.schema.rows import Row
    from shingling.store.session import Session

_TEXTS = "SELECT page_id, zlib FROM texts WHERE page_id {}"
_READ = select(pages, texts.c.zlib, texts.c.body_key)
_BY_BODY = _READ.join_from(texts, pages).where(among(texts.c.body_key))
_BY_URL = _READ.join_from(pages, texts, isouter=True).where(
    pages.c.url_key == bindparam("url_key"), pages.c.scope == bindparam("scope")
)


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


def _checked_page(values: RowMapping, session: Session) -> Page | None:
    """Page as it was given to `check`; None if it, or its text, cannot be read."""
    text = None if values["zlib"] is None else unpacked(values["zlib"])
    is_text_lost = text is None and values["zlib"] is not None
    row = row_from(values, 0)
    if is_text_lost or row is None:
        name = f"page {values['id']}"
        session.database.damage.note(f"the text of {name}" if is_text_lost else name)
        return None
    return Page(
        url=row.url,
        prepared=text,
        signature=signature_of(row, session.scheme),
        title=row.title,
        language=row.language,
        scope=row.scope,
        body_key=values["body_key"],
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
    """Texts that are kept of pages; those that cannot be read are skipped."""
    found: dict[int, PreparedText] = {}
    for page_id, raw in select_in(connection, _TEXTS, ids):
        text = unpacked(raw)
        if text is None:
            damage_of(connection).note(f"the text of page {page_id}")
        else:
            found[page_id] = text
    return found


def read_text(connection: Connection, page_id: int) -> PreparedText | None:
    """Text of a page, or None if it is not kept, or cannot be read."""
    return read_texts(connection, [page_id]).get(page_id)


def unpacked(raw: Any) -> PreparedText | None:
    """Text as it was packed; None if it cannot be read: a zlib stream ends with a checksum."""
    try:
        text = PreparedText.unpacked(raw)
        text.text  # noqa: B018 (it is unpacked now)
    except (TypeError, ValueError, zlib.error):
        return None
    return text
