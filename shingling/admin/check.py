"""Examine a whole store: by the database, and by what is true between any two transactions."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from sqlalchemy import func, select, text

from shingling.admin.transfer import IN_NO_GROUP
from shingling.store.indexing import band_entries, read_originals, sample_entries
from shingling.store.schema.tables import LIVE, pages

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from sqlalchemy import Connection

    from shingling.arrays import Integers
    from shingling.store.session import Session

MAX_EXAMPLES = 20
"""Problems of one kind that are told."""

_OF_DATABASE = {
    "sqlite": (
        "SELECT integrity_check FROM pragma_integrity_check WHERE integrity_check <> 'ok'",
        "SELECT \"table\" || ' ' || rowid || ': not in ' || parent FROM pragma_foreign_key_check",
    ),
    "postgresql": (
        "SELECT conname || ' is not validated' FROM pg_constraint WHERE NOT convalidated",
    ),
}

_OF_PAGES = {
    **IN_NO_GROUP,
    "no page of its group stands for its text": text(
        "SELECT id, url FROM pages AS copy WHERE status = 'exact' AND NOT EXISTS (SELECT 1 FROM"
        " pages AS own WHERE coalesce(own.original_id, own.id) = copy.original_id"
        " AND own.text_hash = copy.text_hash AND own.status <> 'exact') ORDER BY id"
    ),
}


@dataclass(frozen=True)
class Findings:
    """What was found in a store.

    Args:
        pages: that it has.
        problems: what is wrong with it, a line each, of each kind the first ones.
    """

    pages: int
    problems: list[str]

    @property
    def is_sound(self) -> bool:
        """Whether nothing is wrong."""
        return not self.problems

    def as_dict(self) -> dict[str, Any]:
        """Convert the findings to values that JSON has."""
        return {**asdict(self), "sound": self.is_sound}


def check_store(session: Session, show: Callable[[str, int], None]) -> Findings:
    """Examine a store.

    Args:
        session: of the store.
        show: is told what is being examined, and how many are.

    Raises:
        StoreError: the database cannot be read.
    """
    with session.reading() as connection:
        show("database", 0)
        problems: list[str] = []
        for query in _OF_DATABASE[connection.dialect.name]:
            problems += connection.scalars(text(query)).fetchmany(MAX_EXAMPLES)
        if problems:  # nothing that is read can be relied on
            connection.rollback()  # SQLite refuses to commit what has met damage
            return Findings(0, problems)
        for problem, of_pages in _OF_PAGES.items():
            found = connection.execute(of_pages).fetchmany(MAX_EXAMPLES)
            problems += [f"page {page_id} ({url}): {problem}" for page_id, url in found]
        problems += _wrong_keys(session, connection, show)
        number = connection.scalar(select(func.count()).select_from(pages)) or 0
    return Findings(number, problems)


def _wrong_keys(
    session: Session, connection: Connection, show: Callable[[str, int], None]
) -> Iterator[str]:
    """Name the tables of keys that have other entries than those of all originals.

    Hashes of entries are added up, because a large store has more of them than fit into memory.
    """
    index, done = session.index, 0
    bands = samples = 0
    for originals in read_originals(session, connection):
        found = [row for row in originals if row.indexed is not None]
        bands += _sum_of(band_entries(index, found))
        if index.sampled:
            samples += _sum_of(sample_entries(session, connection, found))
        done += len(originals)
        show("originals", done)
    for table, wanted in ((LIVE.bands, bands), (LIVE.samples, samples)):
        stored = session.database.postings(connection, table).entries()
        if sum(map(hash, stored)) != wanted:
            yield f"{table}: its keys are not those of the originals"


def _sum_of(entries: Integers) -> int:
    """Sum of the hashes of a few pages' entries, of which each counts once."""
    return sum(map(hash, {*zip(*entries.tolist(), strict=True)}))
