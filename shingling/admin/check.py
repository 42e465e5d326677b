"""Examine a whole store: what the database finds, rows that cannot be read, and orphans."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from sqlalchemy import text
from sqlalchemy.exc import DBAPIError

from shingling.admin.transfer import ORPHANS
from shingling.store.known import unpacked
from shingling.store.schema.rows import COLUMNS, is_readable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from sqlalchemy import Connection

    from shingling.store.session import Session

KINDS = {
    "database": "what the database itself reports",
    "page": "pages that cannot be read",
    "text": "texts that cannot be read",
    "orphan": "duplicates without their original, texts and keys without their page",
}
"""Kinds of damage, in the order in which they are shown."""

MAX_EXAMPLES = 20  # of each kind
_PAGES_AT_ONCE = 500

_PAGES = text(
    "SELECT pages.*, zlib FROM pages LEFT JOIN texts ON texts.page_id = pages.id ORDER BY pages.id"
)
_OF_NO_ORIGINAL = (
    "SELECT DISTINCT page_id FROM {} WHERE NOT EXISTS ("
    "SELECT 1 FROM pages WHERE id = page_id AND original_id IS NULL)"
)
_ORPHANS = {
    "page": ORPHANS,
    "text of page": text(
        "SELECT page_id FROM texts WHERE NOT EXISTS (SELECT 1 FROM pages WHERE id = page_id)"
    ),
    **{f"{table} of page": text(_OF_NO_ORIGINAL.format(table)) for table in ("bands", "samples")},
}


@dataclass
class Findings:
    """Damage that was found in a store.

    Args:
        pages: that were examined.
        found: numbers by kind.
        examples: the first ones of each kind.
    """

    pages: int = 0
    found: Counter[str] = field(default_factory=Counter)
    examples: dict[str, list[str]] = field(default_factory=dict)

    def note_damage(self, kind: str, name: str) -> None:
        """Note something damaged: its kind and its name."""
        self.found[kind] += 1
        examples = self.examples.setdefault(kind, [])
        if len(examples) < MAX_EXAMPLES:
            examples.append(name)

    @property
    def is_sound(self) -> bool:
        """Whether nothing is damaged."""
        return not self.found

    def as_dict(self) -> dict[str, Any]:
        """Convert the findings to values that JSON has."""
        return {
            "pages": self.pages,
            "sound": self.is_sound,
            "damaged": {kind: self.found[kind] for kind in KINDS},
            "examples": {kind: self.examples.get(kind, []) for kind in KINDS},
        }


def check_store(session: Session, show: Callable[[str, int], None]) -> Findings:
    """Examine a store.

    Args:
        session: of the store.
        show: is told what is being examined, and how many are.

    Raises:
        StoreError: the database cannot be read.
    """
    findings = Findings()
    with session.reading() as connection:
        if connection.dialect.name == "sqlite":
            show("database", 0)
            for line in _file_damage(connection):
                findings.note_damage("database", line)
            if not findings.is_sound:  # nothing that is read can be relied on
                connection.rollback()  # SQLite refuses to commit what has met damage
                return findings
        _read_pages(connection, findings, show)
        for name, query in _ORPHANS.items():
            for page_id in connection.scalars(query):
                findings.note_damage("orphan", f"{name} {page_id}")
    return findings


def _file_damage(connection: Connection) -> Iterator[str]:
    """Yield what SQLite itself finds in its file."""
    try:
        for line in connection.scalars(text(f"PRAGMA integrity_check({MAX_EXAMPLES})")):
            if line != "ok" and " value in " not in line:  # such rows are found by reading them
                yield line
    except DBAPIError as error:
        yield str(error.orig)


def _read_pages(
    connection: Connection, findings: Findings, show: Callable[[str, int], None]
) -> None:
    streamed = connection.execute(_PAGES, execution_options={"yield_per": _PAGES_AT_ONCE})
    for part in streamed.mappings().partitions():
        for row in part:
            name = f"page {row['id']} ({row['url']})"
            if not is_readable([row[column] for column in COLUMNS]):
                findings.note_damage("page", name)
            if row["zlib"] is not None and unpacked(row["zlib"]) is None:
                findings.note_damage("text", name)
        findings.pages += len(part)
        show("pages", findings.pages)
