"""The model: what evidence says of a change."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, strategies as st

from shingling.fetching.learning.changes import read_change
from shingling.fetching.learning.evidence import (
    MAX_NODES,
    Tree,
    chain_of,
    loss,
)

_CONTENTS = itertools.count()
_CHAINS = st.lists(st.sampled_from("abcd"), max_size=4).map(chain_of)


def _tree(text: str) -> Tree:
    change = read_change(text)
    assert change is not None
    return Tree(change)


def _agree(tree: Tree, chain: tuple[str, ...], pages: int = 1) -> None:
    for _ in range(pages):
        assert tree.agree(chain, next(_CONTENTS))


def _contradict(tree: Tree, chain: tuple[str, ...], pages: int = 1) -> None:
    for _ in range(pages):
        assert tree.contradict(chain, next(_CONTENTS))


@pytest.mark.parametrize(
    ("change", "pages"),
    [
        ("drop-parameter sid", 4),
        ("drop-slash", 8),
        ("drop-segment amp", 13),
        ("drop-slug", 13),
        ("drop-parameter x", 17),
        ("drop-parameter id", 34),
        ("exchange-segment b a", 48),
    ],
)
def test_so_many_pages_of_a_path_are_needed(change: str, pages: int) -> None:
    tree = _tree(change)
    _agree(tree, chain_of(["a"]), pages - 1)
    assert tree.risk(chain_of(["a"])) > 0.01
    _agree(tree, chain_of(["a"]))
    assert tree.risk(chain_of(["a"])) <= 0.01


def test_a_page_counts_once_but_where_a_path_has_one_page() -> None:
    tree = _tree("drop-parameter x")
    assert tree.agree(("/",), 5)
    assert not tree.agree(("/",), 5)
    assert tree.agree(("/",), 5, by_urls=True)
    assert tree.root.agreed == 1.5
    assert tree.contradict(("/",), 5)
    assert not tree.contradict(("/",), 5)


def test_a_contradiction_stops_its_path_and_not_the_others() -> None:
    tree = _tree("drop-parameter x")
    for path in "ab":
        _agree(tree, chain_of([path]), 20)
    _contradict(tree, chain_of(["b"]))
    assert tree.risk(chain_of(["a"])) <= 0.01
    assert tree.risk(chain_of(["b"])) > 0.01
    assert tree.risk(chain_of(["c"])) > 0.01


def test_where_several_changes_may_have_lost_a_page_each_needs_more_pages() -> None:
    tree = _tree("drop-parameter x")
    _agree(tree, ("/",), 20)
    assert tree.contradict(("/",), 5, share=0.25)
    assert not tree.contradict(("/",), 5, share=0.25)
    assert (tree.root.agreed, tree.root.contradicted) == (15.0, 0.0)
    assert tree.risk(("/",)) > 0.01
    assert tree.contradict(("/",), 5), "it was this one"
    assert tree.root.contradicted == 1.0


def test_ten_contradictions_outweigh_a_hundred_thousand_pages() -> None:
    tree = _tree("drop-parameter x")
    tree.load("/", 100_000, 0)
    _contradict(tree, ("/",), 12)
    assert tree.risk(("/",)) > 0.01


@pytest.mark.parametrize("change", ["drop-parameter id", "drop-value lang=de"])
def test_what_says_which_page_is_meant_needs_pages_below_its_own_directory(change: str) -> None:
    tree = _tree(change)
    for number in range(200):
        _agree(tree, chain_of(["ab"[number % 2]]))
    assert tree.risk(chain_of(["a"])) <= 0.01
    assert tree.risk(chain_of(["c"])) > 0.01
    few = _tree(change)
    _agree(few, chain_of(["a"]), 20)
    assert few.risk(chain_of(["a"])) > 0.01


@given(st.floats(0.01, 0.99), st.integers(0, 1000))
def test_more_pages_never_make_a_change_riskier(prior: float, agreed: int) -> None:
    assert 0 < loss(prior, agreed + 1) < loss(prior, agreed) < 1


@given(st.lists(st.tuples(st.booleans(), _CHAINS), max_size=60), _CHAINS)
def test_a_risk_is_a_probability_and_is_the_same_when_loaded(
    events: list[tuple[bool, tuple[str, ...]]], chain: tuple[str, ...]
) -> None:
    tree = _tree("drop-parameter x")
    for agrees, where in events:
        if agrees:
            _agree(tree, where)
        else:
            _contradict(tree, where)
        assert 0 <= tree.risk(chain) <= 1
    if all(agrees for agrees, _ in events):
        again = _tree("drop-parameter x")
        for node, agreed, contradicted in tree.changes():
            again.load(node, agreed, contradicted)
        assert again.risk(("/",)) == pytest.approx(tree.risk(("/",)), abs=0.2)


def test_nodes_are_bounded() -> None:
    tree = _tree("drop-parameter x")
    for number in range(5000):
        _agree(tree, chain_of([str(number % 100), str(number)]), 2)
    assert len(tree.nodes) <= MAX_NODES
