"""Pages as `check` was given them: their texts and signatures, by what they were extracted from."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import bindparam, select

from shingling.sketch import Signature
from shingling.store.decide.texts import unpacked
from shingling.store.model import Page
from shingling.store.schema.rows import row_from, url_key
from shingling.store.schema.statements import among, chunked
from shingling.store.schema.tables import pages, texts
from shingling.store.urls import safe_url

if TYPE_CHECKING:
    from collections.abc import Collection

    from sqlalchemy import RowMapping

    from shingling.sketch import Scheme
    from shingling.store.schema.rows import Row
    from shingling.store.session import Session

_READ = select(pages, texts.c.zlib, texts.c.body_key)
_BY_BODY = _READ.join_from(texts, pages).where(among(texts.c.body_key))
_BY_URL = _READ.join_from(pages, texts, isouter=True).where(
    pages.c.url_key == bindparam("url_key"), pages.c.scope == bindparam("scope")
)


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
    return Signature(
        minima=row.minima,
        simhash=row.simhash,
        text_hash=row.text_hash,
        words=row.words,
        scheme=scheme.id,
    )


def key_of(url: str) -> bytes:
    """Key of a URL that is not yet as the store keeps it."""
    return url_key(safe_url(url))
