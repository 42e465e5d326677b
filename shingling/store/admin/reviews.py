"""Reviews: a person says that two pages are the same or different, whatever is measured."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from sqlalchemy import and_, delete, insert, or_, select

from shingling.errors import StoreError
from shingling.store.decide.decide import place
from shingling.store.decide.groups import join, leave
from shingling.store.model import Review, from_seconds
from shingling.store.schema import checks
from shingling.store.schema.rows import url_key
from shingling.store.schema.tables import reviews
from shingling.store.urls import safe_url
from shingling.text import clean

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlalchemy import ColumnElement, Connection, RowMapping

    from shingling.store.decide.batch import Batch
    from shingling.store.schema.rows import Row


def write_review(
    connection: Connection, a: str, b: str, same: bool | None, note: str | None
) -> bool:
    """Write the review of two URLs, in place of an earlier one; None deletes it.

    Returns:
        Whether there was an earlier one.

    Raises:
        StoreError: the URLs are one and the same.
    """
    (first_key, first), (second_key, second) = sorted((url_key(url), url) for url in (a, b))
    if first_key == second_key:
        raise StoreError("a page is always the same as itself: name two URLs")
    pair = and_(reviews.c.a_key == first_key, reviews.c.b_key == second_key)
    before = connection.execute(delete(reviews).where(pair)).rowcount
    if same is not None:
        connection.execute(
            insert(reviews).values(
                a_key=first_key,
                b_key=second_key,
                a_url=first,
                b_url=second,
                same=same,
                note=None if note is None else clean(note),
                created=int(time.time()),
            )
        )
    return bool(before)


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
            yield Review(
                row["a_url"], row["b_url"], row["same"], row["note"], from_seconds(row["created"])
            )


def is_sound_review(row: RowMapping) -> bool:
    """Whether a review of a store, which may be damaged, can be read."""
    urls = (row[name] for name in row if name in ("a", "b", "a_url", "b_url"))
    texts = all(checks.URL[0](url) for url in urls) and checks.or_none(checks.STRING)[0](
        row["note"]
    )
    return texts and type(row["same"]) is bool and checks.TIME[0](row["created"])
