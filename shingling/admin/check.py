"""Examine a whole store for damage, and remove what is damaged."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from sqlalchemy import and_, case, delete, exists, func, or_, select, text, update

from shingling.admin.rebuild import clear_next
from shingling.admin.reviews import is_sound_review
from shingling.sketch import exact_hash, shingle_text
from shingling.store.decide.texts import unpacked
from shingling.store.index.lookup import keys_of_sample
from shingling.store.index.postings import MAX_PAGES_PER_KEY
from shingling.store.indexing import index_all
from shingling.store.kept import kept_rows
from shingling.store.queries import RUN_CHECKS
from shingling.store.schema.rows import problems_of, row_of, url_key
from shingling.store.schema.site_entries import are_entries
from shingling.store.schema.statements import chunked
from shingling.store.schema.tables import (
    LIVE,
    NEXT,
    pages,
    reviews,
    runs,
    scheme as scheme_table,
    site_blocks,
    texts,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from sqlalchemy import Connection, Table

    from shingling.store.index.postings import Postings
    from shingling.store.schema.rows import Row
    from shingling.store.session import Session

    Show = Callable[[str, int], None]

KINDS = {
    "database": "what the database itself reports",
    "page": "pages with impossible values, or with another hash than that of their text",
    "text": "texts that cannot be read",
    "group": "pages whose place in their group is impossible",
    "index": "pages that are not found by their own keys, keys of others",
    "orphan": "texts without a page, left-overs of a rebuild",
    "site": "entries of sites that cannot be read",
    "run": "runs with impossible values",
    "review": "reviews with impossible values",
    **dict(kept.damage for kept in kept_rows().values()),
}
"""Kinds of damage, in the order in which they are shown."""

MAX_EXAMPLES = 20  # of each kind
_PAGES_AT_ONCE = 500

_original = pages.alias("original")
_MISPLACED = or_(
    and_(
        pages.c.original_id.is_not(None),
        or_(
            ~exists().where(
                _original.c.id == pages.c.original_id,
                _original.c.original_id.is_(None),
                _original.c.scope == pages.c.scope,
            ),
            pages.c.status.not_in(("exact", "near")),
            pages.c.resemblance.is_(None),
        ),
    ),
    and_(
        pages.c.original_id.is_(None),
        or_(
            pages.c.status.not_in(("new", "skipped")),
            and_(pages.c.resemblance.is_not(None), pages.c.compared_id.is_(None)),
        ),
    ),
)
_AS_ORIGINAL: dict[Any, Any] = {
    **dict.fromkeys(("original_id", "resemblance", "containment", "compared_id")),
    "status": case((pages.c.status == "skipped", "skipped"), else_="new"),
}
_ORPHANED = texts.c.page_id.not_in(select(pages.c.id))
# Exact copies whose text no other page of their group has are not found by it.
_FIND_COPIES = text(
    "UPDATE pages SET status = 'near' WHERE status = 'exact' AND NOT EXISTS (SELECT 1 FROM pages"
    " AS own WHERE own.text_hash = pages.text_hash AND own.status <> 'exact'"
    " AND (own.id = pages.original_id OR own.original_id = pages.original_id))"
)


@dataclass
class Findings:
    """Damage that was found in a store.

    Args:
        pages: that were examined.
        found, left: numbers by kind, before and after the repair.
        examples: the first ones of each kind.
    """

    pages: int = 0
    found: Counter[str] = field(default_factory=Counter)
    left: Counter[str] = field(default_factory=Counter)
    examples: dict[str, list[str]] = field(default_factory=dict)
    _keys: dict[str, list[Any]] = field(default_factory=dict)

    def note(self, kind: str, name: str, key: Any = None) -> None:
        """Note something damaged: its kind, its name, and the key to remove it by."""
        self.found[kind] += 1
        self._keys.setdefault(kind, []).append(key)
        examples = self.examples.setdefault(kind, [])
        if len(examples) < MAX_EXAMPLES:
            examples.append(name)

    def keys(self, kind: str) -> list[Any]:
        """Keys of what was found."""
        return self._keys.get(kind, [])

    @property
    def is_sound(self) -> bool:
        """Whether nothing is damaged."""
        return not self.found

    @property
    def is_mended(self) -> bool:
        """Whether nothing damaged is left."""
        return not self.left

    def as_dict(self) -> dict[str, Any]:
        """Convert the findings to values that JSON has."""
        return {
            "pages": self.pages,
            "sound": self.is_sound,
            "damaged": {kind: self.found[kind] for kind in KINDS},
            "left": {kind: self.left[kind] for kind in KINDS},
            "examples": {kind: self.examples.get(kind, []) for kind in KINDS},
        }


def check_store(session: Session, *, repair: bool, show: Show) -> Findings:
    """Examine a store, and remove what is damaged.

    Args:
        session: of the store.
        repair: whether damaged rows are removed, and the index is made again, in one transaction.
        show: is told what is being examined, and how many are.

    Raises:
        StoreError: the database cannot be read, or a rebuild has begun and is to be ended
            before anything is removed.
    """
    if repair:
        session.write(lambda _: None)  # it can be written
    found = _examined(session, show)
    if repair and not found.is_sound:
        session.write(partial(_repair, session, found), alone=True)
        found.left = _examined(session, show).found
    return found


def _examined(session: Session, show: Show) -> Findings:
    found = Findings()
    with session.reading() as connection:
        _examine_small_tables(connection, found)
        _examine_pages(session, connection, found, show)
        if connection.dialect.name == "sqlite":
            show("database", 0)
            lines = connection.scalars(text(f"PRAGMA integrity_check({MAX_EXAMPLES})"))
            # Single values are examined above.
            for line in map(str, lines):
                if line != "ok" and " value in " not in line:
                    found.note("database", line)
    return found


def _examine_small_tables(connection: Connection, found: Findings) -> None:
    for row in connection.execute(select(runs)).mappings():
        if wrong := [name for name, (check, _) in RUN_CHECKS.items() if not check[0](row[name])]:
            found.note("run", f"run {row['id']}: {', '.join(wrong)}", (row["id"], wrong))
    for row in connection.execute(select(reviews)).mappings():
        keys = row["a_key"], row["b_key"]
        if not (is_sound_review(row) and keys == (url_key(row["a_url"]), url_key(row["b_url"]))):
            found.note("review", f"review of {row['a_url']} and {row['b_url']}", keys)
    blocks = connection.execute(select(site_blocks).execution_options(yield_per=_PAGES_AT_ONCE))
    for one in blocks:
        if not are_entries(one.entries) or type(one.site) is not str:
            found.note("site", f"entries of {one.site}", one.id)
    for kept in kept_rows().values():
        for key in kept.unsound(connection):
            found.note(kept.damage[0], f"{key[0]} of {key[2]}", key)
    for page_id in connection.scalars(select(texts.c.page_id).where(_ORPHANED)):
        found.note("orphan", f"text of page {page_id}")
    if connection.scalar(select(scheme_table.c.rebuilding)) is None:
        for table in (NEXT.pages, NEXT.bands, NEXT.samples):
            if number := connection.scalar(select(func.count()).select_from(table)):
                found.note("orphan", f"{number:,} rows of {table}")


def _examine_pages(session: Session, connection: Connection, found: Findings, show: Show) -> None:
    tables = (LIVE.bands, *((LIVE.samples,) if session.index.sampled else ()))
    postings = [session.database.postings(connection, table) for table in tables]
    query = select(*pages.c, texts.c.zlib).join_from(pages, texts, isouter=True)
    query = query.order_by(pages.c.id).execution_options(yield_per=_PAGES_AT_ONCE)
    with connection.execute(query) as streamed:
        for part in streamed.partitions():
            sound = []
            for *values, packed in part:
                row = row_of(values, session.scheme.min_comparable_words)
                name = f"page {row.id} ({row.url})"
                prepared = None if packed is None else unpacked(packed)
                main_text = None if prepared is None else prepared.text
                if packed is not None and main_text is None:
                    found.note("text", name, row.id)
                if (
                    row.damaged
                    or problems_of(values)
                    or row.url_key != url_key(row.url)
                    or (main_text is not None and exact_hash(main_text) != row.text_hash)
                ):
                    found.note("page", name, row.id)
                elif row.indexed is not None:
                    sound.append((row, main_text))
            _examine_keys(session, postings, sound, found)
            found.pages += len(part)
            show("pages", found.pages)
    for table in tables:
        strangers = select(func.count()).where(
            table.c.page_id.not_in(select(pages.c.id).where(pages.c.original_id.is_(None)))
        )
        if number := connection.scalar(strangers.select_from(table)):
            found.note("index", f"{number:,} keys of pages that are no originals, in {table}")
    for one in connection.execute(select(pages.c.id, pages.c.url).where(_MISPLACED)):
        found.note("group", f"page {one.id} ({one.url})")


def _examine_keys(
    session: Session,
    postings: Sequence[Postings],
    originals: Sequence[tuple[Row, str | None]],
    found: Findings,
) -> None:
    """Look originals up by their own keys."""
    keys = [session.index.keys([row for row, _ in originals]) if originals else []]
    keys.append(
        [
            keys_of_sample(shingle_text(main_text, session.scheme), row.scope)
            if main_text is not None and row.status != "skipped"
            else []
            for row, main_text in originals
        ]
    )
    for table, own in zip(postings, keys, strict=False):
        there = table.find(key for some in own for key in some)
        for (row, _), some in zip(originals, own, strict=True):
            # Of a key with many pages, only the oldest ones are found.
            pages_of = (there.get(key, ()) for key in some)
            if any(row.id not in ids and len(ids) <= MAX_PAGES_PER_KEY for ids in pages_of):
                found.note("index", f"page {row.id} ({row.url})")


def _repair(session: Session, found: Findings, connection: Connection) -> None:
    """Remove what was found, have what followed it lead, and make the index again."""
    if found.keys("database") and connection.dialect.name == "sqlite":
        connection.execute(text("REINDEX"))
    for run, names in found.keys("run"):
        harmless = {name: RUN_CHECKS[name][1] for name in names}
        connection.execute(update(runs).where(runs.c.id == run).values(harmless))
    for a, b in found.keys("review"):  # as they are: SQLAlchemy would refuse what is no bytes
        removal = text("DELETE FROM reviews WHERE a_key = :a AND b_key = :b")
        connection.execute(removal, {"a": a, "b": b})
    for kept in kept_rows().values():
        kept.delete(found.keys(kept.damage[0]), connection)
    _delete(site_blocks, "id", found.keys("site"), connection)
    _delete(texts, "page_id", [*found.keys("text"), *found.keys("page")], connection)
    _delete(pages, "id", found.keys("page"), connection)
    connection.execute(delete(texts).where(_ORPHANED))
    clear_next(session.database, connection)
    connection.execute(update(pages).where(_MISPLACED).values(_AS_ORIGINAL))
    connection.execute(_FIND_COPIES)
    index_all(session.database, connection, session.scheme, session.index)


def _delete(table: Table, column: str, keys: Sequence[int], connection: Connection) -> None:
    for part in chunked(keys):
        connection.execute(delete(table).where(table.c[column].in_(part)))
