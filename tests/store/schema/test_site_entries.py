"""shingling/store/schema/site_entries.py: what is held of a site is what was added to it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import given, strategies as st
from sqlalchemy import create_engine

from shingling.store.schema.site_entries import TEMPLATE, KnownSite, pack_entries
from shingling.store.schema.statements import select_in

if TYPE_CHECKING:
    from sqlalchemy import Connection

_LAST = (1 << 64) - 1
_BLOCKS = st.sampled_from([0, 1, 2, 1 << 63, _LAST - 1, _LAST]) | st.integers(0, 400)
_LEARNED = st.dictionaries(_BLOCKS, st.sampled_from([TEMPLATE, 7, (1 << 32) - 1]), max_size=200)


@given(st.lists(_LEARNED, max_size=2), st.lists(_LEARNED, max_size=4))
def test_titles_are_those_that_were_stored_or_added_last(
    stored: list[dict[int, int]], learned: list[dict[int, int]]
) -> None:
    rows = [(number, pack_entries(own)) for number, own in enumerate(stored, 1)]
    known = KnownSite(rows)
    expected: dict[int, int] = {}
    for own in stored:
        for block, title in own.items():
            expected[block] = title if expected.get(block, title) == title else TEMPLATE
    for own in learned:
        known.add(own)
        expected.update(own)

    asked = [0, 1, 2, 3, 5, 399, 400, 1 << 62, 1 << 63, _LAST - 1, _LAST, *expected]
    assert known.titles(asked) == [expected.get(block) for block in asked]
    assert known.titles([]) == []


def test_a_site_has_another_stamp_after_every_change_of_its_rows() -> None:
    row = pack_entries({1: 2})
    states = [[], [1], [1, 2], [3], [1, 3], [2, 3]]
    stamps = {KnownSite([(number, row) for number in numbers]).stamp for numbers in states}
    assert len(stamps) == len(states)


def test_many_values_are_asked_for_in_several_statements() -> None:
    def ask(connection: Connection, count: int) -> list[int]:
        values = [f"v{number}" for number in range(count)]
        query = 'SELECT value FROM json_each(\'["v0", "v7", "v1234"]\') WHERE value {}'
        return sorted(int(value[1:]) for (value,) in select_in(connection, query, values))

    with create_engine("sqlite://").connect() as connection:
        assert ask(connection, 0) == []
        assert ask(connection, 1) == [0]
        assert ask(connection, 9) == [0, 7]
        assert ask(connection, 1235) == [0, 7, 1234]
