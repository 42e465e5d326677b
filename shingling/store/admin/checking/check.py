"""Examine a whole store for damage, and mend what can be made again."""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING, Any

from sqlalchemy import bindparam, delete, exists, func, or_, select, text, update

from shingling.store.admin.checking.findings import MAX_EXAMPLES, Findings
from shingling.store.admin.checking.index import IndexCheck
from shingling.store.admin.checking.mending import mend, standing
from shingling.store.admin.queries import RUN_CHECKS
from shingling.store.admin.rebuild import clear_next, index_all
from shingling.store.admin.reviews import is_sound_review
from shingling.store.decide.batch import Batch
from shingling.store.decide.groups import regroup
from shingling.store.decide.write import write_batch
from shingling.store.schema.rows import COLUMNS, url_key
from shingling.store.schema.site_entries import are_entries
from shingling.store.schema.tables import (
    LIVE,
    NEXT,
    full as full_keys,
    pages,
    reviews,
    runs,
    scheme as scheme_table,
    site_blocks,
    texts,
)
from shingling.store.url_rules import delete_unsound, unsound_rows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from sqlalchemy import Connection, Table

    from shingling.store.admin.checking.mending import Mended
    from shingling.store.session import Session

    Show = Callable[[str, int], None]

_PAGES_AT_ONCE = 500
_FIRST_ID = -(1 << 63)

_original = pages.alias("original")
_STANDS = (
    select(pages.c.id, pages.c.url, pages.c.original_id)
    .join_from(pages, _original, pages.c.original_id == _original.c.id, isouter=True)
    .where(
        pages.c.id > bindparam("after"),
        or_(
            pages.c.original_id.is_not(None)
            & or_(
                _original.c.id.is_(None),
                _original.c.original_id.is_not(None),
                _original.c.scope != pages.c.scope,
                pages.c.status.not_in(("exact", "near")),
                pages.c.resemblance.is_(None),
            ),
            pages.c.original_id.is_(None)
            & or_(pages.c.status.not_in(("new", "skipped")), pages.c.resemblance.is_not(None)),
        ),
    )
    .order_by(pages.c.id)
    .limit(_PAGES_AT_ONCE)
)
# Exact copies whose text no other page of their group has: they are not found by it.
_ALONE = text(  # the condition on the status is spelled as in the index
    "SELECT copy.id, copy.url, copy.original_id FROM pages AS copy WHERE copy.id > :after"
    " AND copy.status = 'exact' AND NOT EXISTS (SELECT 1 FROM pages AS own"
    " WHERE own.text_hash = copy.text_hash AND own.status <> 'exact'"
    " AND (own.id = copy.original_id OR own.original_id = copy.original_id))"
    " AND EXISTS (SELECT 1 FROM pages AS head"
    " WHERE head.id = copy.original_id AND head.original_id IS NULL)"
    " ORDER BY copy.id LIMIT :number"
).bindparams(number=_PAGES_AT_ONCE)
_LOST_TEXTS = select(texts.c.page_id).where(
    ~exists(select(pages.c.id).where(pages.c.id == texts.c.page_id))
)


class Check:
    """An examination of a store.

    Args:
        session: of the store.
        repair: whether damage is mended, each part in a transaction.
        show: is told what is being done, and how many are done.
    """

    def __init__(self, session: Session, *, repair: bool, show: Show) -> None:
        self._session, self._repair, self._show = session, repair, show
        self._found = Findings()
        self._known_runs: set[int] = set()
        self._signs_alike = False

    def run(self) -> Findings:
        """Examine everything.

        Raises:
            StoreError: the database cannot be read, or a rebuild has begun and is to be ended
                before anything is mended.
        """
        if self._repair:
            self._session.write(lambda _: None)  # it can be written
        self._small_tables()
        self._pages()
        self._groups(_STANDS)
        self._groups(_ALONE)
        self._index()
        self._database()
        return self._found

    def _mended(self, kind: str, number: int, action: Callable[[Connection], object]) -> None:
        """Mend what was found, if it is to be mended."""
        if self._repair and number:
            self._session.write(action, alone=True)
            self._found.mended[kind] += number

    def _database(self) -> None:
        """Ask SQLite; PostgreSQL reports damage when it reads, as everything above has done."""
        if self._session.database.dialect != "sqlite":
            return
        self._show("database", 0)
        lines = self._session.database.read(_integrity)
        self._found.note("database", *lines)
        if not (self._repair and lines):
            return
        self._session.database.write(lambda connection: connection.execute(text("REINDEX")))
        self._found.mended["database"] += len(lines) * (not self._session.database.read(_integrity))

    def _small_tables(self) -> None:
        """Examine runs, reviews, sites, and what belongs to nothing."""
        with self._session.reading() as connection:
            packs = connection.scalar(select(scheme_table.c.packs))
            self._signs_alike = packs == json.dumps(self._session.scheme.canonical.pack_versions())
            self._known_runs = {*connection.scalars(select(runs.c.id))}
            bad_runs = [
                (row["id"], wrong)
                for row in connection.execute(select(runs)).mappings()
                if (wrong := [n for n, (one, _) in RUN_CHECKS.items() if not one[0](row[n])])
            ]
            bad_reviews = [
                (row["a_key"], row["b_key"], row["a_url"], row["b_url"])
                for row in connection.execute(select(reviews)).mappings()
                if not (is_sound_review(row) and _has_its_keys(row))
            ]
            streamed = select(site_blocks).execution_options(yield_per=_PAGES_AT_ONCE)
            bad_sites = [
                (row.id, row.site)
                for row in connection.execute(streamed)
                if not are_entries(row.entries) or type(row.site) is not str
            ]
            bad_urls = [*unsound_rows(connection)]
            orphans = [*connection.scalars(_LOST_TEXTS)]
            rebuilding = connection.scalar(select(scheme_table.c.rebuilding))
            left_over = [] if rebuilding is not None else _left_over(connection)
        self._found.note("run", *(f"run {one}: {', '.join(wrong)}" for one, wrong in bad_runs))
        self._mended("run", len(bad_runs), partial(_mend_runs, bad_runs))
        self._found.note("review", *(f"review of {a} and {b}" for *_, a, b in bad_reviews))
        keys = [(a, b) for a, b, *_ in bad_reviews]
        self._mended("review", len(keys), partial(_delete_reviews, keys))
        self._found.note("site", *(f"entries of {site}" for _, site in bad_sites))
        ids = [one for one, _ in bad_sites]
        self._mended("site", len(ids), partial(_delete_by, site_blocks, "id", ids))
        self._found.note("fetches", *(f"{table} of {site}" for table, _, site in bad_urls))
        self._mended("fetches", len(bad_urls), partial(delete_unsound, bad_urls))
        self._found.note("orphan", *(f"text of page {one}" for one in orphans))
        self._mended("orphan", len(orphans), partial(_delete_by, texts, "page_id", orphans))
        self._found.note("orphan", *left_over)
        clear = partial(clear_next, self._session.database)
        self._mended("orphan", len(left_over), clear)

    def _pages(self) -> None:
        """Rows, signatures and texts, in the order of their ids."""
        after = _FIRST_ID
        while True:
            part = self._session.database.read(partial(self._read_pages, after))
            if not part:
                return
            after = part[-1].values[0]
            self._found.pages += len(part)
            self._show("pages", self._found.pages)
            wrong = [one for one in part if one.problems]
            for one in wrong:
                for kind in one.problems:
                    self._found.note(kind, _name(one.values))
                if one.is_blank:
                    self._found.note_lost(_name(one.values))
            without = [one for one in part if one.lacks_checksum]
            self._found.lacking_checksum += len(without)
            chosen = [one.values[0] for one in part if one.problems or one.lacks_checksum]
            if self._repair and chosen:
                self._session.write(partial(self._mend_pages, chosen), alone=True)
                for one in wrong:
                    self._found.mended.update(one.problems)

    def _read_pages(
        self, after: int, connection: Connection, ids: Sequence[int] | None = None
    ) -> list[Mended]:
        query = select(*pages.c, texts.c.zlib).join_from(pages, texts, isouter=True)
        query = query.where(pages.c.id > after).order_by(pages.c.id).limit(_PAGES_AT_ONCE)
        if ids is not None:
            query = query.where(pages.c.id.in_(ids))
        with _exact_characters(connection):
            rows = connection.execute(query).all()
        read = []
        for *values, packed in rows:
            run = values[COLUMNS.index("run_id")]
            one = mend(values, packed, self._session.scheme, signs_alike=self._signs_alike)
            if type(run) is int and run not in self._known_runs:
                if not connection.scalar(select(runs.c.id).where(runs.c.id == run)):
                    row = dict(zip(COLUMNS, one.values, strict=True)) | {"run_id": None}
                    problems = tuple({**dict.fromkeys(one.problems), "row": None})
                    one = one._replace(values=tuple(row.values()), problems=problems)
                else:
                    self._known_runs.add(run)
            read.append(one)
        return read

    def _mend_pages(self, ids: Sequence[int], connection: Connection) -> None:
        """Write pages as they are to be, read once more: a crawl may have changed them."""
        blank = []
        for one in self._read_pages(_FIRST_ID, connection, ids):
            row = dict(zip(COLUMNS, one.values, strict=True))
            page_id = row.pop("id")
            twins = select(pages.c.id).where(
                pages.c.url_key == row["url_key"], pages.c.scope == row["scope"]
            )
            if any(other != page_id for other in connection.scalars(twins)):
                row["url"] = f"damaged:{page_id}"
                row["url_key"] = url_key(row["url"])
            connection.execute(update(pages).where(pages.c.id == page_id).values(row))
            if "text" in one.problems:
                connection.execute(delete(texts).where(texts.c.page_id == page_id))
            if one.is_blank:
                blank.append(page_id)
        if blank:
            self._set_apart(blank, connection)

    def _set_apart(self, ids: Sequence[int], connection: Connection) -> None:
        """Take pages whose signature is lost out of their groups."""
        batch = Batch.of(self._session, connection, self._session.fitting_rules)
        for row in batch.rows_of(ids):
            members = batch.members(row) if row.is_original else []
            row.original_id = row.resemblance = row.containment = None
            row.status = "skipped"
            batch.touched[row.id] = row
            regroup(members, batch, {*ids})
        write_batch(batch)

    def _groups(self, query: Any) -> None:
        after = _FIRST_ID
        while True:
            part = self._session.database.read(
                lambda connection: connection.execute(query, {"after": after}).all()  # noqa: B023
            )
            if not part:
                return
            after = part[-1].id
            self._found.note("group", *(f"page {row.id} ({row.url})" for row in part))
            wrong = [row.id for row in part]
            apart = query is _STANDS
            self._mended("group", len(wrong), partial(self._mend_groups, wrong, apart))

    def _mend_groups(self, ids: Sequence[int], apart: bool, connection: Connection) -> None:
        batch = Batch.of(self._session, connection, self._session.fitting_rules)
        done: set[int] = set()
        for row in batch.rows_of(ids):
            if row.id in done:
                continue
            head = batch.head(row)
            follows = head is not row and head.is_original and head.scope == row.scope
            if not apart:  # the oldest exact copy is found by their text from now on
                others = (other for other in batch.members(head) if other.id in done)
                if all(other.text_hash != row.text_hash for other in others):
                    row.status = "near"
                    batch.touched[row.id] = row
                done.add(row.id)
            elif row.original_id is not None and not follows:
                of_it = select(pages.c.id).where(pages.c.original_id == row.original_id)
                rows = batch.rows_of([*connection.scalars(of_it)])
                for one in rows:
                    done.add(one.id)
                regroup(rows, batch, set())
            else:
                values = dict(zip(COLUMNS, standing(row.values(), follows=follows), strict=True))
                for name in ("status", "original_id", "resemblance", "containment"):
                    setattr(row, name, values[name])
                batch.touched[row.id] = row
        write_batch(batch)

    def _index(self) -> None:
        session, found = self._session, self._found
        before = found.found["index"]
        with session.reading() as connection:
            IndexCheck(connection, session.scheme, session.index, found, self._show).run()

        def make_anew(connection: Connection) -> None:
            for table in (LIVE.bands, LIVE.samples):
                session.database.postings(connection, table).clear()
                connection.execute(delete(full_keys).where(full_keys.c.owner == table.name))
            index_all(session.database, connection, session.scheme, session.index)

        self._mended("index", found.found["index"] - before, make_anew)


class _exact_characters:  # noqa: N801 (reads as a function does)
    """Read bytes that are no characters as such: they are found by `checks.STRING`."""

    def __init__(self, connection: Connection) -> None:
        self._raw: Any = connection.connection.driver_connection
        self._is_sqlite = connection.dialect.name == "sqlite"

    def __enter__(self) -> None:
        if self._is_sqlite:
            self._before = self._raw.text_factory
            self._raw.text_factory = partial(str, encoding="utf-8", errors="surrogateescape")

    def __exit__(self, *_: object) -> None:
        if self._is_sqlite:
            self._raw.text_factory = self._before


def _integrity(connection: Connection) -> list[str]:
    """Ask SQLite for what is wrong with the file, but for single values, which `mend` examines."""
    lines = connection.scalars(text(f"PRAGMA integrity_check({MAX_EXAMPLES})")).all()
    return [line for line in map(str, lines) if line != "ok" and " value in " not in line]


def _name(values: Sequence[Any]) -> str:
    row = dict(zip(COLUMNS, values, strict=True))
    return f"page {row['id']} ({row['url']})"


def _has_its_keys(row: Any) -> bool:
    first, second = url_key(row["a_url"]), url_key(row["b_url"])
    return first < second and (row["a_key"], row["b_key"]) == (first, second)


def _left_over(connection: Connection) -> list[str]:
    found = []
    for table in (NEXT.pages, NEXT.bands, NEXT.samples):
        number = connection.scalar(select(func.count()).select_from(table))
        found += [f"{number:,} rows of {table}"] if number else []
    return found


def _mend_runs(wrong: Iterable[tuple[int, Sequence[str]]], connection: Connection) -> None:
    for run, names in wrong:
        harmless = {name: RUN_CHECKS[name][1] for name in names}
        connection.execute(update(runs).where(runs.c.id == run).values(harmless))


def _delete_reviews(keys: Iterable[tuple[Any, Any]], connection: Connection) -> None:
    # As they are: SQLAlchemy would refuse what is no bytes.
    statement = text("DELETE FROM reviews WHERE a_key = :a AND b_key = :b")
    for a, b in keys:
        connection.execute(statement, {"a": a, "b": b})


def _delete_by(table: Table, column: str, values: Sequence[object], connection: Connection) -> None:
    for value in values:
        connection.execute(delete(table).where(table.c[column] == value))
