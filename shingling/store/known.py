"""Pages as `check` was given them: their texts and signatures, by what they were extracted from."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import bindparam, select

from shingling.errors import StoreError
from shingling.sketch import Signature
from shingling.store.decide.texts import unpacked
from shingling.store.model import Page
from shingling.store.schema import fields as kinds
from shingling.store.schema.rows import COLUMNS, ORIGINS, is_readable, url_key
from shingling.store.schema.statements import among, chunked
from shingling.store.schema.tables import pages, texts
from shingling.store.urls import safe_url

if TYPE_CHECKING:
    from collections.abc import Collection

    from sqlalchemy import RowMapping

    from shingling.sketch import Scheme
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


def _checked_page(row: RowMapping, session: Session) -> Page | None:
    """Page as it was given to `check`; None if it, or its text, cannot be read."""
    text = None if row["zlib"] is None else unpacked(row["zlib"])
    is_text_lost = text is None and row["zlib"] is not None
    if is_text_lost or not is_readable([row[name] for name in COLUMNS]):
        name = f"the text of page {row['id']}" if is_text_lost else f"page {row['id']}"
        session.database.damage.note(name)
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
        StoreError: it cannot be read.
    """
    if not is_readable([row[name] for name in COLUMNS]):
        raise StoreError(f"page {row['id']} cannot be read; run `scrapy dedup check`")
    return Signature(
        minima=kinds.LITTLE_ENDIAN.read(row["minima"]),
        simhash=kinds.SIGNED.read(row["simhash"]),
        text_hash=row["text_hash"],
        words=row["words"],
        scheme=scheme.id,
    )


def key_of(url: str) -> bytes:
    """Key of a URL that is not yet as the store keeps it."""
    return url_key(safe_url(url))
