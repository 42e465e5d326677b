"""Lists of groups from memory are those that the stored pages give, whatever is asked."""

from __future__ import annotations

from collections import defaultdict
from itertools import product
from typing import TYPE_CHECKING, Any

import pytest

from benchmarks.web.stores import fill
from shingling import Store
from shingling.errors import StoreError, StoreVersionError
from shingling.store.admin.looking import kept_pairs
from shingling.store.admin.looking.groups import ORDERS, GroupFilter, groups, members
from shingling.store.admin.looking.kept_pairs import KeptPairs
from shingling.store.admin.reviews import Answer, review_pairs
from shingling.store.session import Session
from tests.support.processes import so_within
from tests.support.stores import execute, url_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from shingling import StoredPage
    from shingling.store.admin.looking.groups import GroupList, GroupRow

    Fulfils = Callable[[StoredPage, StoredPage, bool], bool]

FILTERS: list[tuple[GroupFilter, Fulfils]] = [
    (GroupFilter(), lambda *_: True),
    (GroupFilter(status="exact"), lambda _, page, __: page.status == "exact"),
    (GroupFilter(site="site1.example"), lambda head, *_: head.site == "site1.example"),
    (
        GroupFilter(low=0.6, high=0.9, reviewed=False),
        lambda _, page, reviewed: 0.6 <= (page.resemblance or 0) <= 0.9 and not reviewed,
    ),
    (GroupFilter(run=3, reviewed=True), lambda _, page, reviewed: page.run == 3 and reviewed),
    (
        GroupFilter(since=1_750_400_000, until=1_750_900_000),
        lambda _, page, __: 1_750_400_000 <= page.last_seen.timestamp() < 1_750_900_000,
    ),
    (
        GroupFilter(words="HARBOUR bridge"),
        lambda head, page, _: all(
            word in f"{head.title} {head.url} {page.title} {page.url}".lower()
            for word in ("harbour", "bridge")
        ),
    ),
]


def expected(store: Store, fulfils: Fulfils, order: str) -> list[tuple[int, int, int]]:
    stored = {page.url: page for page in store.pages()}
    pairs = {frozenset((one.a, one.b)) for one in store.admin.reviews()}
    found = defaultdict(list)
    for page in stored.values():
        if page.original is not None:
            head = stored[page.original]
            if fulfils(head, page, frozenset((page.url, head.url)) in pairs):
                found[head.id].append(page)
    ranks: dict[str, Callable[[list[StoredPage]], Any]] = {
        "size": lambda pages: -len(pages),
        "resemblance": lambda pages: min(page.resemblance or 0 for page in pages),
        "date": lambda pages: -max(page.last_seen for page in pages).timestamp(),
    }
    rows = [(ranks[order](pages), head, pages) for head, pages in found.items()]
    return [
        (head, len(pages), millionths(min(page.resemblance or 0 for page in pages)))
        for _, head, pages in sorted(rows, key=lambda row: row[:2])
    ]


def millionths(share: float) -> int:
    return round(share * 1_000_000)


def listed(session: Session, kept: KeptPairs, chosen: GroupFilter) -> list[GroupRow]:
    """All pages of a list, as links lead through them."""
    found: list[GroupRow] = []
    after: str | None = None
    while True:
        page: GroupList = groups(session, kept, chosen, after, 97)
        found += page.groups
        after = page.next
        if after is None:
            assert (page.total, page.pairs) == (len(found), sum(one.duplicates for one in found))
            return found


def test_lists_from_memory_are_those_of_the_store_and_follow_it(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept_pairs, "MAX_SECONDS_WAITED_FOR", 60)
    url = url_of(file)
    fill(url, 2000)
    kept = KeptPairs(lambda: Session.open(url, create=False))
    with Session.open(url, create=False) as session:
        store = Store(session)
        for (chosen, fulfils), order in product(FILTERS, ORDERS):
            ordered = GroupFilter(**{**vars(chosen), "order": order})
            if chosen.words:

                def is_searched(chosen: GroupFilter = ordered) -> bool:
                    return not groups(session, kept, chosen).not_looked_at

                assert so_within(20, is_searched)
            rows = [
                (one.original.id, one.duplicates, millionths(one.lowest))
                for one in listed(session, kept, ordered)
            ]
            assert expected(store, fulfils, order) == rows
            assert rows

        # What somebody answers here is there at once, even where the store is not read again.
        monkeypatch.setattr(kept, "begin", lambda: pytest.fail("it is read again"))
        monkeypatch.setattr(kept_pairs, "_PAUSE_PER_SECOND_OF_READING", 1e9)
        monkeypatch.setattr(kept_pairs, "MAX_SECONDS_WAITED_FOR", 0)
        largest = groups(session, kept, GroupFilter(), None, 1).groups[0].original
        with session.reading() as connection:
            some = members(connection, largest.id, GroupFilter(reviewed=False), 0, 30)
        answers = [Answer(largest.url, one.page.url, bool(at % 2)) for at, one in enumerate(some)]
        done = review_pairs(session, answers, session.fitting_rules)
        kept.changed(session, done.originals.keys())
        rows = [
            (one.original.id, one.duplicates, millionths(one.lowest))
            for one in listed(session, kept, GroupFilter())
        ]
        assert expected(store, lambda *_: True, "size") == rows
        reviewed = GroupFilter(reviewed=True)
        assert sum(one.duplicates for one in listed(session, kept, reviewed)) == sum(
            size for _, size, _ in expected(store, lambda *given: given[2], "size")
        )
        assert groups(session, kept, GroupFilter()).read_at is not None
    kept.close()


def test_a_store_opened_read_only_refuses_writes_itself(file: Path) -> None:
    url = url_of(file)
    with Store.open(url):
        pass
    with Session.open(url, create=False, read_only=True) as session:
        store = Store(session)
        assert store.status().pages == 0
        for write in (
            lambda: store.admin.review("https://a.example/", "https://b.example/", same=True),
            lambda: session.database.write(lambda one: one.exec_driver_sql("DELETE FROM pages")),
        ):
            with pytest.raises(StoreError, match=r"read.?only"):
                write()
    execute(file, "UPDATE alembic_version SET version_num = '0001'")
    with pytest.raises(StoreVersionError, match="older release, and cannot be brought up to date"):
        Session.open(url, create=False, read_only=True)
