"""Reviews: a person says that two pages are the same or different, whatever is measured."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, NamedTuple

from sqlalchemy import insert, or_, select, text

from shingling.errors import StoreError
from shingling.store.decide.batch import Batch
from shingling.store.decide.meet import join, regroup
from shingling.store.decide.write import write_batch
from shingling.store.model import Review, from_seconds
from shingling.store.schema.rows import url_key
from shingling.store.schema.tables import chunked, reviews
from shingling.store.urls import safe_url
from shingling.text import clean

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from sqlalchemy import Connection, RowMapping

    from shingling.admin.records import Record
    from shingling.rules.rules import Rules
    from shingling.store.session import Session


_DELETE = text("DELETE FROM reviews WHERE a_key = :a_key AND b_key = :b_key")
# Of two reviews of a pair the newer one holds.
_PUT_NEWER = text(
    "INSERT INTO reviews (a_key, b_key, a_url, b_url, same, note, created)"
    " VALUES (:a_key, :b_key, :a_url, :b_url, :same, :note, :created)"
    " ON CONFLICT (a_key, b_key) DO UPDATE SET a_url = excluded.a_url, b_url = excluded.b_url,"
    " same = excluded.same, note = excluded.note, created = excluded.created"
    " WHERE reviews.created < excluded.created"
)


class ReviewAnswer(NamedTuple):
    """Review of two URLs that is to be written; None deletes one."""

    a: str
    b: str
    same: bool | None
    note: str | None = None


class Reviewed(NamedTuple):
    """What became of some answers.

    Args:
        before, after: review of each pair.
    """

    before: list[Review | None]
    after: list[Review | None]


def review_pairs(
    session: Session,
    answers: Sequence[ReviewAnswer],
    rules: Rules,
    require: Callable[[list[Review | None]], None] = lambda _: None,
) -> Reviewed:
    """Write reviews of pairs of URLs, and have the groups follow: all of them, or none.

    Args:
        session: the store.
        answers: of different pairs.
        rules: how pages that leave their group are decided again.
        require: is given the reviews of the pairs until now, and raises an error if nothing is
            to be written.

    Raises:
        StoreError: the URLs of a pair are one and the same.
    """
    cleaned = [
        ReviewAnswer(safe_url(a), safe_url(b), same, None if note is None else clean(note))
        for a, b, same, note in answers
    ]
    pairs = [(answer.a, answer.b) for answer in cleaned]

    def write(connection: Connection) -> Reviewed:
        before = reviews_of(connection, pairs)
        require(before)
        rows = [_review_row(answer, int(time.time())) for answer in cleaned]
        if rows:
            connection.execute(_DELETE, rows)
        if kept := [row for row in rows if row["same"] is not None]:
            connection.execute(insert(reviews), kept)
        batch = Batch(session, connection, rules)
        for answer, review in zip(cleaned, before, strict=True):
            if review is not None or answer.same is not None:
                apply_review(batch, answer.a, answer.b, answer.same)
        write_batch(batch)
        return Reviewed(before, reviews_of(connection, pairs))

    return session.write(write, alone=True)


def reviews_of(connection: Connection, pairs: Iterable[tuple[str, str]]) -> list[Review | None]:
    """Review of each pair of URLs."""
    keys = [tuple(sorted(map(url_key, pair))) for pair in pairs]
    known: dict[tuple[bytes, ...], Review] = {}
    for part in chunked({key[0] for key in keys}):
        query = select(reviews).where(reviews.c.a_key.in_(part))
        for row in connection.execute(query).mappings():
            known[row["a_key"], row["b_key"]] = _review(row)
    return [known.get(key) for key in keys]


def apply_review(batch: Batch, a: str, b: str, same: bool | None) -> None:
    """Have the groups of two stored pages follow their new review, in every scope.

    If they are the same, the younger one joins the older one's group, or the other way round
    if a review excludes that. If they are different, the younger one leaves a group that they
    share and is decided again. So it is if a review is deleted, unless the younger one leads a
    group of its own. A page of a preferred site counts as the older one.
    """
    others = {row.scope: row for row in batch.pages.with_url(url_key(b))}
    for first in batch.pages.with_url(url_key(a)):
        second = others.get(first.scope)
        if second is None:
            continue
        older, younger = sorted(
            (first, second), key=lambda row: (batch.rules.rank(row.site), row.id)
        )
        together = batch.pages.original(older) is batch.pages.original(younger)
        if same is True and not together:
            for row, other in ((younger, older), (older, younger)):
                original = batch.pages.original(other)
                different = batch.reviews.pages(row, same=False)
                if original not in map(batch.pages.original, different):
                    join(row, original, batch)
                    break
        elif same is not True and together:
            regroup([older if younger.is_original else younger], batch)
        elif same is None and not batch.pages.members(younger):
            regroup([younger], batch)


def find_reviews(connection: Connection, url: str | None) -> Iterator[Review]:
    """Yield the reviews of a URL, or all of them, the last one first."""
    query = select(reviews)
    if url is not None:
        key = url_key(safe_url(url))
        query = query.where(or_(reviews.c.a_key == key, reviews.c.b_key == key))
    ordered = query.order_by(reviews.c.created.desc(), reviews.c.a_url, reviews.c.b_url)
    yield from map(_review, connection.execute(ordered).mappings())


def _review(row: RowMapping) -> Review:
    a, b = sorted((row["a_url"], row["b_url"]))  # their keys say nothing to people
    return Review(a, b, row["same"], row["note"], from_seconds(row["created"]))


def take_reviews(session: Session, records: Sequence[Record], rules: Rules) -> None:
    """Take in the reviews of another store; of two reviews of a pair the newer one holds.

    Args:
        session: the store.
        records: of the kind `review`.
        rules: how pages that leave their group are decided again.
    """

    def take(connection: Connection) -> None:
        rows = merge_reviews(connection, records)
        batch = Batch(session, connection, rules)
        for row in rows:
            apply_review(batch, row["a_url"], row["b_url"], row["same"])
        write_batch(batch)

    session.write(take, alone=True)


def merge_reviews(connection: Connection, records: Iterable[Record]) -> list[dict[str, Any]]:
    """Store reviews; of two of the same pair the newer one stays.

    Returns:
        The rows that were not there, or that replaced an older one.
    """
    stored = []
    for record in records:
        fields = record.fields
        try:
            answer = ReviewAnswer(fields["a"], fields["b"], fields["same"], fields.get("note"))
            row = _review_row(answer, fields["created"])
        except StoreError as error:
            raise record.error(str(error)) from None
        if connection.execute(_PUT_NEWER, row).rowcount:
            stored.append(row)
    return stored


def _review_row(answer: ReviewAnswer, created: int) -> dict[str, Any]:
    """Row of a review.

    Raises:
        StoreError: the URLs are one and the same.
    """
    (a_key, a_url), (b_key, b_url) = sorted((url_key(url), url) for url in answer[:2])
    if a_key == b_key:
        raise StoreError("a page is always the same as itself: name two URLs")
    row = {"a_key": a_key, "b_key": b_key, "a_url": a_url, "b_url": b_url}
    return {**row, "same": answer.same, "note": answer.note, "created": created}
