"""Rebuild the index, the groups or the signatures of a store from what is stored.

The results are written into tables of their own, some pages in each transaction, and replace the
old ones at the end, all at once. The store notes how far it is, so that a rebuild which was
interrupted can be resumed.
"""

from __future__ import annotations

import json
import time
import uuid
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from sqlalchemy import delete, func, or_, select, update

from shingling.errors import BandingError, SchemeError, StoreError
from shingling.rules.rules import Rules
from shingling.sketch import Scheme, sign
from shingling.store.decide.batch import Batch
from shingling.store.decide.decide import place
from shingling.store.decide.texts import read_texts
from shingling.store.decide.write import write_batch
from shingling.store.index import Index
from shingling.store.indexing import clear_keys, index_pages
from shingling.store.runs import add_rules
from shingling.store.schema.rows import ORIGINS, row_from
from shingling.store.schema.tables import (
    LIVE,
    NEXT,
    full as full_keys,
    pages,
    scheme as scheme_table,
    texts,
)
from shingling.store.session import Session, refuse

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from sqlalchemy import Connection

    from shingling.arrays import Integers
    from shingling.store.backends.base import Database
    from shingling.store.model import IndexShape
    from shingling.store.schema.rows import Row


_PAGES_PER_TRANSACTION = 500
_IDS_READ_AT_ONCE = 10_000
_MAX_EXAMPLES = 20

_ORDER = select(pages.c.id).order_by(pages.c.first_seen, pages.c.id)
_STATE = select(scheme_table.c.rebuilding)
_TEXTS_KEPT = select(func.count(), func.count(texts.c.zlib)).select_from(pages.outerjoin(texts))


class Change(NamedTuple):
    """A page whose original is another one than before; None is an original."""

    url: str
    before: str | None
    after: str | None


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
        return {**shown, "examples": [one._asdict() for one in self.examples]}


@dataclass(frozen=True)
class Plan:
    """What a rebuild is to do.

    Args:
        decide: whether pages are decided again; else only the index is made.
        rules: that pages are decided by, and that the index is for.
        scheme: of the signatures; if it is another one than the store has, texts are signed again.
        dry_run: whether the result is thrown away.
    """

    decide: bool
    rules: Rules
    scheme: Scheme
    dry_run: bool = False

    def as_dict(self) -> dict[str, Any]:
        """Plan as the store keeps it."""
        shown = {"decide": self.decide, "rules": asdict(self.rules), "dry_run": self.dry_run}
        return {**shown, "scheme": json.loads(self.scheme.to_json())}


def read_plan(connection: Connection) -> Plan | None:
    """Plan of a rebuild that has not ended, or None."""
    raw = connection.scalar(_STATE)
    if raw is None:
        return None
    kept = json.loads(raw)
    scheme = Scheme.from_json(json.dumps(kept["scheme"]))
    return Plan(kept["decide"], Rules(**kept["rules"]), scheme, kept["dry_run"])


class Rebuild:
    """A rebuild that is under way.

    Args:
        session: of the store.
        plan: what it is to do.
    """

    def __init__(self, session: Session, plan: Plan) -> None:
        self._session, self._plan = session, plan
        self._database, self._stored = session.database, session.scheme
        index = Index.for_rules(plan.rules, plan.scheme)
        self._next = Session(session.database, plan.scheme, index, plan.rules)  # the store then
        self._token = ""

    def run(
        self, progress: Callable[[int, int], None] | None = None
    ) -> tuple[IndexShape, Changes | None]:
        """Run it, or what is left of it.

        Args:
            progress: is called with the numbers of pages that are done, and of all pages.

        Returns:
            The index, and what changed by deciding pages again.

        Raises:
            StoreError: another rebuild is under way, or took this one's place.
            BandingError: samples are to be taken, and no texts are stored.
            SchemeError: pages are to be signed again, and not all texts are stored.
        """
        self._database.write(self._begin, alone=True)
        order = self._database.read(self._order)
        done = -1
        while done < len(order):
            at = self._database.write(lambda connection: self._advance(connection, order))
            if progress is not None and at != done:
                progress(at, len(order))
            done = at
        changes = self._database.read(self._changes) if self._plan.decide else None
        if self._plan.dry_run:
            self._database.write(self._drop, alone=True)
        else:
            self._database.write(self._finish, alone=True)
            self._session.index, self._session.scheme = self._next.index, self._next.scheme
        return self._next.index.shape, changes

    def _begin(self, connection: Connection) -> None:
        raw = connection.scalar(_STATE)
        if raw is not None:
            if not self._plan.dry_run and read_plan(connection) == self._plan:
                self._token = json.loads(raw)["token"]
                return
            refuse(raw)
        if self._next.index.sampled or self._plan.scheme != self._stored:
            self._require_texts(connection)
        clear_next(self._database, connection)
        self._token = uuid.uuid4().hex
        self._note(connection, int(time.time()), 0)

    def _require_texts(self, connection: Connection) -> None:
        number, kept = connection.execute(_TEXTS_KEPT).one()
        missing = number - kept
        if self._next.index.sampled and number and not kept:
            raise BandingError(
                "the store keeps no texts (DEDUP_STORE_TEXT), so there is nothing to take"
                " samples of"
            )
        if self._plan.scheme != self._stored and missing:
            raise SchemeError(
                f"{missing:,} {'page is' if missing == 1 else 'pages are'} stored without"
                f" {'its text' if missing == 1 else 'their texts'} (DEDUP_STORE_TEXT): all"
                " texts are needed to sign them under another scheme"
            )

    def _note(self, connection: Connection, began: int, done: int) -> None:
        state = {"token": self._token, "began": began, "done": done, "noted": time.time()}
        noted = json.dumps({**self._plan.as_dict(), **state})
        connection.execute(update(scheme_table).values(rebuilding=noted))

    def _order(self, connection: Connection) -> Integers:
        """Ids of all pages, in the order in which they were first seen."""
        ids = connection.scalars(_ORDER, execution_options={"yield_per": _IDS_READ_AT_ONCE})
        return np.fromiter(ids, np.int64)

    def _state(self, connection: Connection) -> dict[str, Any]:
        raw = connection.scalar(_STATE)
        state: dict[str, Any] = {} if raw is None else json.loads(raw)
        if state.get("token") != self._token:
            raise StoreError("another rebuild has ended this one, or taken its place")
        return state

    def _advance(self, connection: Connection, order: Integers) -> int:
        """Do the next pages; the number of those that are done."""
        state = self._state(connection)
        done: int = state["done"]
        ids: list[int] = order[done : done + _PAGES_PER_TRANSACTION].tolist()
        if ids:
            found = connection.execute(select(pages).where(pages.c.id.in_(ids))).mappings()
            rows = {row["id"]: row_from(row, 0) for row in found}
            chunk = [row for row in map(rows.get, ids) if row is not None]
            if self._plan.decide:
                if self._plan.scheme != self._stored:
                    chunk = self._signed(connection, chunk)
                self._decide(connection, chunk)
            else:
                originals = [row for row in chunk if row.is_original]
                keys = (NEXT.bands, NEXT.samples)
                index_pages(self._next, connection, self._next.index, originals, keys)
            self._note(connection, state["began"], done + len(ids))
        return done + len(ids) if ids else len(order)

    def _signed(self, connection: Connection, rows: Sequence[Row]) -> list[Row]:
        """Sign the texts of rows; those whose text cannot be read are left out."""
        kept = read_texts(connection, [row.id for row in rows])
        for main_text in kept.values():
            self._next.words_left.note(main_text.text)
        found = [row for row in rows if row.id in kept]
        for row in found:
            row.take("signature", sign(kept[row.id].text, self._plan.scheme))
        return found

    def _decide(self, connection: Connection, chunk: Sequence[Row]) -> None:
        rules = self._plan.rules
        for row in chunk:
            row.original_id = row.resemblance = row.containment = row.indexed = None
            row.compared_id = row.reason = None
            row.status, row.stored = "new", False
        number = add_rules(connection, rules)
        batch = Batch(self._next, connection, rules, NEXT, rules_id=number)
        batch.read_again_for(chunk)
        for row in chunk:
            batch.admit(row)
            decision = place(row, row.first_seen, batch)
            row.rules_id = batch.rules_id
            history = row.last_verdict in ("unchanged", "changed")
            if not (history and (row.is_original or row.last_verdict == "unchanged")):
                row.last_verdict = decision.status
        write_batch(batch)
        if batch.templates is not None:
            batch.templates.keep()

    def _changes(self, connection: Connection) -> Changes:
        self._state(connection)
        old, new = LIVE.pages, NEXT.pages
        both = old.join(new, old.c.id == new.c.id)
        was, now = old.c.original_id, new.c.original_id
        numbers = select(
            func.count(),
            func.count().filter(was.is_(None)),
            func.count().filter(now.is_(None)),
            func.count().filter(was.is_not(None), now.is_(None)),
            func.count().filter(was.is_(None), now.is_not(None)),
            func.count().filter(was != now),
        ).select_from(both)
        number, before, after, freed, caught, moved = connection.execute(numbers).one()
        was_head, now_head = old.alias("was_head"), new.alias("now_head")
        query = (
            select(old.c.url, was_head.c.url, now_head.c.url)
            .select_from(
                both.outerjoin(was_head, was == was_head.c.id).outerjoin(
                    now_head, now == now_head.c.id
                )
            )
            .where(was.is_distinct_from(now))
            .order_by(old.c.first_seen, old.c.id)
            .limit(_MAX_EXAMPLES)
        )
        examples = tuple(map(Change._make, connection.execute(query)))
        return Changes(number, (before, after), freed, caught, moved, examples)

    def _finish(self, connection: Connection) -> None:
        """Replace the old by what was made."""
        self._state(connection)
        scheme = self._plan.scheme
        if self._plan.decide:
            names, new = (*ORIGINS["decision"], *ORIGINS["signature"]), NEXT.pages
            differs = or_(*(pages.c[name].is_distinct_from(new.c[name]) for name in names))
            connection.execute(
                update(pages)
                .where(pages.c.id == new.c.id, differs)
                .values({name: new.c[name] for name in names})
            )
        for live, made in ((LIVE.bands, NEXT.bands), (LIVE.samples, NEXT.samples)):
            self._database.postings(connection, live).take_over(made)
            connection.execute(delete(full_keys).where(full_keys.c.owner == live.name))
            moved = update(full_keys).where(full_keys.c.owner == made.name)
            connection.execute(moved.values(owner=live.name))
        columns: dict[str, Any] = dict(self._next.index.columns())
        if scheme != self._stored:
            packs = json.dumps(scheme.canonical.pack_versions())
            columns.update(id=scheme.id, parameters=scheme.to_json(), packs=packs)
        connection.execute(update(scheme_table).values(**columns))
        self._drop(connection)

    def _drop(self, connection: Connection) -> None:
        self._state(connection)
        abandon(self._database, connection)


def abandon(database: Database, connection: Connection) -> bool:
    """Throw away what a rebuild has made so far, and return whether one has begun."""
    begun = connection.scalar(_STATE) is not None
    clear_next(database, connection)
    connection.execute(update(scheme_table).values(rebuilding=None))
    return begun


def clear_next(database: Database, connection: Connection) -> None:
    """Remove what a rebuild has made, or has left over."""
    clear_keys(database, connection, (NEXT.bands, NEXT.samples))
    connection.execute(delete(NEXT.pages))
