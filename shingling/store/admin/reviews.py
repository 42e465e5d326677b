"""Reviews: a person says that two pages are the same or different, which overrides measures."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from sqlalchemy import and_, delete, insert, or_, select

from shingling.errors import StoreError
from shingling.store.decide.verdict import join, leave, place
from shingling.store.model import Review, from_seconds
from shingling.store.schema.rows import url_key
from shingling.store.schema.tables import reviews
from shingling.store.urls import safe_url
from shingling.text import clean

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlalchemy import ColumnElement, Connection

    from shingling.sketch import Scheme
    from shingling.store.decide.batch import WorkingSet
    from shingling.store.rules import Rules
    from shingling.store.schema.rows import Row


def write_review(
    connection: Connection, a: str, b: str, same: bool | None, note: str | None
) -> bool:
    """Store a review of two URLs in place of an earlier one; None only removes that.

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


def apply_review(
    working: WorkingSet, a: str, b: str, same: bool | None, rules: Rules, scheme: Scheme
) -> None:
    """Change the groups of two stored pages as their review says, in every scope.

    If they are the same, the younger page joins the group of the older one, or the older one that
    of the younger where a review forbids the former. If they are different, the younger page
    leaves a group that they share and is decided again. When a review is removed, the younger page
    is decided again as well, unless it has duplicates.
    """
    others = {row.scope: row for row in working.load_url(b)}
    for first in working.load_url(a):
        second = others.get(first.scope)
        if second is None:
            continue
        older, younger = sorted((first, second), key=lambda row: row.id)
        together = working.head(older) is working.head(younger)
        if same is True and not together:
            _bring_together(older, younger, rules, working)
        elif same is not True and together:
            _part(older, younger, rules, scheme, working)
        elif same is None and not working.members(younger):
            _decide_again(younger, rules, scheme, working)


def _bring_together(older: Row, younger: Row, rules: Rules, working: WorkingSet) -> None:
    for row, other in ((younger, older), (older, younger)):
        head = working.head(other)
        if head.id not in working.barred(row):
            join(row, head, rules, working)
            return


def _part(older: Row, younger: Row, rules: Rules, scheme: Scheme, working: WorkingSet) -> None:
    _decide_again(older if younger.is_original else younger, rules, scheme, working)


def _decide_again(row: Row, rules: Rules, scheme: Scheme, working: WorkingSet) -> None:
    leave(row, rules, working)
    working.meet([row], rules)
    place(row, row.last_seen, rules, scheme, working)


def find_reviews(connection: Connection, url: str | None) -> Iterator[Review]:
    """Yield the reviews of a URL, or all of them, newest first."""
    where: list[ColumnElement[bool]] = []
    if url is not None:
        key = url_key(safe_url(url))
        where = [or_(reviews.c.a_key == key, reviews.c.b_key == key)]
    query = select(reviews).where(*where)
    ordered = query.order_by(reviews.c.created.desc(), reviews.c.a_url, reviews.c.b_url)
    for row in connection.execute(ordered).mappings():
        yield Review(
            row["a_url"], row["b_url"], row["same"], row["note"], from_seconds(row["created"])
        )
