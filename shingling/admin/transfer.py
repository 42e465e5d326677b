"""Export a whole store as records, and restore a store from them."""

from __future__ import annotations

import json
from collections import Counter
from contextlib import suppress
from dataclasses import replace
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from sqlalchemy import Boolean, insert, select, text, update
from sqlalchemy.exc import IntegrityError

from shingling.admin.records import PAGE_COLUMNS, Header, Record, batches, checked, problem_of
from shingling.admin.reviews import merge_reviews
from shingling.errors import RecordError
from shingling.sketch import Scheme
from shingling.store.backends.base import damage_of
from shingling.store.indexing import index_all
from shingling.store.known import unpacked
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
from shingling.text import pack

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence

    from sqlalchemy import Connection, Executable

    from shingling.store.session import Session

_ROWS_READ_AT_ONCE = _RECORDS_WRITTEN_AT_ONCE = 256

_RUNS = text("SELECT * FROM runs ORDER BY id")
_PAGES = text(
    "SELECT pages.*, original.url AS original, texts.zlib FROM pages"
    " LEFT JOIN pages AS original ON original.id = pages.original_id"
    " LEFT JOIN texts ON texts.page_id = pages.id ORDER BY pages.id"
)
_TEMPLATES = text("SELECT site, entries, lines FROM site_blocks ORDER BY site, id")
_REVIEWS = text(
    "SELECT a_url AS a, b_url AS b, same, note, created FROM reviews ORDER BY a_key, b_key"
).columns(same=Boolean)

_HAS_TEXTS = text("SELECT EXISTS (SELECT 1 FROM texts)")
_IS_USED = text("SELECT EXISTS (SELECT 1 FROM pages) OR EXISTS (SELECT 1 FROM runs)")

ORPHANS = text(
    "SELECT id, url, original_id FROM pages WHERE original_id IS NOT NULL AND NOT EXISTS ("
    "SELECT 1 FROM pages AS original WHERE original.id = pages.original_id"
    " AND original.original_id IS NULL AND original.scope = pages.scope) ORDER BY id"
)
"""Pages that follow no page, or none that they may follow."""


def export(session: Session, *, with_texts: bool = True) -> Generator[Record]:
    """Yield a store as it is at this moment, as records, of which `restore` makes an equal store.

    The header comes first, then runs, reviews, pages by their ids, the templates of their sites,
    and the end. Rows that cannot be read are left out.

    Args:
        session: the store.
        with_texts: whether pages have their main texts.
    """
    with session.reading() as connection:
        header = _header(connection, with_texts)
        yield header.record()
        known_runs, number = set[int](), 0
        for record in _sound(connection, "run", _exported_runs(connection)):
            known_runs.add(record.fields["id"])
            yield record
        yield from _sound(connection, "review", _rows(connection, _REVIEWS))
        for page in _sound(connection, "page", _exported_pages(connection, with_texts)):
            number += 1
            fields = {**page.fields, "simhash": SIGNED.read(page.fields["simhash"])}
            if fields["run"] not in known_runs:
                fields["run"] = None
            yield page._replace(fields=fields)
        if header.texts:
            yield from _exported_templates(connection)
        yield Record("end", {"pages": number})


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


def _sound(
    connection: Connection, kind: str, rows: Iterable[Mapping[str, Any]]
) -> Iterator[Record]:
    """Yield the records that an import takes."""
    for fields in rows:
        record = Record(kind, fields)
        if problem_of(record):
            damage_of(connection).note(f"{kind} {next(iter(fields.values()))}")
        else:
            yield record


def _exported_runs(connection: Connection) -> Iterator[Mapping[str, Any]]:
    for row in _rows(connection, _RUNS):
        for name in ("counts", "settings"):
            with suppress(TypeError, ValueError):
                row[name] = json.loads(row[name])
        yield row


def _exported_pages(connection: Connection, with_texts: bool) -> Iterator[Mapping[str, Any]]:
    for row in _rows(connection, _PAGES):
        fields = {name: row[column] for name, column in PAGE_COLUMNS.items()}
        fields["original"] = row["original"]
        if with_texts:
            fields["text"] = None
            if row["zlib"] is not None:
                kept = unpacked(row["zlib"])
                if kept is None:
                    damage_of(connection).note(f"the text of page {row['id']}")
                else:
                    fields["text"] = kept.text
        yield fields


def _exported_templates(connection: Connection) -> Iterator[Record]:
    for site, of_site in groupby(_rows(connection, _TEMPLATES), key=itemgetter("site")):
        rows = [*of_site]
        blocks = merge_newest(row["entries"] for row in rows)
        lines = merge_newest_lines(row["lines"] for row in rows)
        if blocks or lines:
            yield Record("template", {"site": site, "blocks": blocks, "lines": lines})


def restore(session: Session, header: Header, records: Iterable[Record]) -> Counter[str] | None:
    """Make an empty store of records, all or nothing.

    It gets their scheme, index, ids, groups, verdicts, runs and reviews. A store that holds pages
    or runs stays as it is, and no record is read.

    Args:
        session: the store.
        header: what the first record says.
        records: those behind it.

    Returns:
        How many records of each kind it now has; None if it is not empty.

    Raises:
        RecordError: a record is not what it should be.
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
        for batch in batches(checked(records), _RECORDS_WRITTEN_AT_ONCE):
            try:
                _write(connection, batch)
            except IntegrityError:
                raise batch[0].error(
                    f"this {batch[0].kind}, or one of the next {len(batch) - 1:,}, has the id"
                    " or the URL of another one"
                ) from None
            numbers[batch[0].kind] += len(batch)
        _require_stars(connection)
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
            (values["id"], pack(values["text"]))
            for values in fields
            if values.get("text") is not None
        ]
        insert_rows(connection, texts, ("page_id", "zlib"), packed)


def _run_row(fields: Mapping[str, Any]) -> dict[str, Any]:
    row = {name: fields.get(name) for name in runs.columns.keys()}  # noqa: SIM118 (no dict)
    return row | {name: json.dumps(row[name]) for name in ("counts", "settings")}


def _page_row(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {
        **{column: fields.get(name) for name, column in PAGE_COLUMNS.items()},
        "url_key": url_key(fields["url"]),
        "simhash": SIGNED.write(fields["simhash"]),
    }


def _require_stars(connection: Connection) -> None:
    """Check that originals are stored, are originals, and of the scope of their duplicates."""
    row = connection.execute(ORPHANS, execution_options={"yield_per": 1}).first()
    if row is not None:
        raise RecordError(
            f"page {row.id} ({row.url}): its original, {row.original_id}, is missing, or no"
            " original of its scope"
        )
