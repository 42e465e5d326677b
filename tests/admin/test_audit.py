"""The duplicates that most speaks against, and what looking at some of them says of all."""

from __future__ import annotations

from math import comb, log
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings, strategies as st

from shingling import Page, Store
from shingling.admin.audit import MAX_DROPS, riskiest_drops
from shingling.proportions import most_wrong, number_needed
from shingling.rules.values import own_fields
from shingling.store.session import Session
from tests.support.pages import article

if TYPE_CHECKING:
    from pathlib import Path

TITLE = "A machine with memory"
BASE = f"{article(7, 300)}\nThe machine has 285 MB of memory and costs 40 euros."
SIGNS = {
    "worst": {"another title", "other numbers or units", "another site with other data"},
    "far": {"near the threshold"},
    "twin": {"decided by a twin of the original"},
    "numbers": {"other numbers or units"},
    "units": {"other numbers or units"},
    "titled": {"another title"},
    "data": {"another site with other data"},
    "plain": set(),
    "section": set(),
    "same": set(),
}


def fill_with_risks(url: str) -> None:
    """Store a page of a machine, and duplicates of it with signs of a mistake, or without."""

    def page(site: str, text: str, title: str = TITLE, maker: str = "Anna") -> Page:
        address = f"https://{site}.example/machine"
        said = own_fields([("maker", maker)], [address], is_document=True)
        return Page(address, text=text, title=title, fields=said)

    def edited(number: int, text: str = BASE) -> str:
        return " ".join([*article(number, number).split(), *text.split()[number:]])

    far = edited(80)
    pages = [
        page("original", BASE),
        page("plain", edited(3)),
        page("section", edited(4), f"{TITLE} | The shop"),
        page("numbers", BASE.replace("285", "350")),
        page("units", BASE.replace("285 MB", "285 GB")),
        page("titled", edited(2), "Memory of a new machine"),
        page("data", edited(5), maker="Bruno"),
        page("far", far),
        page("worst", edited(6).replace("285", "350"), "Memory of a machine", "Carla"),
        page("same", BASE),
        page("twin", far),
    ]
    with Store.open(url) as store:
        store.check(pages)


def site_of(url: str) -> str:
    return url.removeprefix("https://").partition(".")[0]


def test_the_riskiest_duplicates_come_first_each_with_what_speaks_against_it(
    tmp_path: Path,
) -> None:
    url = f"sqlite:///{tmp_path / 'dedup.db'}"
    fill_with_risks(url)
    steps: list[tuple[int, int]] = []
    with Session.open(url, create=False) as session:
        number, drops = riskiest_drops(session, lambda *step: steps.append(step))
        assert (number, steps) == (10, [(0, 10), (10, 10)])
        assert {site_of(drop.url): {*drop.signs} for drop in drops} == SIGNS
        stored = {page.url: page for page in Store(session).pages()}
        for drop in drops:
            page = stored[drop.url]
            assert (drop.other, drop.title) == (page.original, page.title)
            assert drop.resemblance == pytest.approx(page.resemblance, abs=1e-4)
        ranks = [(-len(drop.signs), drop.resemblance) for drop in drops]
        assert ranks == sorted(ranks)
        assert site_of(drops[0].url) == "worst"

        # What a person has said is no longer asked.
        Store(session).admin.review(drops[0].other, drops[0].url, same=False)
        Store(session).admin.review(drops[1].other, drops[1].url, same=True)
        left = riskiest_drops(session, lambda *_: None)
        assert drops[0].url not in {drop.url for drop in left.riskiest}
    assert number_needed(2, 0.01) <= MAX_DROPS


@pytest.mark.parametrize(
    ("text", "names"),
    [
        (BASE, ("Northern Post", "Mail")),
        (f"{TITLE}\n{BASE}", ("The Middletown Morning Telegraph", "Evening Herald")),
    ],
)
def test_names_of_two_sites_behind_one_headline_are_no_sign(
    tmp_path: Path, text: str, names: tuple[str, str]
) -> None:
    url = f"sqlite:///{tmp_path / 'dedup.db'}"
    with Store.open(url) as store:
        for site, name in zip("ab", names, strict=True):
            store.check(Page(f"https://{site}.example/", text, title=f"{TITLE} | {name}"))
    with Session.open(url, create=False) as session:
        _, [drop] = riskiest_drops(session, lambda *_: None)
    assert (site_of(drop.url), drop.signs) == ("b", ())


@pytest.mark.parametrize(
    ("wrong", "number", "most"),
    # 1 - 0.05^(1/n); and by tables of exact one-sided limits (Hahn and Meeker 1991, table A.23).
    [(0, 20, 0.1391), (0, 299, 0.00997), (0, 1, 0.95), (1, 10, 0.3942), (20, 20, 1.0)],
)
def test_the_most_that_can_be_wrong_is_the_exact_bound_on_one_side(
    wrong: int, number: int, most: float
) -> None:
    assert most_wrong(wrong, number) == pytest.approx(most, abs=1e-4)


@settings(max_examples=50)
@given(st.integers(1, 200).flatmap(lambda n: st.tuples(st.integers(0, n - 1), st.just(n))))
def test_with_more_wrong_than_the_bound_so_few_would_be_rare(found: tuple[int, int]) -> None:
    wrong, number = found
    p = most_wrong(wrong, number)
    few = sum(comb(number, k) * p**k * (1 - p) ** (number - k) for k in range(wrong + 1))
    assert few == pytest.approx(0.05, abs=1e-6)


def test_the_number_that_is_needed_is_the_smallest_one() -> None:
    assert number_needed(0, 0.01) == -(-log(0.05) // log(0.99)) == 299
    for wrong in (1, 2, 5):
        number = number_needed(wrong, 0.01)
        assert most_wrong(wrong, number) <= 0.01 < most_wrong(wrong, number - 1)
