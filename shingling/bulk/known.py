"""Rows that a run knows beforehand: of a store, of an exported store, or of other files.

They come before all rows of the inputs, which may be duplicates of them, and are in no output. What
is decided already stays as it is: rows of stores bring their signatures and their originals.
"""

from __future__ import annotations

from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError

from shingling.admin.signed_pages import exported_header, exported_pages, is_export, stored_pages
from shingling.bulk.inputs.sources import Source, sources_of
from shingling.bulk.signed_rows import DECISION, IN_LINES, KEPT, NO_ROW, ROW_RECORD, SignedPart
from shingling.bulk.storing import STATUSES, STORE_FILE, STORE_FOLDER
from shingling.errors import BulkError, SchemeError
from shingling.files.json_values import to_json
from shingling.sketch import FUNCTIONS
from shingling.store.session import Session
from shingling.text import plain_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from shingling.admin.records import Header
    from shingling.admin.signed_pages import SignedPage
    from shingling.arrays import Records
    from shingling.bulk.options import Options
    from shingling.bulk.signed_rows import RowsWriter
    from shingling.sketch.banding import Banding

_ROWS_AT_ONCE = 2048
_NO_TEXTS = "rows cannot be compared with a store that keeps no texts"
_SQLITE = b"SQLite format 3\0"
_DECIDED = np.dtype([("id", "<i8"), ("original_id", "<i8"), *DECISION.descr])
_STATES = {status: state for state, status in STATUSES.items()}


class Known(NamedTuple):
    """Rows that are known.

    Args:
        sources: their inputs.
        pages: reads the pages of a store, which are those of the first source; or None.
    """

    sources: Sequence[Source] = ()
    pages: Callable[[], Iterator[SignedPage]] | None = None

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
            raise BulkError(f"{name}: {_NO_TEXTS}")
        writer.write_known(_with_rows(np.array(decided, _DECIDED)))


def known_rows(against: str | Path | None, options: Options) -> Known:
    """Find the rows that a run is to know.

    Args:
        against: the URL or the file of a store, an exported store, the folder of another run (also
            one on Spark), or any input of `sources_of`; None knows nothing.
        options: of the run.

    Raises:
        BulkError: there is nothing of that name.
        StoreError: the store cannot be opened.
        RecordError: the file is no exported store of this release.
    """
    if against is None:
        return Known()
    path = Path(against)
    kept = [*path.glob("kept*")] if path.is_dir() else []  # of another run
    for name in (STORE_FILE, STORE_FOLDER):
        if kept and (path / name).exists():
            return _exported(str(path / name), options)
    for name in ("kept.jsonl", "kept.parquet"):
        if path / name in kept:
            return Known(sources_of([str(path / name)], options))
    if path.is_file():
        with path.open("rb") as file:
            start = file.read(len(_SQLITE))
        if start == _SQLITE:
            return _stored(f"sqlite:///{path}", options)
        if is_export(str(path)):
            return _exported(str(path), options)
    elif _is_store_url(str(against)):
        return _stored(str(against), options)
    return Known(sources_of([str(against)], options))


def _is_store_url(against: str) -> bool:
    try:
        return make_url(against).get_backend_name() in ("sqlite", "postgresql")
    except ArgumentError:
        return False


def _stored(url: str, options: Options) -> Known:
    with Session.open(url, scheme=options.scheme, create=False) as session:
        return Known([_source(session.database.where)], partial(stored_pages, url))


def _exported(path: str, options: Options) -> Known:
    require_header(exported_header(path), path, options)
    return Known([_source(path)], partial(exported_pages, path))


def require_header(header: Header, name: str, options: Options) -> None:
    """Check what an exported store of this name is made of.

    Raises:
        SchemeError: its scheme is not that of the options.
        BulkError: it has no texts.
    """
    if header.scheme != options.scheme:
        raise SchemeError(
            f"{plain_line(name)}: its scheme is {header.scheme.id}, that of the run is"
            f" {options.scheme.id}"
        )
    if header.pages and not header.texts:
        raise BulkError(f"{plain_line(name)}: {_NO_TEXTS}")


def _source(name: str) -> Source:
    """Input of rows that are signed already: it has no parts."""
    return Source(plain_line(name), None, None, lambda: iter(()))


def _decision(page: SignedPage) -> tuple[Any, ...]:
    state = _STATES.get(page.status, KEPT)
    measures = page.resemblance or 0.0, page.containment or 0.0
    return page.id, page.original_id or 0, state, NO_ROW, *measures


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


def _signed(part: Sequence[SignedPage], banding: Banding | None, text_field: str) -> SignedPart:
    """Signed rows of pages; only originals have texts."""
    rows = np.zeros(len(part), ROW_RECORD)
    names = [page.url.encode("utf-8", "replace") for page in part]
    own = [
        b"" if page.text is None or page.original_id else to_json({text_field: page.text})
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
