"""Reviews: a person says that two pages are the same or different, whatever is measured."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, NamedTuple

from sqlalchemy import bindparam, delete, insert, or_, select

from shingling.errors import StoreError
from shingling.store.decide.batch import Batch
from shingling.store.decide.decide import place
from shingling.store.decide.groups import join, leave
from shingling.store.decide.write import write_batch
from shingling.store.model import Review, from_seconds
from shingling.store.schema import checks
from shingling.store.schema.rows import url_key
from shingling.store.schema.statements import chunked
from shingling.store.schema.tables import reviews
from shingling.store.urls import safe_url
from shingling.text import clean

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from sqlalchemy import BindParameter, ColumnElement, Connection, RowMapping

    from shingling.admin.records import Record
    from shingling.rules.rules import Rules
    from shingling.store.schema.rows import Row
    from shingling.store.session import Session


class Answer(NamedTuple):
    """Review of two URLs that is to be written; None deletes one."""

    a: str
    b: str
    same: bool | None
    note: str | None = None


class Reviewed(NamedTuple):
    """What became of some answers.

    Args:
        before, after: review of each pair.
        originals: ids of the originals of the pages that were reviewed or moved, by their own
            ids; None of an original.
    """

    before: list[Review | None]
    after: list[Review | None]
    originals: dict[int, int | None]


def review_pairs(
    session: Session,
    answers: Sequence[Answer],
    rules: Rules,
    require: Callable[[list[Review | None]], None] = lambda _: None,
) -> Reviewed:
    """Write reviews of pairs of URLs, and have the groups follow: all of them, or none.

    Args:
        session: the store.
        answers: of different pairs.
        rules: how pages that leave their group are decided again.
        require: is given the reviews of the pairs until now, and raises an error where nothing is
            to be written.

    Raises:
        StoreError: the URLs of a pair are one and the same.
    """
    cleaned = [
        Answer(safe_url(a), safe_url(b), same, None if note is None else clean(note))
        for a, b, same, note in answers
    ]
    pairs = [(one.a, one.b) for one in cleaned]

    def write(connection: Connection) -> Reviewed:
        before = reviews_of(connection, pairs)
        require(before)
        _replace(connection, [_review_row(*one, int(time.time())) for one in cleaned])
        batch = Batch.of(session, connection, rules)
        for one, review in zip(cleaned, before, strict=True):
            if review is not None or one.same is not None:
                apply_review(batch, one.a, one.b, one.same)
        rows = [row for pair in pairs for url in pair for row in batch.load_url(url)]
        originals = {row.id: row.original_id for row in (*rows, *batch.touched.values())}
        write_batch(batch)
        return Reviewed(before, reviews_of(connection, pairs), originals)

    return session.write(write, alone=True)


def reviews_of(connection: Connection, pairs: Iterable[tuple[str, str]]) -> list[Review | None]:
    """Review of each pair of URLs."""
    keys = [sorted(map(url_key, pair)) for pair in pairs]
    found: dict[tuple[bytes, bytes], Review] = {}
    wanted = {(a_key, b_key) for a_key, b_key in keys}
    query = select(reviews)
    for part in chunked({a_key for a_key, _ in keys}):
        for row in connection.execute(query.where(reviews.c.a_key.in_(part))).mappings():
            if (row["a_key"], row["b_key"]) in wanted and is_sound_review(row):
                found[row["a_key"], row["b_key"]] = _review(row)
    return [found.get((a_key, b_key)) for a_key, b_key in keys]


def apply_review(batch: Batch, a: str, b: str, same: bool | None) -> None:
    """Have the groups of two stored pages follow their new review, in every scope.

    If they are the same, the younger one joins the older one's group, or the other way round
    where a review excludes that. If they are different, the younger one leaves a group that they
    share and is decided again. So it is where a review is deleted, unless the younger one leads a
    group of its own.
    """
    others = {row.scope: row for row in batch.load_url(b)}
    for first in batch.load_url(a):
        second = others.get(first.scope)
        if second is None:
            continue
        older, younger = sorted((first, second), key=lambda row: row.id)
        together = batch.head(older) is batch.head(younger)
        if same is True and not together:
            _bring_together(older, younger, batch)
        elif same is not True and together:
            _part(older, younger, batch)
        elif same is None and not batch.members(younger):
            _decide_again(younger, batch)


def _bring_together(older: Row, younger: Row, batch: Batch) -> None:
    for row, other in ((younger, older), (older, younger)):
        head = batch.head(other)
        if head.id not in batch.excluded_originals(row):
            join(row, head, batch)
            return


def _part(older: Row, younger: Row, batch: Batch) -> None:
    _decide_again(older if younger.is_original else younger, batch)


def _decide_again(row: Row, batch: Batch) -> None:
    leave(row, batch)
    batch.read_again_for([row])
    place(row, row.last_seen, batch)


def find_reviews(connection: Connection, url: str | None) -> Iterator[Review]:
    """Yield the reviews of a URL, or all of them, the last one first."""
    where: list[ColumnElement[bool]] = []
    if url is not None:
        key = url_key(safe_url(url))
        where = [or_(reviews.c.a_key == key, reviews.c.b_key == key)]
    query = select(reviews).where(*where)
    ordered = query.order_by(reviews.c.created.desc(), reviews.c.a_url, reviews.c.b_url)
    for row in connection.execute(ordered).mappings():
        if is_sound_review(row):
            yield _review(row)


def _review(row: RowMapping) -> Review:
    a, b = sorted((row["a_url"], row["b_url"]))  # their keys say nothing to people
    return Review(a, b, row["same"], row["note"], from_seconds(row["created"]))


def is_sound_review(row: RowMapping) -> bool:
    """Whether a review of a store, which may be damaged, can be read."""
    urls = (row[name] for name in row if name in ("a", "b", "a_url", "b_url"))
    texts = all(checks.URL[0](url) for url in urls) and checks.or_none(checks.STRING)[0](
        row["note"]
    )
    return texts and type(row["same"]) is bool and checks.TIME[0](row["created"])


def take_reviews(session: Session, records: Iterable[Record], rules: Rules) -> None:
    """Take in the reviews of another store; of two reviews of a pair the newer one holds.

    Args:
        session: the store.
        records: of the kind `review`.
        rules: how pages that leave their group are decided again.
    """
    given = [*records]

    def take(connection: Connection) -> None:
        fresh = merge_reviews(connection, given)
        batch = Batch.of(session, connection, rules)
        for row in fresh:
            a, b, same = row["a_url"], row["b_url"], row["same"]
            apply_review(batch, a, b, same)
        write_batch(batch)

    session.write(take, alone=True)


def merge_reviews(connection: Connection, batch: Iterable[Record]) -> list[dict[str, Any]]:
    """Store reviews; of two of the same pair the newer one stays.

    Returns:
        The rows that were not there, or in place of an older one.
    """
    newest: dict[tuple[bytes, bytes], dict[str, Any]] = {}
    for record in batch:
        fields = record.fields
        try:
            row = _review_row(
                fields["a"], fields["b"], fields["same"], fields.get("note"), fields["created"]
            )
        except StoreError as error:
            raise record.error(str(error)) from None
        pair = row["a_key"], row["b_key"]
        if pair not in newest or newest[pair]["created"] < row["created"]:
            newest[pair] = row
    query = select(reviews.c.a_key, reviews.c.b_key, reviews.c.created)
    for part in chunked({a_key for a_key, _ in newest}):
        for a_key, b_key, created in connection.execute(query.where(reviews.c.a_key.in_(part))):
            if (a_key, b_key) in newest and newest[a_key, b_key]["created"] <= created:
                del newest[a_key, b_key]
    _replace(connection, [*newest.values()])
    return [*newest.values()]


def _replace(connection: Connection, rows: Sequence[dict[str, Any]]) -> None:
    """Write reviews in the place of those of the same pairs, or only delete these."""
    if rows:
        first: BindParameter[bytes] = bindparam("first")
        second: BindParameter[bytes] = bindparam("second")
        older = delete(reviews).where(reviews.c.a_key == first, reviews.c.b_key == second)
        keys = [{"first": row["a_key"], "second": row["b_key"]} for row in rows]
        connection.execute(older, keys)
    if kept := [row for row in rows if row["same"] is not None]:
        connection.execute(insert(reviews), kept)


def _review_row(
    a: str, b: str, same: bool | None, note: str | None, created: int
) -> dict[str, Any]:
    """Row of a review.

    Raises:
        StoreError: the URLs are one and the same.
    """
    (a_key, a_url), (b_key, b_url) = sorted((url_key(url), url) for url in (a, b))
    if a_key == b_key:
        raise StoreError("a page is always the same as itself: name two URLs")
    row = {"a_key": a_key, "b_key": b_key, "a_url": a_url, "b_url": b_url}
    return {**row, "same": same, "note": note, "created": created}
