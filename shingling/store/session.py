"""An open store: its database, and what every transaction on it needs to know."""

from __future__ import annotations

import json
import logging
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Self, TypeVar

from sqlalchemy import insert, select, update

from shingling.errors import (
    NoStoreError,
    SchemeError,
    StoreVersionError,
    printable,
    require_type,
)
from shingling.rules.rules import Rules
from shingling.sketch import Scheme
from shingling.store.backends import database_of, parse_url
from shingling.store.index import Index
from shingling.store.schema.migrate import HEAD, current_revision, require_known, upgrade
from shingling.store.schema.tables import execute_each, fetch_rows, scheme as scheme_table
from shingling.store.templates import SiteCache
from shingling.text.canonical import WordsLeft

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from sqlalchemy import Connection

    from shingling.sketch import Signature
    from shingling.store.backends.base import Database


_T = TypeVar("_T")

logger = logging.getLogger(__name__)

_INDEX = 'SELECT "indexed", bands, rows, sampled FROM scheme'

_ADD_RULES = "INSERT INTO rules (parameters) VALUES (?) ON CONFLICT DO NOTHING"


class Session:
    """An open store, as everything that reads or changes it shares it.

    Args:
        database: that it is kept in.
        scheme: of its signatures.
        index: that its originals are found by, as the last transaction has read it.
        rules: that it was opened with; None if nobody gave any.

    Attributes:
        rules: how pages are decided if a call does not say otherwise.
        site_cache: what the last transactions knew of sites.
        words_left: what the options of the scheme leave of the first texts.
    """

    def __init__(
        self, database: Database, scheme: Scheme, index: Index, rules: Rules | None
    ) -> None:
        self.database = database
        self.scheme = scheme
        self.index = index
        self.rules = rules or Rules()
        self.site_cache = SiteCache()
        self._given_rules = rules
        self._numbers: dict[Rules, int] = {}
        self.words_left = WordsLeft(scheme.canonical)

    @classmethod
    def open(
        cls,
        url: str,
        *,
        scheme: Scheme | None = None,
        rules: Rules | None = None,
        create: bool = True,
        read_only: bool = False,
    ) -> Self:
        """Open a store; create it, or bring its tables up to date, if needed.

        Arguments and errors are those of `Store.open`. With `read_only`, the database itself
        refuses every change, and a store of an earlier release is not opened.
        """
        database = database_of(parse_url(url))
        if read_only:
            database.refuse_writes()
        where = database.where

        def make(connection: Connection) -> tuple[Scheme, Index]:
            """Bring the tables up to date, all or nothing."""
            upgrade(connection)
            stored = read_scheme(connection)
            if stored is None:
                chosen = scheme or Scheme()
                index = Index.for_rules(rules or Rules(), chosen)
                stored = _write_scheme(connection, chosen, index)
            _check_scheme(scheme, stored[0], where)
            return stored

        try:
            is_there = database.is_there()
            if not is_there and not create:
                raise NoStoreError(f"{where}: there is no store yet; a crawl makes one")
            if not is_there:
                logger.info("%s: there is no store yet, a new one is made", where)
            stored = database.read(_read_current)
            if stored is None and read_only:
                raise StoreVersionError(
                    f"{where}: it is of an earlier release, and cannot be brought up to date while"
                    " it is opened read only"
                )
            if stored is None:
                stored = database.write(make, alone=True)
            _check_scheme(scheme, stored[0], where)
            if scheme is not None:  # it is going to sign
                _check_packs(database, stored[0])
        except BaseException:
            database.close()
            raise
        return cls(database, *stored, rules)

    def close(self) -> None:
        """Close the database."""
        self.database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def fitting_rules(self) -> Rules:
        """Rules that the store was opened with, or the usual ones of its index."""
        return self._given_rules or self.index.usual_rules()

    def require_scheme(self, signature: Signature) -> None:
        """Check that a signature was made under the scheme of the store.

        Raises:
            ArgumentError: it is no signature.
            SchemeError: it was made under another one.
        """
        from shingling.sketch.signature import Signature  # whoever only looks needs none of it

        require_type("signature", signature, Signature, hint="sign(text, store.scheme) makes one")
        if signature.scheme != self.scheme.id:
            raise SchemeError(
                f"a signature of scheme {signature.scheme}, the store has {self.scheme.id}:"
                " sign by Store.scheme"
            )

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Read within one transaction, by the index as it is now."""
        with self.database.reading() as connection:
            self.index = read_index(connection)  # another process may have made a new one
            yield connection

    def write(self, action: Callable[[Connection], _T], *, alone: bool = False) -> _T:
        """Run an action in one transaction, by the index as it is now, and return its result.

        Args:
            action: must bear to be called again with a new transaction.
            alone: whether no other transaction may write meanwhile.

        Raises:
            StoreUnavailableError: the database stayed locked or away.
            StoreError: it failed.
        """

        def with_index(connection: Connection) -> _T:
            self.index = read_index(connection)
            return action(connection)

        return self.database.write(with_index, alone=alone)

    def number_of(self, rules: Rules, *, dry_run: bool) -> int | None:
        """Find the number under which the store keeps rules; new ones get one, but in a dry run."""
        if rules not in self._numbers:
            number = self.database.read(lambda connection: find_rules(connection, rules))
            if number is None and not dry_run:
                number = self.database.write(lambda connection: add_rules(connection, rules))
            if number is None:
                return None
            self._numbers[rules] = number
        return self._numbers[rules]

    def extractors(self) -> list[str]:
        """Names of the extractors that the texts are by, the last one last; none if unknown."""
        return self.database.read(read_extractors)

    def compare_by(self, extractor: str, *, dry_run: bool) -> None:
        """Note which extractor the texts that come now are by; warn if it is another one.

        Args:
            extractor: its name, as `DEDUP_EXTRACTOR` has it.
            dry_run: note nothing.
        """
        names = self.extractors()
        if names[-1:] == [extractor]:
            return
        if names:
            logger.warning(
                "%s: its texts were extracted by %s, those of this crawl are by %s: pages that"
                " were stored before may look changed or less similar until they are crawled"
                " again; set DEDUP_EXTRACTOR = %r, or use another DEDUP_STORE_URL",
                self.database.where,
                printable(names[-1]),
                extractor,
                printable(names[-1]),
            )
        if dry_run:
            return

        def note(connection: Connection) -> None:
            names = [name for name in read_extractors(connection) if name != extractor]
            noted = json.dumps([*names, extractor])
            connection.execute(update(scheme_table).values(extractors=noted))

        self.database.write(note)


def _read_current(connection: Connection) -> tuple[Scheme, Index] | None:
    """Scheme and index of a store; None if it is to be made, or brought up to date.

    Raises:
        StoreVersionError: another release has written it, and this one does not know its revision.
    """
    revision = current_revision(connection)
    if revision is not None:
        require_known(revision)
    return read_scheme(connection) if revision == HEAD else None


def read_scheme(connection: Connection) -> tuple[Scheme, Index] | None:
    """Scheme and index of a store; None if it has none yet."""
    row = connection.execute(select(scheme_table)).mappings().one_or_none()
    return None if row is None else (Scheme.from_json(row["parameters"]), read_index(connection))


def read_extractors(connection: Connection) -> list[str]:
    """Names of the extractors that the texts of a store are by, the last one last."""
    noted = connection.scalar(select(scheme_table.c.extractors))
    names: list[str] = json.loads(noted or "[]")
    return names


def read_index(connection: Connection) -> Index:
    """Read the index of a store that has one."""
    (index,) = fetch_rows(connection, _INDEX)
    return Index.stored(*index)


def find_rules(connection: Connection, rules: Rules) -> int | None:
    """Find the number that the store keeps rules under; None if it has none."""
    rows = fetch_rows(connection, "SELECT id FROM rules WHERE parameters = ?", rules.deciding)
    return rows[0][0] if rows else None


def add_rules(connection: Connection, rules: Rules) -> int:
    """Give rules a number, unless they have one."""
    execute_each(connection, _ADD_RULES, [(rules.deciding,)])
    return find_rules(connection, rules) or 0


def scheme_columns(scheme: Scheme, index: Index) -> dict[str, Any]:
    """Columns of the table `scheme` that are made of scheme and index."""
    return {"id": scheme.id, "parameters": scheme.to_json(), **index.columns()}


def _write_scheme(connection: Connection, scheme: Scheme, index: Index) -> tuple[Scheme, Index]:
    packs = json.dumps(scheme.canonical.pack_versions())
    values = {**scheme_columns(scheme, index), "created": int(time.time()), "packs": packs}
    connection.execute(insert(scheme_table).values(values))
    return scheme, index


def _check_scheme(asked: Scheme | None, stored: Scheme, where: str) -> None:
    """Refuse another scheme than the store's."""
    if asked is not None and asked != stored:
        raise SchemeError(
            f"{where}: its signatures were made with {_shown(stored)}, asked for is"
            f" {_shown(asked)}; set them to the former, sign its texts again (`scrapy dedup rebuild"
            " --scheme`), or use another DEDUP_STORE_URL"
        )


def _check_packs(database: Database, scheme: Scheme) -> None:
    """Warn if signatures were made with other versions of language packs."""
    packs = database.read(lambda connection: connection.scalar(select(scheme_table.c.packs)))
    then: dict[str, str] = json.loads(packs or "{}")
    for pack, now in scheme.canonical.pack_versions().items():
        if pack in then and then[pack] != now:
            logger.warning(
                "%s: its signatures were made with %s %s, installed is %s, which may give other"
                " words: texts that were signed before may look less alike",
                database.where,
                pack,
                printable(then[pack]),
                now,
            )


def _shown(scheme: Scheme) -> str:
    parameters = scheme.describe()
    size = parameters.pop("shingle_size")
    del parameters["version"]
    return f"DEDUP_SHINGLE_SIZE = {size}, DEDUP_SCHEME = {parameters}"
