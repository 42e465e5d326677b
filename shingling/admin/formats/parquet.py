"""Records in a Parquet file: a row for each page, all else in the file's metadata.

Behind the pages are the templates of sites, in rows without an id.
"""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING, Any

from shingling.admin.records import Record
from shingling.errors import RecordError, ShinglingError, require
from shingling.store.kept import kept_rows
from shingling.store.schema.fields import TIME
from shingling.store.schema.rows import EXPORTED_FIELDS

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Iterator, Mapping

_ROWS_READ_AT_ONCE = 1000
_MAX_GROUP_ROWS, _MAX_GROUP_CHARACTERS = 5_000, 1 << 24  # of a row group
_IN_METADATA = {
    "store": b"shingling.store",
    "run": b"shingling.runs",
    "review": b"shingling.reviews",
    "site_field": b"shingling.site_fields",
    **{kind: f"shingling.{kind}s".encode() for kind in kept_rows()},
}
"""Keys of the records that are kept in the metadata, by their kinds."""
_TIMES = [name for name, one in EXPORTED_FIELDS.items() if one.kind is TIME]


def require_parquet() -> None:
    """Check that Parquet files can be read and written.

    Raises:
        ShinglingError: pyarrow is not installed.
    """
    require("parquet", "Parquet", "pyarrow", error=ShinglingError)


def _schema() -> Any:
    import pyarrow as pa

    columns = [(name, *one.kind.arrow) for name, one in EXPORTED_FIELDS.items()]
    return pa.schema([(name, getattr(pa, kind)(*given)) for name, kind, *given in columns])


def write_parquet(records: Iterable[Record], file: IO[bytes]) -> None:
    """Write records; those that are no pages have to come before them."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    others: dict[str, list[dict[str, Any]]] = {name: [] for name in _IN_METADATA}
    writer = None
    rows: list[Mapping[str, Any]] = []
    size = 0
    try:
        for record in records:
            if record.kind in others:
                others[record.kind].append(dict(record.fields))
                continue
            if writer is None:
                schema = _schema().with_metadata(_metadata(others))
                writer = pq.ParquetWriter(file, schema, compression="zstd")
            if record.kind == "page":
                rows.append(_row(record.fields))
                size += len(record.fields.get("text") or "")
            elif record.kind == "template":
                letters = b64encode(record.fields["blocks"]).decode()
                rows.append({"site": record.fields["site"], "text": letters})
                size += len(letters)
            full = len(rows) == _MAX_GROUP_ROWS or size > _MAX_GROUP_CHARACTERS
            if rows and (full or record.kind == "end"):
                writer.write_table(pa.Table.from_pylist(rows, schema=schema))
                rows, size = [], 0
    finally:
        if writer is not None:
            writer.close()


def _metadata(others: Mapping[str, Any]) -> dict[bytes, str]:
    others = {**others, "store": others["store"][0]}
    return {key: json.dumps(others[kind]) for kind, key in _IN_METADATA.items()}


def _row(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {**fields, **{name: 1000 * fields[name] for name in _TIMES}}


def read_parquet(file: IO[bytes]) -> Generator[Record]:
    """Yield the records of a file that can be read at any place.

    Raises:
        RecordError: it is no Parquet file, or one of something else.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    with _named_errors(), pq.ParquetFile(file) as parquet:
        metadata = parquet.schema_arrow.metadata or {}
        if not {*_IN_METADATA.values()} <= metadata.keys():
            raise RecordError("a Parquet file of something else, not of `scrapy dedup export`")
        others = {kind: json.loads(metadata[key]) for kind, key in _IN_METADATA.items()}
        others["store"] = [others["store"]]
        for kind, records in others.items():
            for fields in records:
                if not isinstance(fields, dict):
                    raise TypeError("its metadata has other values")
                yield Record(kind, fields, "metadata")
        schema, number, pages = _schema(), 0, 0
        for batch in parquet.iter_batches(_ROWS_READ_AT_ONCE):
            table = pa.Table.from_batches([batch]).select(schema.names)
            table = table.cast(schema.with_metadata(metadata))
            for name in _TIMES:
                place = schema.get_field_index(name)
                table = table.set_column(place, name, table.column(name).cast(pa.int64()))
            for row in table.to_pylist():
                number += 1
                if row["id"] is None:
                    blocks = b64decode(row["text"] or "", validate=True)
                    fields = {"site": row["site"], "blocks": blocks}
                    yield Record("template", fields, f"row {number:,}")
                    continue
                pages += 1
                seconds = {name: row[name] // 1000 for name in _TIMES}
                yield Record("page", {**row, **seconds}, f"row {number:,}")
        yield Record("end", {"pages": pages}, "the file's end")


@contextmanager
def _named_errors() -> Iterator[None]:
    import pyarrow as pa

    try:
        yield
    except (
        pa.ArrowException,
        ValueError,
        TypeError,
        LookupError,
        OSError,
        RecursionError,
    ) as error:
        if isinstance(error, ShinglingError):
            raise
        problem = " ".join(str(error).split()) or type(error).__name__
        raise RecordError(f"not a Parquet file of a store: {problem}") from error
