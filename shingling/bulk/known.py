"""Rows that a run knows beforehand: of a store, of an exported store, or of other files.

They come before all rows of the inputs, which may be duplicates of them, and are in no output. What
is decided already stays as it is: rows of stores bring their signatures and their originals.
"""

from __future__ import annotations

from contextlib import closing
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from sqlalchemy import select
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError

from shingling.bulk.files.payloads import to_json
from shingling.bulk.files.sources import Source, sources_of
from shingling.bulk.signed_rows import (
    DECISION,
    EXACT,
    IN_LINES,
    KEPT,
    NEAR,
    NO_ROW,
    ROW_RECORD,
    SHORT,
    SignedPart,
)
from shingling.bulk.storing import STORE_FILE
from shingling.errors import BulkError
from shingling.sketch import FUNCTIONS
from shingling.store.decide.texts import unpacked
from shingling.store.schema.fields import HASH_BYTES, MINIMA_BYTES, SIGNED
from shingling.store.schema.tables import pages, texts
from shingling.store.session import Session
from shingling.text import plain_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from shingling.admin.records import Record
    from shingling.arrays import Records
    from shingling.bulk.options import Options
    from shingling.bulk.signed_rows import RowsWriter
    from shingling.sketch import Scheme
    from shingling.sketch.banding import Banding

_ROWS_AT_ONCE = 2048
_SQLITE = b"SQLite format 3\0"
_DECIDED = np.dtype([("id", "<i8"), ("original_id", "<i8"), *DECISION.descr])
_PAGES = (
    select(
        *(pages.c.id, pages.c.original_id, pages.c.status),
        *(pages.c.resemblance, pages.c.containment),
        *(pages.c.url, pages.c.words, pages.c.text_hash, pages.c.simhash, pages.c.minima),
        texts.c.zlib,
    )
    .select_from(pages.outerjoin(texts, pages.c.id == texts.c.page_id))
    .where(pages.c.scope == "")
    .order_by(pages.c.id)
)


_EXPORTED = (
    *("id", "original_id", "status", "resemblance", "containment"),
    *("url", "words", "text_hash", "simhash", "minima", "text"),
)
_STATES = {"exact": EXACT, "near": NEAR, "skipped": SHORT}  # all others are kept


class _Page(NamedTuple):
    """A stored page; `original` is the id of its original, or None."""

    id: int
    original: int | None
    status: str
    resemblance: float | None
    containment: float | None
    url: str
    words: int
    text_hash: bytes
    simhash: int
    minima: bytes
    text: str | None


class Known(NamedTuple):
    """Rows that are known.

    Args:
        sources: their inputs.
        pages: reads the pages of a store, which are those of the first source; or None.
        scheme: of these.
    """

    sources: Sequence[Source] = ()
    pages: Callable[[], Iterator[_Page]] | None = None
    scheme: Scheme | None = None

    def sign(self, writer: RowsWriter, banding: Banding | None, text_field: str) -> None:
        """Append the rows of a store, as they were signed and decided there.

        Raises:
            BulkError: it holds no texts, so that nothing can be measured against it.
        """
        if self.pages is None:
            return
        found = self.pages()
        decided: list[tuple[Any, ...]] = []
        has_text = False
        while part := [*islice(found, _ROWS_AT_ONCE)]:
            writer.append(_signed(part, banding, text_field), 0)
            decided += map(_decision, part)
            has_text |= any(page.text for page in part)
        if decided and not has_text:
            name = self.sources[0].name
            raise BulkError(f"{name}: rows cannot be compared with a store that keeps no texts")
        writer.write_known(_with_rows(np.array(decided, _DECIDED)))


def known_rows(against: str | Path | None, options: Options) -> Known:
    """Find the rows that a run is to know.

    Args:
        against: the URL or the file of a store, an exported store, the folder of another run, or
            any input of `sources_of`; None knows nothing.
        options: of the run.

    Raises:
        BulkError: there is nothing of that name.
        StoreError: the store cannot be opened.
        RecordError: the file is no exported store of this release.
    """
    if against is None:
        return Known()
    path = Path(against)
    if (path / STORE_FILE).is_file():
        return _exported(path / STORE_FILE, options)
    for name in ("kept.jsonl", "kept.parquet"):
        if (path / name).is_file():
            return Known(sources_of([str(path / name)], options))
    if path.is_file():
        with path.open("rb") as file:
            start = file.read(len(_SQLITE))
        if start == _SQLITE:
            return _stored(f"sqlite:///{path}", options)
        if _is_export(path):
            return _exported(path, options)
    elif _is_store_url(str(against)):
        return _stored(str(against), options)
    return Known(sources_of([str(against)], options))


def _is_export(path: Path) -> bool:
    from shingling.admin.files import is_record, opened, read_lines

    with opened(str(path)) as file, closing(read_lines(file)) as lines:
        first = next(lines, None)
    return first is not None and is_record(first)


def _is_store_url(against: str) -> bool:
    try:
        return make_url(against).get_backend_name() in ("sqlite", "postgresql")
    except ArgumentError:
        return False


def _stored(url: str, options: Options) -> Known:
    with Session.open(url, scheme=options.scheme, create=False) as session:
        name, scheme = session.database.where, session.scheme

    def read() -> Iterator[_Page]:
        with (
            Session.open(url, create=False) as session,
            session.reading() as connection,
            connection.execute(_PAGES, execution_options={"yield_per": _ROWS_AT_ONCE}) as found,
        ):
            for *values, text_hash, simhash, minima, packed in found:
                if len(text_hash) != HASH_BYTES or len(minima) != MINIMA_BYTES:
                    continue  # a row that cannot be read
                text = None if packed is None else unpacked(packed)
                main_text = None if text is None else text.text
                yield _Page._make((*values, text_hash, SIGNED.read(simhash), minima, main_text))

    return Known([_source(name)], read, scheme)


def _exported(path: Path, options: Options) -> Known:
    from shingling.admin.files import opened, read_lines, records_in
    from shingling.admin.records import Header, checked

    def read(of: Callable[[Iterator[Record]], Iterator[_Page]]) -> Iterator[_Page]:
        with opened(str(path)) as file, closing(read_lines(file)) as lines:
            yield from of(records_in(lines))

    with opened(str(path)) as file, closing(read_lines(file)) as lines:
        header = Header.of(next(records_in(lines)))
    if header.scheme != options.scheme:
        raise BulkError(
            f"{plain_line(str(path))}: its scheme is {header.scheme.id}, that of the run is"
            f" {options.scheme.id}"
        )

    def pages_of(records: Iterator[Record]) -> Iterator[_Page]:
        next(records)
        for record in checked(records):
            if record.kind == "page" and not record.fields["scope"]:
                values = record.fields
                yield _Page._make(map(values.get, _EXPORTED))

    return Known([_source(str(path))], partial(read, pages_of), header.scheme)


def _source(name: str) -> Source:
    """Input of rows that are signed already: it has no parts."""
    return Source(plain_line(name), None, None, lambda: iter(()))


def _decision(page: _Page) -> tuple[Any, ...]:
    state = _STATES.get(page.status, KEPT)
    measures = page.resemblance or 0.0, page.containment or 0.0
    return page.id, page.original or 0, state, NO_ROW, *measures


def _with_rows(decided: Records) -> Records:
    """Decisions with the rows of originals instead of their ids: `DECISION`[rows]."""
    ids, originals = decided["id"], decided["original_id"]
    rows = np.searchsorted(ids, originals)
    is_there = (rows < len(ids)) & (ids[np.minimum(rows, len(ids) - 1)] == originals)
    decided["original"] = np.where(is_there, rows, NO_ROW)
    found = np.empty(len(decided), DECISION)
    for name in DECISION.fields or ():
        found[name] = decided[name]
    return found


def _signed(part: Sequence[_Page], banding: Banding | None, text_field: str) -> SignedPart:
    """Signed rows of pages; only originals have texts."""
    rows = np.zeros(len(part), ROW_RECORD)
    names = [page.url.encode("utf-8", "replace") for page in part]
    own = [
        b"" if page.text is None or page.original else to_json({text_field: page.text})
        for page in part
    ]
    rows["words"] = [page.words for page in part]
    rows["text"] = np.frombuffer(b"".join(page.text_hash for page in part), "<u8").reshape(-1, 2)
    rows["simhash"] = [page.simhash for page in part]
    rows["line"] = np.arange(1, len(part) + 1)
    for name, values in (("", own), ("id_", names)):
        lengths = rows[f"{name}length"] = [len(value) for value in values]
        rows[f"{name}offset"] = np.cumsum(lengths) - lengths
    rows["offset"] |= np.uint64(IN_LINES)
    minima = np.frombuffer(b"".join(page.minima for page in part), "<u4").reshape(-1, FUNCTIONS)
    keys = None if banding is None else banding.keys(minima).T
    return SignedPart(len(part), [], rows, minima, keys, b"".join(names), b"".join(own))
