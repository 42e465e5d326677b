"""What each batch asks the database; building it anew costs as much as running it."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from sqlalchemy import bindparam, exists, or_, select

from shingling.store.schema.rows import COLUMNS
from shingling.store.schema.statements import among
from shingling.store.schema.tables import reviews

if TYPE_CHECKING:
    from shingling.store.schema.tables import Tables

REVIEWS = select(reviews.c.a_key, reviews.c.b_key, reviews.c.same).where(
    or_(among(reviews.c.a_key), among(reviews.c.b_key))
)
ANY_REVIEW = select(exists(select(reviews.c.a_key)))


class Queries:
    """What each batch asks; building it anew costs as much as running it."""

    def __init__(self, tables: Tables) -> None:
        pages = tables.pages
        columns = ", ".join(f'"{name}"' for name in COLUMNS)
        self.by_id = f"SELECT {columns} FROM {pages} WHERE id {{}}"  # noqa: S608 (our names)
        self.by_url = f"SELECT {columns} FROM {pages} WHERE url_key {{}}"  # noqa: S608
        self.members = select(pages).where(pages.c.original_id == bindparam("original"))
        self.newest = self.members.order_by(pages.c.id.desc()).limit(bindparam("limit"))


queries_of = cache(Queries)
