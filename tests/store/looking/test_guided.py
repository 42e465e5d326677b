"""Pairs of a guided sample, by the ids of their pages."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shingling.store.admin.looking.candidates import pair_estimates, reviewed_pairs
from shingling.store.admin.looking.guided import GuidedPair, guided_pairs
from shingling.store.session import Session
from tests.store.looking.test_candidates import family
from tests.support.stores import url_of

if TYPE_CHECKING:
    from pathlib import Path

    from shingling import Store


def test_pairs_are_found_by_ids_with_whether_they_are_reviewed(file: Path, store: Store) -> None:
    store.check([*family("a", 4, 30), *family("b", 12), *family("c", 20)])
    ids = {page.url: page.id for page in store.pages()}
    first, second, third = (f"http://a.example/{number}" for number in range(3))
    other, copy = ("http://b.example/0", "http://b.example/1")
    store.admin.review(second, first, same=True)
    store.admin.review(third, other, same=False)
    gone = ids["http://c.example/0"]
    store.admin.forget(["http://c.example/0"])
    asked = [(ids[first], ids[second]), (ids[other], ids[copy]), (ids[third], ids[other])]
    with Session.open(url_of(file), create=False) as session, session.reading() as connection:
        assert guided_pairs(connection, [*asked, (gone, ids[copy]), (1, 2**63 - 1)]) == [
            GuidedPair(first, second, reviewed=True),
            GuidedPair(other, copy, reviewed=False),
            GuidedPair(third, other, reviewed=True),
        ]
        assert guided_pairs(connection, []) == []
        answers = reviewed_pairs(connection)
        assert answers == {asked[0]: True, asked[2]: False}
        found = pair_estimates(session, connection, [*answers, (gone, ids[copy])])
        assert found.keys() == answers.keys()
        assert found[asked[0]] > 0.9
        assert found[asked[2]] < 0.1
