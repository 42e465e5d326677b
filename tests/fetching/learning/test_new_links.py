"""Links that are new at each request."""

from __future__ import annotations

import itertools
import random
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, urlsplit

import pytest

from shingling.fetching.learning import UrlLearner
from tests.fetching.learning.simulated import Answer, crawl, page_of, text_of

if TYPE_CHECKING:
    from collections.abc import Iterator

HOST = "http://site.example"
RECOMMENDED = {"drop-parameter rec_by", "drop-parameter rec_id", "drop-parameter rec_seq"}


def _storefront(url: str, visits: Iterator[int]) -> Answer:
    """Products that recommend others, under new ids each time; stock and visitors change.

    `variant` has a price of its own for one product in eight.
    """
    parts = urlsplit(url)
    if parts.path == "/":
        return Answer("home", tuple(f"{HOST}/products/{one}" for one in range(80)))
    number, visit = int(parts.path.rpartition("/")[2]), next(visits)
    variant = int(dict(parse_qsl(parts.query)).get("variant", 0)) if number % 8 == 0 else 0
    new = random.Random(visit)
    lines = (
        f"Price {20 + 5 * variant}.90",
        *(text_of(f"{number} {part}", 30) for part in range(4)),
        f"Only {400 - visit // 20} left in stock",
        f"{new.randrange(2, 9000)} people are looking at this",
        f"Often bought: {text_of(str(visit), 4)}",
    )
    links = [
        f"{HOST}/products/{new.randrange(80)}?rec_id={new.getrandbits(40):x}&rec_by={number}&rec_seq=u"
        for _ in range(3)
    ]
    links += [f"{HOST}/products/{number}?variant={one}" for one in (1, 2)]
    return Answer(f"product {number} {variant}", tuple(links), "\n".join(lines))


@pytest.mark.parametrize("seed", range(2))
def test_recommended_links_that_are_new_at_each_request_end(seed: int) -> None:
    learner = UrlLearner(salt=bytes([seed]))
    visits = itertools.count()
    first = crawl(f"{HOST}/", lambda url: _storefront(url, visits), learner, limit=3000, seed=seed)
    wanted = {f"product {one} 0" for one in range(80)}
    wanted |= {f"product {one} {variant}" for one in range(0, 80, 8) for variant in (1, 2)}
    assert first.contents == {"home"} | wanted
    assert len(first.fetched) < 1000, "or it would have no end"
    assert learner.decide_request(f"{HOST}/products/1?rec_id=5&rec_by=7&rec_seq=u")
    assert learner.acting(f"{HOST}/products/1?variant=1") == set()
    again = UrlLearner(salt=bytes([seed]))
    again.load_rules("site.example", learner.take_changes())
    second = crawl(f"{HOST}/", lambda url: _storefront(url, visits), again, limit=3000, seed=seed)
    assert second.contents == first.contents
    assert len(second.fetched) < 0.8 * len(first.fetched)


@pytest.mark.parametrize("is_known", [True, False])
def test_new_links_are_no_objection_if_without_the_parameters_they_are_known(
    is_known: bool,
) -> None:
    learner = UrlLearner()
    for page in range(2, 8) if is_known else ():
        links = tuple(f"{HOST}/products/{one}" for one in range(20 * page, 20 * page + 20))
        learner.note_page(page_of(f"{HOST}/?page={page}", text_of(f"list {page}"), links))
    for number in range(40):
        for query, first in (("", 40), ("?rec_id=5&rec_by=7&rec_seq=u", 100)):
            new = [first + number + one for one in range(5)]
            links = tuple(
                f"{HOST}/products/{one}?rec_id={number}&rec_by=0&rec_seq=u" for one in new
            )
            url = f"{HOST}/products/{number}{query}"
            learner.note_page(page_of(url, text_of(f"product {number}"), links))
    acting = learner.acting(f"{HOST}/products/5?rec_id=5&rec_by=5&rec_seq=u")
    assert acting == (RECOMMENDED if is_known else set())


def test_parameters_that_always_come_together_are_learned_one_by_one() -> None:
    """All pages are found by either set: no URL has none of them."""
    learner = UrlLearner(explore_share=0)
    sets = ["&".join(f"{kind}{one}={one}" for one in range(5)) for kind in ("rec", "found")]
    for number, query in itertools.product(range(60), sets):
        url = f"{HOST}/products/{number}?{query}"
        learner.note_page(page_of(url, text_of(f"product {number}")))
    skip = learner.decide_request(f"{HOST}/products/5?{sets[0].replace('=', '=9')}")
    assert skip
    assert skip.rules == tuple(f"drop-parameter rec{one}" for one in range(5))


def test_an_id_that_always_comes_with_a_session_is_never_dropped_with_it() -> None:
    new = random.Random(1)

    def answer(url: str) -> Answer:
        number = int(dict(parse_qsl(urlsplit(url).query))["id"])
        linked = [(number + step) % 120 for step in (1, 5, 11)]
        links = [f"{HOST}/show?id={one}&sid={new.getrandbits(64):x}" for one in linked]
        return Answer(f"topic {number}", tuple(links))

    learner = UrlLearner()
    done = crawl(f"{HOST}/show?id=0&sid=1", answer, learner, limit=2000)
    assert done.contents == {f"topic {number}" for number in range(120)}
    assert learner.acting(f"{HOST}/show?id=5&sid=5") == {"drop-parameter sid"}


def test_of_two_parameters_that_are_only_seen_beside_each_other_none_is_trusted() -> None:
    """`variant` matters for one product in eight; nobody sees that it was not `rec`."""
    learner = UrlLearner()
    for number in range(200):
        price = 5 if number % 8 == 0 else 0
        for query, shown in (("rec=1", 0), ("variant=1", price)):
            url = f"{HOST}/products/{number}?{query}"
            learner.note_page(page_of(url, text_of(f"product {number} {shown}")))
    assert learner.acting(f"{HOST}/products/8?variant=1") == set()
