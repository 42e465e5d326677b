"""Export a whole store as records, and restore a store from them."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from sqlalchemy import and_, bindparam, case, exists, func, insert, select, text, update
from sqlalchemy.exc import DBAPIError, IntegrityError

from shingling.admin.records import (
    PAGE_FIELDS,
    Header,
    Record,
    batches,
    checked,
    problem_of,
)
from shingling.admin.reviews import merge_reviews
from shingling.errors import RecordError, StoreError
from shingling.sketch import Scheme, exact_hash, sign
from shingling.store.backends.base import damage_of
from shingling.store.decide.texts import unpacked
from shingling.store.indexing import index_all
from shingling.store.kept import kept_rows
from shingling.store.queries import sound_run
from shingling.store.schema import fields as kinds
from shingling.store.schema.rows import (
    COLUMNS,
    EXPORTED_NAMES,
    ORIGINS,
    problems_of,
    replaced,
    url_key,
)
from shingling.store.schema.site_entries import export_templates
from shingling.store.schema.statements import insert_rows
from shingling.store.schema.tables import (
    pages,
    reviews,
    rules,
    runs,
    scheme as scheme_table,
    site_blocks,
    texts,
)
from shingling.store.session import read_index
from shingling.text import pack

if TYPE_CHECKING:
    from collections.abc import (
        Callable,
        Collection,
        Generator,
        Iterable,
        Iterator,
        Mapping,
        Sequence,
    )

    from sqlalchemy import BindParameter, Connection, Row, Select

    from shingling.store.session import Session

    Note = Callable[[str, str], None]

_PAGES_READ_AT_ONCE, _RECORDS_WRITTEN_AT_ONCE = 256, 1000
_MAX_FAILED_READS = 100_000  # of a damaged file: about a minute
_HIGHEST_ID = 1 << 53
_EXPORTED_COLUMNS = {
    name: exported
    for name in COLUMNS
    if (exported := EXPORTED_NAMES.get(name, name)) in PAGE_FIELDS
}

_original = pages.alias("original")
_PAGES = (
    select(
        *pages.c,
        _original.c.url.label("original_url"),
        _original.c.original_id.label("head_of_original"),
        _original.c.scope.label("scope_of_original"),
    )
    .join_from(pages, _original, pages.c.original_id == _original.c.id, isouter=True)
    .where(pages.c.id.between(bindparam("low"), bindparam("high")))
    .order_by(pages.c.id)
    .limit(_PAGES_READ_AT_ONCE)
)
_REVIEWS = select(
    reviews.c.a_url.label("a"),
    reviews.c.b_url.label("b"),
    *(reviews.c.same, reviews.c.note, reviews.c.created),
).order_by(reviews.c.a_key, reviews.c.b_key)
_TEXTS = (
    select(texts.c.page_id.label("id"), texts.c.zlib)
    .where(texts.c.page_id.between(bindparam("low"), bindparam("high")))
    .order_by(texts.c.page_id)
    .limit(_PAGES_READ_AT_ONCE)
)
_DAMAGE = {"run": "run", "review": "review", "template": "site"}
_LAST_ID = text("SELECT seq FROM sqlite_sequence WHERE name = 'pages'")

# Pages that follow none, or none that they may follow.
_LOST = and_(
    pages.c.original_id.is_not(None),
    ~exists().where(
        _original.c.id == pages.c.original_id,
        _original.c.original_id.is_(None),
        _original.c.scope == pages.c.scope,
    ),
)
_AS_ORIGINAL: dict[Any, Any] = {
    **dict.fromkeys(("original_id", "resemblance", "containment", "compared_id")),
    "status": case((pages.c.status == "skipped", "skipped"), else_="new"),
}
# Exact copies whose text no other page of their group has are not found by it.
_FIND_COPIES = text(
    "UPDATE pages SET status = 'near' WHERE status = 'exact' AND NOT EXISTS (SELECT 1 FROM pages"
    " AS own WHERE own.text_hash = pages.text_hash AND own.status <> 'exact'"
    " AND (own.id = pages.original_id OR own.original_id = pages.original_id))"
)


def export(session: Session, *, with_texts: bool = True) -> Generator[Record]:
    """Yield a store as it is at this moment, as records: see `export_records` and `restore`."""
    with session.reading() as connection:
        yield from export_records(connection, with_texts=with_texts)
        if session.database.damage.number:
            connection.rollback()  # SQLite refuses to commit what has met damage


def export_records(
    connection: Connection,
    *,
    with_texts: bool = True,
    note: Note | None = None,
    verify: bool = False,
) -> Iterator[Record]:
    """Yield a store as records, of which `restore` makes an equal store.

    The header comes first, then runs, reviews, what rooms keep, pages by their ids, the templates
    of their sites, and the end. The transaction must see one state of the store throughout.

    What is damaged is mended or left out: a signature is made again of its text; a page without
    both, or without its URL, is left out, and so is what SQLite cannot read.

    Args:
        connection: within a transaction that reads.
        with_texts: whether pages have their main texts.
        note: is told of damage, by one of the kinds of `check`, and what it is of; None tells the
            store of it.
        verify: whether texts are compared with their exact hashes as well.
    """
    if note is None:
        damage = damage_of(connection)

        def note(_: str, name: str) -> None:
            damage.number += 1
            if damage.tell is not None:
                damage.tell(f"{name} is damaged; run `scrapy dedup check`")

    header = _header(connection, with_texts)
    names, number = PAGE_FIELDS if with_texts else PAGE_FIELDS[:-1], 0
    yield header.record()
    known_runs: set[int | None] = {None}
    for record in _readable(connection, "run", _exported_runs(connection, note), note):
        known_runs.add(record.fields["id"])
        yield record
    yield from _readable(connection, "review", _rows(connection, _REVIEWS), note)
    for kind, kept in kept_rows().items():
        yield from _readable(connection, kind, kept.read(connection), note)
    for row, packed in _page_rows(connection, note):
        fields = _page_fields(row, packed, header.scheme, known_runs, note, verify=verify)
        if fields is not None:
            number += 1
            yield Record("page", {name: fields[name] for name in names})
    if header.texts:
        yield from _readable(connection, "template", _exported_templates(connection), note)
    yield Record("end", {"pages": number})


def _header(connection: Connection, with_texts: bool) -> Header:
    row = connection.execute(select(scheme_table)).mappings().one()
    try:
        number = connection.scalar(select(func.count()).select_from(pages)) or 0
        has_texts = bool(connection.scalar(select(exists(select(texts.c.page_id)))))
    except DBAPIError as error:
        require_sqlite(connection, error)
        number, has_texts = 0, True  # the number is for the progress only
    return Header(
        scheme=Scheme.from_json(row["parameters"]),
        index=read_index(connection),
        packs=_loaded(row["packs"], {}),
        extractors=_loaded(row["extractors"], []),
        rules={
            str(one.id): one.parameters
            for one in connection.execute(select(rules))
            if _loaded(one.parameters, None) is not None
        },
        created=row["created"],
        pages=number,
        texts=with_texts and has_texts,
    )


def _loaded(raw: str, otherwise: Any) -> Any:
    """Value of stored JSON, or another one where it is damaged."""
    try:
        return json.loads(raw)
    except (TypeError, ValueError):
        return otherwise


def _rows(connection: Connection, query: Select[Any]) -> Iterator[dict[str, Any]]:
    streamed = query.execution_options(yield_per=_PAGES_READ_AT_ONCE)
    with connection.execute(streamed) as result:  # closed also where nobody reads to the end
        for row in result.mappings():
            yield dict(row)


def _readable(
    connection: Connection, kind: str, found: Iterable[Mapping[str, Any]], note: Note
) -> Iterator[Record]:
    """Yield the records of a small table, as far as it can be read and they are sound."""
    damage = kept_rows()[kind].damage[0] if kind in kept_rows() else _DAMAGE[kind]
    try:
        for fields in found:
            record = Record(kind, fields)
            if problem_of(record) or (kind == "review" and fields["a"] == fields["b"]):
                note(damage, f"{kind} {', '.join(map(str, [*fields.values()][:2]))}")
            else:
                yield record
    except DBAPIError as error:
        require_sqlite(connection, error)
        note(damage, f"the rest of what there is of the kind {kind}")


def require_sqlite(connection: Connection, error: DBAPIError) -> None:
    """Raise an error again, unless a transaction can go on after it: in a damaged file."""
    if connection.dialect.name != "sqlite":
        raise error


def _exported_runs(connection: Connection, note: Note) -> Iterator[Mapping[str, Any]]:
    for row in _rows(connection, select(runs).order_by(runs.c.id)):
        run = sound_run(row)
        if run != row:
            note("run", f"run {row['id']}")
        yield run | {name: json.loads(run[name]) for name in ("counts", "settings")}


def _exported_templates(connection: Connection) -> Iterator[Mapping[str, Any]]:
    for site, blocks in export_templates(connection):
        yield {"site": site, "blocks": blocks}


def _page_rows(connection: Connection, note: Note) -> Iterator[tuple[Row[Any], Any]]:
    """Yield all pages with their packed texts, by their ids."""

    def no_page(page_id: int) -> None:
        note("page", f"page {page_id}")

    def no_text(page_id: int) -> None:
        note("text", f"page {page_id}")

    for found in _rows_by_id(connection, _PAGES, 1, _HIGHEST_ID, no_page):
        parts = _rows_by_id(connection, _TEXTS, found[0].id, found[-1].id, no_text)
        packed = {one.id: one.zlib for part in parts for one in part}
        for row in found:
            yield row, packed.get(row.id)


def _rows_by_id(
    connection: Connection, query: Select[Any], low: int, high: int, lost: Callable[[int], None]
) -> Iterator[list[Row[Any]]]:
    """Yield the rows of a range of ids, some at a time.

    Where SQLite cannot read a range, its halves are read, so that a damaged block of a file costs
    the rows in it.

    Raises:
        DBAPIError: very many rows cannot be read, or those of another database.
    """
    ranges = [(low, high)]
    failed = 0
    while ranges:
        low, high = ranges.pop()
        try:
            found = connection.execute(query, {"low": low, "high": high}).all()
        except DBAPIError as error:
            require_sqlite(connection, error)
            failed += 1
            if failed > _MAX_FAILED_READS:
                raise
            if low == high:
                lost(low)
                continue
            if high == _HIGHEST_ID:
                high = connection.scalar(_LAST_ID) or low
            middle = (low + high) // 2
            ranges += [(middle + 1, high), (low, middle)]
            continue
        # In a damaged file, rows are not always in order.
        if rows := [row for row in found if low <= row.id <= high]:
            yield rows
            last = max(row.id for row in rows)
            if len(found) == _PAGES_READ_AT_ONCE and last < high:
                ranges.append((last + 1, high))


def _page_fields(
    row: Row[Any],
    packed: Any,
    scheme: Scheme,
    known_runs: Collection[int | None],
    note: Note,
    *,
    verify: bool,
) -> dict[str, Any] | None:
    """Fields of an exported page; None where nothing is left of it."""
    *own, original_url, head_of_original, scope_of_original = tuple(row)
    values = dict(zip(COLUMNS, own, strict=True))
    name = f"page {values['id']} ({values['url']})"
    prepared = None if packed is None else unpacked(packed)
    main_text = None if prepared is None else prepared.text
    if packed is not None and main_text is None:
        note("text", name)
    problems = {*problems_of(own)}
    if not problems & {"url", "url_key"} and values["url_key"] != url_key(values["url"]):
        problems.add("url_key")
    if verify and main_text is not None and "text_hash" not in problems:
        problems |= {"text_hash"} if exact_hash(main_text) != values["text_hash"] else set()
    if problems:
        note("page", name)
    if problems & {"url", "url_key"}:
        return None
    if problems:
        values = dict(zip(COLUMNS, replaced(own, problems), strict=True))
    if not problems.isdisjoint(ORIGINS["signature"]):
        if main_text is None:
            return None
        values |= _signed(main_text, scheme)
    follows = type(original_url) is str and head_of_original is None
    follows = follows and scope_of_original == values["scope"]
    standing = _standing(values, follows=follows)
    # A containment without a resemblance is harmless.
    if any(values[column] != standing[column] for column in standing.keys() - {"containment"}):
        note("group", name)
    values |= standing
    if values["run_id"] not in known_runs:
        values["run_id"] = None
    fields = {name: values[column] for column, name in _EXPORTED_COLUMNS.items()}
    fields["original"] = original_url if follows else None
    fields["simhash"] = kinds.SIGNED.read(fields["simhash"])
    fields["text"] = main_text
    return fields


def _signed(main_text: str, scheme: Scheme) -> dict[str, Any]:
    """Signature of a text, as the database keeps it."""
    made = sign(main_text, scheme)
    return {
        "words": max(made.words, 1),  # a page without words is not stored
        "text_hash": made.text_hash,
        "minima": kinds.LITTLE_ENDIAN.write(made.minima),
        "simhash": kinds.SIGNED.write(made.simhash),
    }


def _standing(values: Mapping[str, Any], *, follows: bool) -> dict[str, Any]:
    """Where a page stands, in columns that agree on whether it follows an original."""
    status, resemblance = values["status"], values["resemblance"]
    if follows:
        return {
            "status": status if status in ("exact", "near") else "near",
            "resemblance": 0.0 if resemblance is None else resemblance,
        }
    standing = {"status": status if status == "skipped" else "new", "original_id": None}
    if values["compared_id"] is None:
        standing |= dict.fromkeys(("resemblance", "containment"))
    return standing


def is_empty(session: Session) -> bool:
    """Whether a store holds neither pages nor runs, so that `restore` may fill it."""
    with session.reading() as connection:
        return _is_empty(connection)


def _is_empty(connection: Connection) -> bool:
    return not any(connection.scalar(select(exists(select(table.c.id)))) for table in (pages, runs))


def restore(session: Session, header: Header, records: Iterable[Record]) -> Counter[str]:
    """Make an empty store of records, all or nothing.

    It gets their scheme, index, ids, groups, verdicts, runs and reviews.

    Args:
        session: the store.
        header: what the first record says.
        records: those behind it.

    Returns:
        How many records of each kind it now has.

    Raises:
        StoreError: the store is not empty.
        RecordError: a record is not what it should be.
    """
    with session.database.writing() as connection:  # records cannot be read a second time
        return restore_records(session, connection, header, records)


def restore_records(
    session: Session,
    connection: Connection,
    header: Header,
    records: Iterable[Record],
    *,
    mend: bool = False,
) -> Counter[str]:
    """Do what `restore` does within a transaction that writes alone.

    Args:
        session: of the store.
        connection: to it.
        header: what the first record says.
        records: those behind it.
        mend: whether a page whose original is not among them becomes one.
    """
    if not _is_empty(connection):
        raise StoreError("the store is not empty")
    if header.rules:
        rows = [{"id": int(number), "parameters": text} for number, text in header.rules.items()]
        connection.execute(insert(rules), rows)
    numbers: Counter[str] = Counter()
    for batch in batches(checked(records), _RECORDS_WRITTEN_AT_ONCE):
        try:
            _write(connection, batch)
        except IntegrityError:
            raise batch[0].error(
                f"this {batch[0].kind}, or one of the next {len(batch) - 1:,}, has the id or the"
                " URL of another one"
            ) from None
        numbers[batch[0].kind] += len(batch)
    if mend:
        connection.execute(update(pages).where(_LOST).values(_AS_ORIGINAL))
        connection.execute(_FIND_COPIES)
    _require_stars(connection)
    index = header.index
    if index.sampled and numbers["page"]:
        # Samples are of texts.
        index = replace(index, sampled=bool(connection.scalar(select(exists(select(texts))))))
    connection.execute(
        update(scheme_table).values(
            id=header.scheme.id,
            parameters=header.scheme.to_json(),
            packs=json.dumps(header.packs),
            extractors=json.dumps(header.extractors),
            created=header.created,
            **index.columns(),
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
        connection.execute(insert(runs), [_run_row(one) for one in fields])
    elif kind == "review":
        merge_reviews(connection, batch)
    elif kind in kept_rows():
        kept_rows()[kind].merge(connection, fields)
    elif kind == "template":
        rows = [{"site": one["site"], "entries": one["blocks"]} for one in fields]
        connection.execute(insert(site_blocks), rows)
    else:
        values = [tuple(_page_row(one).values()) for one in fields]
        insert_rows(connection, pages, [*_page_row(fields[0])], values)
        kept = [(one["id"], pack(one["text"])) for one in fields if one.get("text") is not None]
        insert_rows(connection, texts, ("page_id", "zlib"), kept)


def _run_row(fields: Mapping[str, Any]) -> dict[str, Any]:
    row = {name: fields.get(name) for name in runs.columns.keys()}  # noqa: SIM118 (no dict)
    return row | {name: json.dumps(row[name]) for name in ("counts", "settings")}


def _page_row(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {
        **{column: fields.get(name) for column, name in _EXPORTED_COLUMNS.items()},
        "url_key": url_key(fields["url"]),
        "simhash": kinds.SIGNED.write(fields["simhash"]),
    }


def _require_stars(connection: Connection) -> None:
    """Check that originals are stored, are originals, and of the scope of their duplicates."""
    query = select(pages.c.id, pages.c.url, pages.c.original_id).where(_LOST).order_by(pages.c.id)
    row = connection.execute(query.limit(1)).one_or_none()
    if row is not None:
        raise RecordError(
            f"page {row.id} ({row.url}): its original, {row.original_id}, is missing, or no"
            " original of its scope"
        )


def widen_seen(session: Session, seen: Iterable[tuple[int, int, int]]) -> None:
    """Widen when pages were seen: each is given by its id, a first and a last time."""
    first: BindParameter[int] = bindparam("first")
    last: BindParameter[int] = bindparam("last")
    earlier = case((pages.c.first_seen > first, first), else_=pages.c.first_seen)
    later = case((pages.c.last_seen < last, last), else_=pages.c.last_seen)
    rows = [{"row": row, "first": at, "last": until} for row, at, until in seen]
    if rows:
        widened = update(pages).where(pages.c.id == bindparam("row"))
        widened = widened.values(first_seen=earlier, last_seen=later)
        session.database.write(lambda connection: connection.execute(widened, rows), alone=True)
