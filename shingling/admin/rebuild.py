"""Rebuild the index, the groups or the signatures of a store from what is stored.

Pages are decided again in temporary tables, and what comes out takes the place of what is stored,
in one transaction: one that is interrupted leaves the store as it was, and the database removes the
tables. Others read meanwhile, and wait to write. A dry run writes nothing else, and nobody waits.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from sqlalchemy import or_, select, text, update

from shingling.errors import BandingError, SchemeError
from shingling.sketch import sign
from shingling.store.decide.batch import Batch
from shingling.store.decide.meet import decide_again
from shingling.store.decide.write import write_batch
from shingling.store.index import Index
from shingling.store.indexing import index_all
from shingling.store.known import read_texts
from shingling.store.schema.rows import LITTLE_ENDIAN, ORIGINS, row_from
from shingling.store.schema.tables import (
    LIVE,
    NEXT,
    pages,
    scheme as scheme_table,
    temporary,
)
from shingling.store.session import Session, add_rules, find_rules, scheme_columns

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection

    from shingling.rules.rules import Rules
    from shingling.sketch import Scheme
    from shingling.store.indexing import Steps
    from shingling.store.model import IndexShape
    from shingling.store.schema.rows import Row

_PAGES_AT_ONCE = 500
_IDS_READ_AT_ONCE = 10_000
_MAX_EXAMPLES = 20

_KEEP = text(
    "CREATE TEMPORARY TABLE before_pages AS SELECT id, original_id, resemblance FROM next_pages"
)
_ORDER = text("SELECT id FROM pages ORDER BY first_seen, id")
_TEXTS_KEPT = text(
    "SELECT count(*), count(zlib) FROM pages LEFT JOIN texts ON texts.page_id = pages.id"
)
_ORIGINALS = text("SELECT count(*) FROM pages WHERE original_id IS NULL")
_NUMBERS = """
    SELECT count(*),
        count(*) FILTER (WHERE old.original_id IS NULL),
        count(*) FILTER (WHERE new.original_id IS NULL),
        count(*) FILTER (WHERE old.original_id IS NOT NULL AND new.original_id IS NULL),
        count(*) FILTER (WHERE old.original_id IS NULL AND new.original_id IS NOT NULL),
        count(*) FILTER (WHERE old.original_id <> new.original_id)
    FROM {} AS old JOIN next_pages AS new ON old.id = new.id
"""
_EXAMPLES = """
    SELECT new.url, was.url, now.url, coalesce(new.resemblance, old.resemblance),
        coalesce(new.reason, CASE WHEN other.original_id > 0 THEN 'original_is_duplicate' END),
        new.minima, other.minima
    FROM {} AS old JOIN next_pages AS new ON old.id = new.id
        LEFT JOIN pages AS was ON was.id = old.original_id
        LEFT JOIN pages AS now ON now.id = new.original_id
        LEFT JOIN next_pages AS other ON other.id = coalesce(new.original_id, old.original_id)
    WHERE coalesce(old.original_id, 0) <> coalesce(new.original_id, 0)
    ORDER BY new.{}, new.id LIMIT :limit
"""
_TAKE_BACK = text(
    "UPDATE pages SET came_out = NULL FROM next_pages AS made"
    " WHERE made.id = pages.id AND coalesce(made.original_id, 0) <> coalesce(pages.original_id, 0)"
)
_TAKE_OVER = (
    text("DELETE FROM full_keys"),
    text("INSERT INTO full_keys SELECT key FROM next_full_keys"),
)


class Change(NamedTuple):
    """A page whose original is another one than before; None is an original.

    Args:
        url: of the page.
        before: its original.
        after: the one that it gets.
        resemblance: to the one that it gets, or else leaves, as it was measured.
        reason: why it stands as it does afterwards, as of a verdict, or `original_is_duplicate` if
            the original that it leaves has become one.
        whole_texts: estimated resemblance of the whole texts of these two, by which it is looked
            for.
    """

    url: str
    before: str | None
    after: str | None
    resemblance: float | None = None
    reason: str | None = None
    whole_texts: float = 0.0

    @property
    def kind(self) -> str:
        """What becomes of it: it `leaves` its original, `joins` one, or `moves` to another."""
        return "leaves" if self.after is None else "joins" if self.before is None else "moves"

    @property
    def other(self) -> str:
        """Original that it gets, or else leaves."""
        return self.after or self.before or ""


@dataclass(frozen=True)
class Changes:
    """Changes by deciding all pages again.

    Args:
        pages: that were decided.
        originals: before and after.
        to_original: duplicates that become originals.
        to_duplicate: originals that become duplicates.
        moved: duplicates that get another original.
        examples: some of them, the first ones by age.
    """

    pages: int
    originals: tuple[int, int]
    to_original: int
    to_duplicate: int
    moved: int
    examples: tuple[Change, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """Convert the changes to values that JSON has."""
        before, after = self.originals
        shown = {**asdict(self), "originals": {"before": before, "now": after}}
        return {**shown, "examples": [change._asdict() for change in self.examples]}


class Compared(NamedTuple):
    """What deciding all pages again changes, by the present rules, and what other rules change.

    Args:
        again: by deciding again alone.
        changes: between the present rules and the others, with all pages as examples, in an order
            by chance that is always the same: the first ones speak for all of them.
    """

    again: Changes
    changes: Changes

    def as_dict(self) -> dict[str, Any]:
        """Numbers as JSON has them."""
        shown = {"again": self.again.as_dict(), "changes": self.changes.as_dict()}
        for change in shown.values():
            del change["examples"]
        return shown


def rebuild_index(session: Session, rules: Rules, show: Steps) -> IndexShape:
    """Make the index of a store anew, in one transaction; no page is decided again.

    Args:
        session: of the store.
        rules: that the index is to serve.
        show: is told how many originals of how many are done.

    Raises:
        BandingError: samples are to be taken, and no texts are stored.
    """
    index = Index.for_rules(rules, session.scheme)

    def make(connection: Connection) -> None:
        _require_texts(connection, index, session.scheme, session.scheme)
        total = connection.scalar(_ORIGINALS) or 0
        index_all(session, connection, index, show=lambda done: show(done, total))
        connection.execute(update(scheme_table).values(**index.columns()))

    session.database.write(make, alone=True)
    session.index = index
    return index.shape


def redecide(
    session: Session, rules: Rules, scheme: Scheme, show: Steps, *, dry_run: bool
) -> Changes:
    """Decide all pages of a store again, in the order in which they were first seen.

    Args:
        session: of the store.
        rules: that pages are decided by.
        scheme: of the signatures; if it is another one than the store has, texts are signed again.
        show: is told how many pages of how many are done.
        dry_run: whether the result is thrown away.

    Raises:
        BandingError: samples are to be taken, and no texts are stored.
        SchemeError: pages are to be signed again, and not all texts are stored.
    """
    after = _session_after(session, rules, scheme)

    def decide_all(connection: Connection) -> Changes:
        number = find_rules(connection, rules) if dry_run else add_rules(connection, rules)
        _decide_all(connection, session.scheme, after, number, show)
        changes = _changes(connection)
        if not dry_run:
            _take_over(connection, after)
        temporary.drop_all(connection, checkfirst=False)
        return changes

    if dry_run:
        with session.database.scratch() as connection:
            return decide_all(connection)
    changes = session.database.write(decide_all, alone=True)
    session.index, session.scheme = after.index, scheme
    return changes


def compare_rules(session: Session, present: Rules, other: Rules, show: Steps) -> Compared:
    """Decide all pages again by either rules, in one transaction that changes nothing.

    Args:
        session: of the store.
        present: rules that the others are compared with.
        other: the others.
        show: is told how many decisions of how many are made: two for each page.

    Raises:
        BandingError: samples are to be taken, and no texts are stored.
    """
    with session.database.scratch() as connection:

        def decide_by(rules: Rules, before: str, part: int) -> Changes:
            after = _session_after(session, rules, session.scheme)
            number = find_rules(connection, rules)

            def show_decisions(done: int, pages: int) -> None:
                show(part * pages + done, 2 * pages)

            _decide_all(connection, session.scheme, after, number, show_decisions)
            return _changes(connection, before, by_chance=True)

        again = decide_by(present, "pages", 0)
        connection.execute(_KEEP)
        temporary.drop_all(connection, checkfirst=False)
        changes = decide_by(other, "before_pages", 1)
    return Compared(again, changes)


def _session_after(session: Session, rules: Rules, scheme: Scheme) -> Session:
    """Session of the store as it is when all pages are decided by these rules."""
    return Session(session.database, scheme, Index.for_rules(rules, scheme), rules)


def _decide_all(
    connection: Connection, scheme: Scheme, after: Session, number: int | None, show: Steps
) -> None:
    """Decide all pages in temporary tables, which are made."""
    _require_texts(connection, after.index, scheme, after.scheme)
    temporary.create_all(connection, checkfirst=False)
    streamed = connection.scalars(_ORDER, execution_options={"yield_per": _IDS_READ_AT_ONCE})
    order = np.fromiter(streamed, np.int64)
    show(0, len(order))
    for start in range(0, len(order), _PAGES_AT_ONCE):
        rows = _read(connection, order[start : start + _PAGES_AT_ONCE].tolist())
        if scheme != after.scheme:
            _sign(connection, rows, after)
        _decide(connection, rows, after, number)
        show(min(start + _PAGES_AT_ONCE, len(order)), len(order))


def _require_texts(connection: Connection, index: Index, before: Scheme, after: Scheme) -> None:
    number, kept = connection.execute(_TEXTS_KEPT).one()
    missing = number - kept
    if index.sampled and number and not kept:
        raise BandingError(
            "the store keeps no texts (DEDUP_STORE_TEXT), so there is nothing to take samples of"
        )
    if after != before and missing:
        raise SchemeError(
            f"{missing:,} page{'' if missing == 1 else 's'} stored without text"
            " (DEDUP_STORE_TEXT): all texts are needed to sign them under another scheme"
        )


def _read(connection: Connection, ids: Sequence[int]) -> list[Row]:
    """Read pages in the order of their ids."""
    stored = connection.execute(select(pages).where(pages.c.id.in_(ids))).mappings()
    rows = {row["id"]: row_from(row, 0) for row in stored}
    return [rows[page_id] for page_id in ids]


def _sign(connection: Connection, rows: Sequence[Row], after: Session) -> None:
    """Sign the texts of rows."""
    kept = read_texts(connection, [row.id for row in rows])
    for row in rows:
        main_text = kept[row.id].text
        after.words_left.count_words_of(main_text)
        row.take("signature", sign(main_text, after.scheme))


def _decide(
    connection: Connection, rows: Sequence[Row], after: Session, number: int | None
) -> None:
    for row in rows:
        row.original_id = row.resemblance = row.containment = row.indexed = None
        row.compared_id = row.reason = None
        row.status, row.stored = "new", False
    batch = Batch(after, connection, after.rules, NEXT, rules_id=number)
    batch.read_again_for(rows)
    for row in rows:
        batch.pages.add(row)
        decision = decide_again(row, row.first_seen, batch)
        row.rules_id = batch.rules_id
        history = row.last_verdict in ("unchanged", "changed")
        if not (history and (row.is_original or row.last_verdict == "unchanged")):
            row.last_verdict = decision.status
    write_batch(batch)
    if batch.templates is not None:
        batch.templates.keep()


def _changes(connection: Connection, old: str = "pages", *, by_chance: bool = False) -> Changes:
    """Compare what was decided in temporary tables with what was before.

    Args:
        connection: to the store.
        old: name of the table of pages as they stood before.
        by_chance: whether the examples are all pages, in an order by chance.
    """
    numbers = connection.execute(text(_NUMBERS.format(old))).one()
    number, before, after, to_original, to_duplicate, moved = numbers
    order, limit = ("url_key", number) if by_chance else ("first_seen", _MAX_EXAMPLES)
    rows = connection.execute(text(_EXAMPLES.format(old, order)), {"limit": limit})
    read = LITTLE_ENDIAN.read
    examples = tuple(
        Change._make((*values, float(np.mean(read(own) == read(other)))))
        for *values, own, other in rows
    )
    return Changes(number, (before, after), to_original, to_duplicate, moved, examples)


def _take_over(connection: Connection, after: Session) -> None:
    """Replace what is stored by what was made."""
    names, made = (*ORIGINS["decision"], *ORIGINS["signature"]), NEXT.pages
    connection.execute(_TAKE_BACK)
    differs = or_(*(pages.c[name].is_distinct_from(made.c[name]) for name in names))
    connection.execute(
        update(pages)
        .where(pages.c.id == made.c.id, differs)
        .values({name: made.c[name] for name in names})
    )
    for statement in _TAKE_OVER:
        connection.execute(statement)
    for live, keys in ((LIVE.bands, NEXT.bands), (LIVE.samples, NEXT.samples)):
        after.database.postings(connection, live).take_over(keys)
    packs = json.dumps(after.scheme.canonical.pack_versions())
    connection.execute(
        update(scheme_table).values(**scheme_columns(after.scheme, after.index), packs=packs)
    )
