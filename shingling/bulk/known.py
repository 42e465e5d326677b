"""Rows that a run knows beforehand: of a store, of an exported store, or of other files.

They come before all rows of the inputs, which may be duplicates of them, and are in no output. What
is decided already stays as it is: rows of stores bring their signatures and their originals.
"""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from shingling.admin.transfer import export
from shingling.bulk.inputs.exports import (
    export_in,
    files_of_lines,
    is_export,
    naming,
    parts_of,
)
from shingling.bulk.inputs.sources import Source, sources_of
from shingling.bulk.signed_rows import DECISION, KEPT, NO_ROW, SignedPart
from shingling.bulk.storing import STATUSES, STORE_FILE, STORE_FOLDER
from shingling.errors import BulkError, SchemeError
from shingling.json_values import to_json
from shingling.sketch import Signature
from shingling.store.backends import url_of_file
from shingling.store.session import Session
from shingling.text import plain_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from shingling.admin.records import Header, Record
    from shingling.bulk.options import Options
    from shingling.bulk.signed_rows import RowsWriter

_ROWS_AT_ONCE = 2048
_NO_TEXTS = "rows cannot be compared with a store that keeps no texts"
_URLS_OF_STORES = ("sqlite:", "sqlite+", "postgresql:", "postgresql+")  # begin with this
_SQLITE = b"SQLite format 3\0"
_STATES = {status: state for state, status in STATUSES.items()}


class KnownRows(NamedTuple):
    """Rows that are known.

    Args:
        sources: their inputs.
        records: reads those of a store, whose pages are the rows of the first source; or None.
    """

    sources: Sequence[Source] = ()
    records: Callable[[], Iterator[Record]] | None = None

    def sign(self, writer: RowsWriter, text_field: str) -> None:
        """Append the rows of a store, as they were signed and decided there.

        Raises:
            BulkError: it holds no texts, so that nothing can be measured against it.
        """
        if self.records is None:
            return
        pages = (
            record.fields
            for record in self.records()
            if record.kind == "page" and not record.fields["scope"]  # compared with all others
        )
        rows: dict[int, int] = {}  # by the ids of their pages
        decided: list[tuple[int, int | None, float, float]] = []
        has_text = False
        while part := [*islice(pages, _ROWS_AT_ONCE)]:
            writer.append(_signed(part, text_field), 0)
            for page in part:
                rows[page["id"]] = len(rows)
                measures = page.get("resemblance") or 0.0, page.get("containment") or 0.0
                state = _STATES.get(page["status"], KEPT)
                decided.append((state, page.get("original_id"), *measures))
                has_text |= bool(page.get("text"))
        if decided and not has_text:
            raise BulkError(f"{self.sources[0].name}: {_NO_TEXTS}")
        decisions = [
            (state, NO_ROW if original is None else rows.get(original, NO_ROW), *measures)
            for state, original, *measures in decided
        ]
        writer.write_known(np.array(decisions, DECISION))


def known_rows(against: str | Path | None, options: Options) -> KnownRows:
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
        return KnownRows()
    path = Path(against)
    kept = [*path.glob("kept*")]  # of another run
    for name in (STORE_FILE, STORE_FOLDER):
        if kept and (path / name).exists():
            return _exported(str(path / name), options)
    for name in ("kept.jsonl", "kept.parquet"):
        if path / name in kept:
            return KnownRows(sources_of([str(path / name)], options))
    if path.is_file():
        with path.open("rb") as file:
            start = file.read(len(_SQLITE))
        if start == _SQLITE:
            return _stored(url_of_file(path), options)
        if is_export(files_of_lines(str(path))):
            return _exported(str(path), options)
    elif str(against).startswith(_URLS_OF_STORES):
        return _stored(str(against), options)
    return KnownRows(sources_of([str(against)], options))


def _stored(url: str, options: Options) -> KnownRows:
    def records() -> Iterator[Record]:
        with Session.open(url, create=False) as session:
            yield from export(session)

    with Session.open(url, scheme=options.scheme, create=False) as session:
        return KnownRows([_source(session.database.where)], records)


def _exported(path: str, options: Options) -> KnownRows:
    files = files_of_lines(path)

    def records() -> Iterator[Record]:
        with naming(path):
            yield from export_in(parts_of(files))[1]

    with naming(path):
        header, _ = export_in(parts_of(files))
    require_header(header, path, options)
    return KnownRows([_source(path)], records)


def require_header(header: Header, name: str, options: Options) -> None:
    """Check what an exported store of this name is made of.

    Raises:
        SchemeError: its scheme is not that of the options.
        BulkError: it has no texts.
    """
    if header.scheme != options.scheme:
        raise SchemeError(
            f"{name}: its scheme is {header.scheme.id}, that of the run is {options.scheme.id}"
        )
    if header.pages and not header.texts:
        raise BulkError(f"{name}: {_NO_TEXTS}")


def _source(name: str) -> Source:
    """Input of rows that are signed already: it has no parts."""
    return Source(plain_line(name), lambda: iter(()))


def _signed(pages: Sequence[Mapping[str, Any]], text_field: str) -> SignedPart:
    """Signed rows of pages; only originals have texts."""
    part = SignedPart(lines=len(pages))
    for line, page in enumerate(pages, start=1):
        text = None if page.get("original_id") is not None else page.get("text")
        row = b"" if text is None else to_json({text_field: text})
        minima = np.frombuffer(page["minima"], "<u4")
        signature = Signature(minima, page["simhash"], page["text_hash"], page["words"])
        part.add_row(line, page["url"].encode("utf-8", "replace"), signature, row)
    return part
