"""What a batch of pages may meet in the store, as numbers to be locked.

Who changes a page, or decides another by it, has locked one of its keys: its URL, its words, or
those of its bands. So two transactions that share no lock decide as they would one after the other.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, NamedTuple

from sqlalchemy import or_, select

from shingling.store.backends.base import MustBeAloneError
from shingling.store.schema.rows import read_minima, url_key
from shingling.store.schema.statements import VALUES, chunked
from shingling.store.schema.tables import pages, reviews

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from sqlalchemy import Connection

    from shingling.rules.rules import Rules
    from shingling.sketch import Minima, Signature
    from shingling.store.model import Page
    from shingling.store.session import Session

_COLUMNS = (
    pages.c.id,
    pages.c.scope,
    pages.c.url_key,
    pages.c.text_hash,
    pages.c.minima,
    pages.c.simhash,
    pages.c.words,
    pages.c.original_id,
)
_KNOWN = select(*_COLUMNS).where(pages.c.url_key.in_(VALUES)).order_by(pages.c.id)
_MEMBERS = select(*_COLUMNS).where(pages.c.original_id.in_(VALUES)).order_by(pages.c.id)
_REVIEWED = (
    select(reviews.c.a_key)
    .where(or_(reviews.c.a_key.in_(VALUES), reviews.c.b_key.in_(VALUES)))
    .limit(1)
)


class _Met(NamedTuple):
    """A stored page that a batch may change."""

    id: int
    scope: str
    url_key: bytes
    text_hash: bytes
    raw: bytes
    signed: int
    words: int
    original_id: int | None

    @property
    def minima(self) -> Minima:
        return read_minima(self.raw)

    @property
    def simhash(self) -> int:
        return self.signed % (1 << 64)


def lock_pages(
    session: Session,
    connection: Connection,
    signed: Sequence[tuple[Page, Signature]],
    rules: Rules,
) -> None:
    """Wait until nobody else decides pages like these, or changes what they meet.

    Raises:
        MustBeAloneError: it would take too many locks: the batch must write alone.
    """
    index = session.index
    if index.sampled:  # each page has a lock for every 16 shingles then
        raise MustBeAloneError
    changed = _changed(connection, signed)
    own = {_number(page.scope.encode("utf-8", "replace"), url_key(page.url)) for page, _ in signed}
    texts = {signature.text_hash for _, signature in signed} | {row.text_hash for row in changed}
    own |= {_number(text_hash) for text_hash in texts}
    fewest = session.scheme.min_comparable_words
    new = [signature for _, signature in signed if signature.words >= fewest]
    old = [row for row in changed if row.words >= fewest]
    own.update(key for keys in (*index.keys(new), *index.keys(old)) for key in keys)
    met: set[int] = set()
    if not index.probes_are_keys:
        met.update(key for keys in index.probes(new, rules) for key in keys)
    session.database.lock(connection, own, met)
    url_keys = {url_key(page.url) for page, _ in signed} | {row.url_key for row in changed}
    if _are_reviewed(connection, url_keys) or _changed(connection, signed) != changed:
        raise MustBeAloneError


def _changed(connection: Connection, signed: Sequence[tuple[Page, Signature]]) -> list[_Met]:
    """Pages whose text is going to change, and the duplicates of them."""
    new: dict[tuple[str, bytes], set[bytes]] = {}
    for page, signature in signed:
        new.setdefault((page.scope, url_key(page.url)), set()).add(signature.text_hash)
    changed = [
        row
        for part in chunked(key for _, key in new)
        for row in map(_Met._make, connection.execute(_KNOWN, {"values": part}))
        if new.get((row.scope, row.url_key), {row.text_hash}) != {row.text_hash}
    ]
    for part in chunked(row.id for row in changed if row.original_id is None):
        changed += map(_Met._make, connection.execute(_MEMBERS, {"values": part}))
    return changed


def _are_reviewed(connection: Connection, url_keys: Collection[bytes]) -> bool:
    return any(
        connection.scalar(_REVIEWED, {"values": part}) is not None for part in chunked(url_keys)
    )


def _number(*parts: bytes) -> int:
    """Lock number that other names are unlikely to have; signed, as SQL has them."""
    digest = hashlib.blake2b(b"\0".join(parts), digest_size=8).digest()
    return int.from_bytes(digest, "little", signed=True)
