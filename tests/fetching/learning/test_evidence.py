"""The model: what evidence says of a change."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from shingling.fetching.learning.changes import Change, read_change
from shingling.fetching.learning.evidence import MAX_NODES, Tree, chain_of, loss
from shingling.fetching.learning.known import Belief, Beliefs, prior_of

_CHAINS = st.lists(st.sampled_from("abcd"), max_size=4).map(chain_of)


def _tree(text: str) -> Tree:
    change = read_change(text)
    assert change is not None
    return Tree(change, Belief(change))


def test_eight_pages_of_two_paths_give_one_in_a_hundred() -> None:
    tree = _tree("drop-parameter x")
    for number in range(8):
        assert tree.risk(("/",)) == pytest.approx(1 / (number + 2) ** 2)
        tree.agree(chain_of(["ab"[number % 2]]))
    assert tree.risk(("/",)) == pytest.approx(0.01)
    assert tree.risk(chain_of(["c"])) == pytest.approx(0.01)


def test_what_holds_for_one_path_says_little_about_the_next() -> None:
    tree = _tree("drop-parameter x")
    for _ in range(100):
        tree.agree(chain_of(["reply"]))
    assert tree.risk(chain_of(["reply"])) < 0.001
    assert tree.risk(chain_of(["show"])) > 0.01


def test_a_contradiction_stops_its_path_and_not_the_others() -> None:
    tree = _tree("drop-parameter x")
    for path in "ab":
        for _ in range(20):
            tree.agree(chain_of([path]))
    tree.contradict(chain_of(["b"]))
    assert tree.risk(chain_of(["a"])) <= 0.01
    assert tree.risk(chain_of(["b"])) > 0.01
    assert tree.risk(chain_of(["c"])) > 0.01


def test_one_page_that_differs_shows_that_a_path_is_no_mirror() -> None:
    tree = _tree("exchange-segment mips amd64")
    for path in "ab":
        for _ in range(1000):
            tree.agree(chain_of([path]))
    assert tree.risk(chain_of(["a"])) <= 0.01
    tree.contradict(chain_of(["b"]))
    assert tree.risk(chain_of(["a"])) == 1.0
    tree.pins["/a"] = True
    assert tree.risk(chain_of(["a"])) == 0.0


def test_ten_contradictions_outweigh_a_hundred_thousand_pages() -> None:
    tree = _tree("drop-parameter x")
    tree.load("/", 100_000, 0)
    tree.settle()
    for _ in range(12):
        tree.contradict(("/",))
    assert tree.risk(("/",)) > 0.01


@pytest.mark.parametrize("change", ["drop-parameter id", "drop-value lang=de"])
def test_what_says_which_page_is_meant_needs_pages_of_the_path_itself(change: str) -> None:
    tree = _tree(change)
    for number in range(200):
        tree.agree(chain_of(["ab"[number % 2]]))
    assert tree.risk(chain_of(["a"])) <= 0.01
    assert tree.risk(chain_of(["c"])) > 0.01
    few = _tree(change)
    for _ in range(20):
        few.agree(chain_of(["a"]))
    assert few.risk(chain_of(["a"])) > 0.01


def test_a_list_of_tracking_parameters_is_no_rule_by_itself() -> None:
    for text in ("drop-parameter utm_source", "drop-parameter fbclid", "drop-www"):
        assert _tree(text).risk(("/",)) > 0.01


def test_what_other_sites_have_shown_makes_belief_easier() -> None:
    change = Change("drop-parameter", "x")
    beliefs = Beliefs()
    for _ in range(4):
        tree = Tree(change, beliefs.of(change))
        for _ in range(8):
            tree.agree(("/",))
    assert Tree(change, beliefs.of(change)).prior > prior_of(change)
    for _ in range(40):
        Tree(change, beliefs.of(change)).contradict(("/",))
    assert Tree(change, beliefs.of(change)).prior < prior_of(change)


def test_a_site_that_changes_its_mind_is_counted_once() -> None:
    change = Change("drop-parameter", "x")
    belief = Belief(change)
    tree = Tree(change, belief)
    for _ in range(8):
        tree.agree(("/",))
    assert (belief.clean, belief.mixed) == (1, 0)
    tree.contradict(("/",))
    tree.contradict(("/",))
    assert (belief.clean, belief.mixed) == (0, 1)


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
            tree.agree(where)
        else:
            tree.contradict(where)
        assert 0 <= tree.risk(chain) <= 1
    if all(agrees for agrees, _ in events):
        again = _tree("drop-parameter x")
        for node, agreed, contradicted in tree.changes():
            again.load(node, agreed, contradicted)
        again.settle()
        assert again.risk(("/",)) == pytest.approx(tree.risk(("/",)), abs=0.2)


def test_what_two_crawlers_have_learned_adds_up() -> None:
    both = _tree("drop-parameter x")
    saved: list[tuple[str, int, int]] = []
    for path in "ab":
        one = _tree("drop-parameter x")
        for _ in range(4):
            one.agree(chain_of([path]))
        saved += one.changes()
        assert one.risk(("/",)) > 0.01
    for node, agreed, contradicted in saved:
        both.load(node, agreed, contradicted)
    both.settle()
    assert both.risk(("/",)) == pytest.approx(0.01)


def test_nodes_are_bounded() -> None:
    tree = _tree("drop-parameter x")
    for number in range(5000):
        for _ in range(2):
            tree.agree(chain_of([str(number % 100), str(number)]))
    assert len(tree.nodes) <= MAX_NODES
