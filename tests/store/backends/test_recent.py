"""Tables of keys, of which a part is in memory: two crawlers in turn leave them in order."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings, strategies as st

import shingling.store.decide.check
from shingling import Page, Rules, Store, sign
from shingling.store.decide.decide import decide
from shingling.store.decide.write import write_batch
from shingling.store.schema.tables import LIVE
from tests.support.invariants import beginning, ending, entries_of, text, verify, words
from tests.support.stores import emptied, url_of

if TYPE_CHECKING:
    from pathlib import Path

    from shingling import Verdict

pytestmark = pytest.mark.usefixtures("few_recent")


class _RolledBackError(Exception):
    pass


BASE = words("base", 60)
TEXTS = [
    text(BASE),
    text(ending(BASE, 1, 3)),
    text(beginning(BASE, 2, 3)),
    text(ending(BASE, 3, 30)),
    *(text(words(seed, 40)) for seed in "abcd"),
]
SIGNATURES = {main_text: sign(main_text) for main_text in TEXTS}
pages = st.lists(
    st.builds(
        lambda url, main_text: Page(url, main_text, SIGNATURES[main_text]),
        st.sampled_from("abcdefgh"),
        st.sampled_from(TEXTS),
    ),
    min_size=1,
    max_size=5,
)
acts = st.one_of(
    st.tuples(st.just("check"), pages),
    st.tuples(st.just("check"), pages),
    st.tuples(st.just("fail"), pages),
    st.tuples(st.just("forget"), st.sets(st.sampled_from("abcdefgh"), min_size=1, max_size=3)),
    st.tuples(st.just("rebuild"), st.sampled_from([0.5, 0.8])),
    st.tuples(st.just("decide"), st.sampled_from([0.6, 0.8])),
)


def act(store: Store, kind: str, what: object) -> None:
    if kind == "check":
        store.check(what, 0.8)  # type: ignore[arg-type]
    elif kind == "forget":
        store.admin.forget(sorted(what))  # type: ignore[call-overload]
    elif kind == "rebuild":
        store.admin.rebuild(what)  # type: ignore[arg-type]
    elif kind == "decide":
        store.admin.redecide(Rules(threshold=what))  # type: ignore[arg-type]
    else:
        fail(store, what)  # type: ignore[arg-type]


def fail(store: Store, batch: list[Page]) -> None:
    """Check pages, and fail after some of them, or once all are written."""
    decided: list[Verdict] = []

    def failing(*arguments: object) -> Verdict:
        decided.append(decide(*arguments))  # type: ignore[arg-type]
        batch_of = arguments[2]
        if len(decided) == len(batch):
            write_batch(batch_of)  # type: ignore[arg-type]
            raise _RolledBackError
        return decided[-1]

    with pytest.MonkeyPatch.context() as patch, suppress(_RolledBackError):
        patch.setattr(shingling.store.decide.check, "decide", failing)
        store.check(batch, 0.8)


@settings(max_examples=12)
@given(st.lists(st.tuples(st.integers(0, 1), acts), max_size=14))
def test_two_crawlers_in_turn_leave_a_store_in_order_and_find_all_of_it(
    empty: Path, taken: list[tuple[int, tuple[str, object]]]
) -> None:
    with (
        emptied(empty) as path,
        Store.open(url_of(path)) as first,
        Store.open(url_of(path)) as second,
    ):
        for who, (kind, what) in taken:
            act((first, second)[who], kind, what)
            verify(path)
        expected = {key: set[int]() for key, _ in entries_of(path, "bands")}
        for key, page_id in entries_of(path, "bands"):
            expected[key].add(page_id)
        for store in (first, second):
            with store._session.reading() as connection:
                bands = store._session.database.postings(connection, LIVE.bands)
                found = bands.find(expected)
            assert {key: set(ids) for key, ids in found.items()} == expected
