"""shingling/store/schema/site_entries.py: what is held of a site is what was added to it."""

from __future__ import annotations

from hypothesis import given, strategies as st

from shingling.store.schema.site_entries import TEMPLATE, KnownSite, pack_entries

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
