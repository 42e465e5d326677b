"""URLs in parts, the changes that make two equal, and what evidence says of a change."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, strategies as st

from shingling.fetching.learning.changes import (
    KINDS,
    UrlChange,
    apply,
    changes_of,
    differences,
    fold,
    read_change,
    words_of,
)
from shingling.fetching.learning.evidence import (
    MAX_NODES,
    Tree,
    loss,
)
from shingling.fetching.learning.parts import Parts, path_nodes, split
from shingling.fetching.learning.recent import Table

_WORDS = st.text("abAB01.-_%", min_size=1, max_size=5)
_VALUES = st.tuples(_WORDS, _WORDS).map("=".join)
_PARTS = st.builds(
    Parts,
    st.sampled_from(["http", "https"]),
    st.sampled_from(["site.example", "www.site.example", "site.example:8080"]),
    st.lists(_WORDS, max_size=5).map(tuple),
    st.booleans(),
    st.lists(_VALUES, max_size=4).map(tuple),
).map(lambda parts: parts if parts.segments else parts._replace(slash=True))


def _url(parts: Parts) -> str:
    path = "/".join(("", *parts.segments)) + "/" * (parts.slash and bool(parts.segments))
    query = "?" + "&".join(parts.query) if parts.query else ""
    return f"{parts.scheme}://{parts.host}{path or '/'}{query}"


def _split(url: str) -> Parts:
    parts = split(url)
    assert parts is not None
    return parts


@given(_PARTS)
def test_a_url_is_its_parts_and_back(parts: Parts) -> None:
    assert split(_url(parts)) == parts


@given(st.text())
def test_any_text_is_split_or_refused(text: str) -> None:
    for url in (text, f"http://{text}", f"http://site.example/{text}"):
        parts = split(url)
        assert parts is None or split(_url(parts)) == parts


BETWEEN = [
    ("http://h/a?x=1&y=2", "http://h/a?x=1&y=3", ["drop-parameter y"]),
    ("http://h/a?x=1&y=2", "http://h/a?y=2", ["drop-parameter x"]),
    ("http://h/a?x=1&y=2", "http://h/a?y=3&x=2", ["drop-parameter x", "drop-parameter y"]),
    ("http://h/a?x=1&y=2", "http://h/a?y=2&x=1", ["sort-parameters"]),
    ("http://h/a", "https://h/a", ["use-https"]),
    ("http://www.h/a", "http://h/a", ["drop-www"]),
    ("http://m.h.org/a", "http://h.org/a", ["drop-host m"]),
    ("http://www2.h.org/a", "http://www.h.org/a", ["drop-www", "drop-host www2"]),
    ("http://h/t/5/post-52", "http://h/t/5", ["drop-last-segment post-#", "drop-slash"]),
    ("http://h/t/5/post-52", "http://h/t/5/post-7", ["drop-last-segment post-#"]),
    ("http://h/q/5/a-title-of-3-words", "http://h/q/5", ["drop-slug"]),
    ("http://h/q/5/a-title", "http://h/q/5/another-title/", ["drop-slug"]),
    ("http://h/a/", "http://h/a", ["drop-slash"]),
    ("http://h/A/b", "http://h/a/B", ["lower-case"]),
    ("http://h/a/index.html", "http://h/a/", ["drop-last-segment index.html"]),
    ("http://h/a/print", "http://h/a", ["drop-last-segment print", "drop-slash"]),
    ("http://h/amp/a/b", "http://h/a/b", ["drop-segment amp"]),
    ("http://h/lists/5/books/x", "http://h/books/x", ["drop-segment-pair lists"]),
    ("http://h/a/x.html", "http://h/a/x", ["drop-extension html"]),
    ("http://h/a/x.html", "http://h/a/x/", ["drop-extension html", "drop-slash"]),
    ("http://h/b/x", "http://h/a/x", ["exchange-segment b a"]),
    ("http://h/a;sid=1", "http://h/a;sid=2", ["drop-path-parameter sid"]),
    ("http://h/a;sid=1?b=1", "http://h/a?b=2", ["drop-parameter b", "drop-path-parameter sid"]),
    ("http://h/a/b/a/b/c", "http://h/a/b/c", ["fold-segments"]),
    ("http://h/a#x", "http://h:80/a#y", []),
]
"""Two URLs, and the changes between them."""


@pytest.mark.parametrize(("a", "b", "changes"), BETWEEN)
def test_the_changes_between_two_urls_are_found(a: str, b: str, changes: list[str]) -> None:
    for first, second in ((a, b), (b, a)):
        found = differences(_split(first), _split(second))
        assert [change.text for change in found] == changes


def test_each_change_is_tried_on_one_url_so_that_pages_that_differ_are_found() -> None:
    kinds = {"one-page", "drop-value"}  # of one URL, or of values that two URLs have
    for a, b, texts in BETWEEN:
        if len(texts) != 1:
            continue
        change = read_change(texts[0])
        assert change is not None
        also = [change] if change.kind in ("exchange-segment", "drop-segment") else []
        urls = [_split(a), _split(b)]
        assert any(change in changes_of(url, also) for url in urls), change
        assert any(change.what in words_of(url) for url in urls), change
        kinds.add(change.kind)
    assert kinds == KINDS.keys()


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("http://h/a", "http://g/a"),
        ("http://h/a/b/c", "http://h/d/e/f"),
        ("http://h/a", "http://h/a/b/c"),
        ("http://h/?a=1&b=1&c=1&d=1&e=1&f=1&g=1", "http://h/?h=1&i=1&j=1&k=1&l=1&m=1"),
    ],
)
def test_urls_too_far_apart_have_no_changes(a: str, b: str) -> None:
    assert differences(_split(a), _split(b)) == ()


@given(_PARTS, _PARTS)
def test_the_changes_between_two_urls_make_them_equal(a: Parts, b: Parts) -> None:
    changes = differences(a, b)
    if not changes:
        return
    for change in sorted(changes, key=lambda one: list(KINDS).index(one.kind)):
        a, b = apply(change, a) or a, apply(change, b) or b
    assert a == b


@given(_PARTS, _PARTS)
def test_the_text_of_a_change_is_read_back(a: Parts, b: Parts) -> None:
    for change in differences(a, b):
        assert read_change(change.text) == change
    for parameter in a.query:
        value = UrlChange("drop-value", *parameter.split("=", 1))
        assert read_change(value.text) == value


def test_one_page_under_every_path_is_a_change_of_its_own() -> None:
    one, other = (_split(f"http://h/wiki/{name}?action=edit") for name in "ab")
    change = UrlChange("one-page", "action", "edit")
    assert change in changes_of(one)
    assert apply(change, one) == apply(change, other) == _split("http://h/?action=edit")
    assert read_change(change.text) == change


@given(st.text())
def test_any_text_is_read_as_a_change_or_refused(text: str) -> None:
    for kind in ("", *KINDS):
        change = read_change(f"{kind} {text}".strip())
        assert change is None or read_change(change.text) == change


@given(st.lists(st.sampled_from("abc"), max_size=30).map(tuple))
def test_folded_segments_are_not_folded_again(segments: tuple[str, ...]) -> None:
    assert fold(fold(segments)) == fold(segments)


def test_a_trap_is_folded_to_where_it_began() -> None:
    assert fold(("a", "b", "a", "b", "a", "b", "c", "c")) == ("a", "b", "c")


# The model: what evidence says of a change


_CONTENTS = itertools.count()
_CHAINS = st.lists(st.sampled_from("abcd"), max_size=4).map(path_nodes)


def _tree(text: str) -> Tree:
    change = read_change(text)
    assert change is not None
    return Tree(change, Table(10))


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
    _agree(tree, path_nodes(["a"]), pages - 1)
    assert tree.risk(path_nodes(["a"])) > 0.01
    _agree(tree, path_nodes(["a"]))
    assert tree.risk(path_nodes(["a"])) <= 0.01


def test_a_page_counts_once_but_where_a_path_has_one_page() -> None:
    tree = _tree("drop-parameter x")
    assert tree.agree(("/",), 5)
    assert not tree.agree(("/",), 5)
    assert tree.agree(("/",), 5, count_urls=True)
    assert tree.root.agreed == 1.5
    assert tree.contradict(("/",), 5)
    assert not tree.contradict(("/",), 5)


def test_a_contradiction_stops_its_path_and_not_the_others() -> None:
    tree = _tree("drop-parameter x")
    for path in "ab":
        _agree(tree, path_nodes([path]), 20)
    _contradict(tree, path_nodes(["b"]))
    assert tree.risk(path_nodes(["a"])) <= 0.01
    assert tree.risk(path_nodes(["b"])) > 0.01
    assert tree.risk(path_nodes(["c"])) > 0.01


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
    tree.load_node("/", 100_000, 0, 0, 0)
    _contradict(tree, ("/",), 12)
    assert tree.risk(("/",)) > 0.01


@pytest.mark.parametrize("change", ["drop-parameter id", "drop-value lang=de"])
def test_what_says_which_page_is_meant_needs_pages_below_its_own_directory(change: str) -> None:
    tree = _tree(change)
    for number in range(200):
        _agree(tree, path_nodes(["ab"[number % 2]]))
    assert tree.risk(path_nodes(["a"])) <= 0.01
    assert tree.risk(path_nodes(["c"])) > 0.01
    few = _tree(change)
    _agree(few, path_nodes(["a"]), 20)
    assert few.risk(path_nodes(["a"])) > 0.01


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
        for node, counts in tree.changes():
            again.load_node(node, *counts)
        assert again.risk(("/",)) == pytest.approx(tree.risk(("/",)), abs=0.2)


def test_nodes_are_bounded() -> None:
    tree = _tree("drop-parameter x")
    for number in range(5000):
        _agree(tree, path_nodes([str(number % 100), str(number)]), 2)
    assert len(tree.nodes) <= MAX_NODES
