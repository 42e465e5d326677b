"""Statements about many values at once use the index of their column."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from sqlalchemy import event, or_, select

from shingling import Store
from shingling.store.schema.statements import among
from shingling.store.schema.tables import pages, reviews, texts
from shingling.store.session import Session

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any

    from sqlalchemy import Select


@pytest.mark.parametrize(
    ("statement", "value"),
    [
        (select(pages.c.url).where(among(pages.c.id)), 7),
        (select(texts.c.zlib).where(among(texts.c.page_id)), 7),
        (select(texts.c.zlib).where(among(texts.c.body_key)), b"key"),
        (select(reviews.c.note).where(or_(among(reviews.c.a_key), among(reviews.c.b_key))), b"key"),
        (select(pages.c.url).where(among(pages.c.id), pages.c.site == "a.example"), 7),
    ],
    ids=["pages", "texts", "bodies", "either", "both"],
)
def test_many_values_are_looked_up_by_an_index(
    tmp_path: Path, statement: Select[Any], value: object
) -> None:
    url = f"sqlite:///{tmp_path / 'dedup.db'}"
    Store.open(url).close()
    plans: list[str] = []

    def explain(_: Any, cursor: Any, sql: str, parameters: Any, *__: Any) -> None:
        cursor.execute(f"EXPLAIN QUERY PLAN {sql}", parameters)
        plans.extend(row[3] for row in cursor.fetchall())

    with Session.open(url) as session, session.reading() as connection:
        event.listen(connection, "before_cursor_execute", explain)
        assert connection.execute(statement, {"values": [value, value]}).all() == []
    assert plans
    assert not [plan for plan in plans if plan.startswith("SCAN")]
