"""Export a whole store as records, and restore a store from them."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from sqlalchemy import Boolean, insert, select, text, update
from sqlalchemy.exc import IntegrityError

from shingling.admin.records import PAGE_COLUMNS, Header, Record, batches
from shingling.admin.reviews import merge_reviews
from shingling.errors import RecordError
from shingling.sketch import Scheme
from shingling.store.indexing import index_all
from shingling.store.schema.rows import SIGNED, url_key
from shingling.store.schema.tables import (
    insert_rows,
    pages,
    rules,
    runs,
    scheme as scheme_table,
    site_blocks,
    texts,
)
from shingling.store.session import read_index, scheme_columns
from shingling.store.templates import merge_newest, merge_newest_lines
from shingling.text import pack, unpack

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence

    from sqlalchemy import Connection, Executable

    from shingling.store.session import Session

_ROWS_READ_AT_ONCE = _RECORDS_WRITTEN_AT_ONCE = 256

_RUNS = text("SELECT * FROM runs ORDER BY id")
_PAGES = text(
    "SELECT pages.*, original.url AS original, texts.zlib, texts.last_change FROM pages"
    " LEFT JOIN pages AS original ON original.id = pages.original_id"
    " LEFT JOIN texts ON texts.page_id = pages.id ORDER BY pages.id"
)
_TEMPLATES = text("SELECT site, entries, lines FROM site_blocks ORDER BY site, id")
_REVIEWS = text(
    "SELECT a_url AS a, b_url AS b, same, note, created FROM reviews ORDER BY a_key, b_key"
).columns(same=Boolean)

_JSON_OF_RUNS = ("counts", "settings")
_HAS_TEXTS = text("SELECT EXISTS (SELECT 1 FROM texts)")
_IS_USED = text("SELECT EXISTS (SELECT 1 FROM pages) OR EXISTS (SELECT 1 FROM runs)")

IN_NO_GROUP = {
    "its original is missing, or no original of its scope": text(
        "SELECT id, url FROM pages WHERE original_id IS NOT NULL AND NOT EXISTS ("
        "SELECT 1 FROM pages AS original WHERE original.id = pages.original_id"
        " AND original.original_id IS NULL AND original.scope = pages.scope) ORDER BY id"
    ),
    "status, original_id and resemblance contradict each other": text(
        "SELECT id, url FROM pages WHERE CASE WHEN original_id IS NULL THEN status NOT IN ('new',"
        " 'skipped') OR (resemblance IS NOT NULL AND compared_id IS NULL) ELSE status NOT IN"
        " ('exact', 'near') OR coalesce(resemblance, -1) NOT BETWEEN 0 AND 1 END ORDER BY id"
    ),
}
"""Queries for pages that belong to no group, by what is wrong with them."""


def export(session: Session, *, with_texts: bool = True) -> Generator[Record]:
    """Yield a store as it is at this moment, as records, of which `restore` makes an equal store.

    The header comes first, then runs, reviews, pages by their ids, the templates of their sites,
    and the end.

    Args:
        session: the store.
        with_texts: whether pages have their main texts.
    """
    with session.reading() as connection:
        header = _header(connection, with_texts)
        yield header.record()
        for row in _rows(connection, _RUNS):
            yield Record("run", row | {name: json.loads(row[name]) for name in _JSON_OF_RUNS})
        for row in _rows(connection, _REVIEWS):
            yield Record("review", row)
        for row in _rows(connection, _PAGES):
            yield Record("page", _page_fields(row, with_text=with_texts))
        if header.texts:
            yield from _exported_templates(connection)
        yield Record("end", {"pages": header.pages})


def _header(connection: Connection, with_texts: bool) -> Header:
    row = connection.execute(select(scheme_table)).mappings().one()
    return Header(
        scheme=Scheme.from_json(row["parameters"]),
        index=read_index(connection),
        packs=json.loads(row["packs"]),
        extractors=json.loads(row["extractors"]),
        rules={str(rule.id): rule.parameters for rule in connection.execute(select(rules))},
        created=row["created"],
        pages=connection.scalar(text("SELECT count(*) FROM pages")),
        texts=with_texts and bool(connection.scalar(_HAS_TEXTS)),
    )


def _rows(connection: Connection, query: Executable) -> Iterator[dict[str, Any]]:
    options = {"yield_per": _ROWS_READ_AT_ONCE}
    # Closed even if nobody reads to the end.
    with connection.execute(query, execution_options=options) as result:
        for row in result.mappings():
            yield dict(row)


def _page_fields(row: Mapping[str, Any], *, with_text: bool) -> dict[str, Any]:
    fields = {name: row[column] for name, column in PAGE_COLUMNS.items()}
    fields |= {"simhash": SIGNED.read(row["simhash"]), "original": row["original"]}
    if with_text:
        fields["text"] = None if row["zlib"] is None else unpack(row["zlib"])
        fields["last_change"] = row["last_change"]
    return fields


def _exported_templates(connection: Connection) -> Iterator[Record]:
    for site, of_site in groupby(_rows(connection, _TEMPLATES), key=itemgetter("site")):
        rows = [*of_site]
        blocks = merge_newest(row["entries"] for row in rows)
        lines = merge_newest_lines(row["lines"] for row in rows)
        yield Record("template", {"site": site, "blocks": blocks, "lines": lines})


def restore(session: Session, header: Header, records: Iterable[Record]) -> Counter[str] | None:
    """Make an empty store of records, all or nothing.

    It gets their scheme, index, ids, groups, verdicts, runs and reviews. A store that holds pages
    or runs stays as it is, and no record is read.

    Args:
        session: the store.
        header: what the first record says.
        records: those behind it but for the end, which are as they should be.

    Returns:
        How many records of each kind it now has; None if it is not empty.

    Raises:
        RecordError: two records contradict each other, or reading them has raised it.
    """
    with session.database.writing() as connection:  # records cannot be read a second time
        if connection.scalar(_IS_USED):
            return None
        if header.rules:
            rows = [
                {"id": int(number), "parameters": text} for number, text in header.rules.items()
            ]
            connection.execute(insert(rules), rows)
        numbers: Counter[str] = Counter()
        for batch in batches(records, _RECORDS_WRITTEN_AT_ONCE):
            try:
                _write(connection, batch)
            except IntegrityError:
                raise batch[0].error(
                    f"this {batch[0].kind}, or one of the next {len(batch) - 1:,}, has the id"
                    " or the URL of another one, or a run that is not in the file"
                ) from None
            numbers[batch[0].kind] += len(batch)
        _require_groups(connection)
        has_texts = header.texts or not header.pages  # which samples are of
        index = replace(header.index, sampled=header.index.sampled and has_texts)
        connection.execute(
            update(scheme_table).values(
                **scheme_columns(header.scheme, index),
                packs=json.dumps(header.packs),
                extractors=json.dumps(header.extractors),
                created=header.created,
            )
        )
        session.scheme, session.index = header.scheme, index
        index_all(session, connection, index)
        session.database.ids_restored(connection)
        return numbers


def _write(connection: Connection, batch: Sequence[Record]) -> None:
    """Write records of one kind."""
    kind, fields = batch[0].kind, [record.fields for record in batch]
    if kind == "run":
        connection.execute(insert(runs), [_run_row(values) for values in fields])
    elif kind == "review":
        merge_reviews(connection, batch)
    elif kind == "template":
        rows = [
            {"site": values["site"], "entries": values["blocks"], "lines": values.get("lines")}
            for values in fields
        ]
        connection.execute(insert(site_blocks), rows)
    else:
        rows = [*map(_page_row, fields)]
        insert_rows(connection, pages, [*rows[0]], [tuple(row.values()) for row in rows])
        packed = [
            (values["id"], pack(values["text"]), values.get("last_change"))
            for values in fields
            if values.get("text") is not None
        ]
        insert_rows(connection, texts, ("page_id", "zlib", "last_change"), packed)


def _run_row(fields: Mapping[str, Any]) -> dict[str, Any]:
    row = {name: fields.get(name) for name in runs.columns.keys()}  # noqa: SIM118 (no dict)
    return row | {name: json.dumps(row[name]) for name in _JSON_OF_RUNS}


def _page_row(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {
        **{column: fields.get(name) for name, column in PAGE_COLUMNS.items()},
        "url_key": url_key(fields["url"]),
        "simhash": SIGNED.write(fields["simhash"]),
    }


def _require_groups(connection: Connection) -> None:
    """Check that every page is an original, or follows one."""
    for problem, query in IN_NO_GROUP.items():
        row = connection.execute(query, execution_options={"yield_per": 1}).first()
        if row is not None:
            raise RecordError(f"page {row.id} ({row.url}): {problem}")
