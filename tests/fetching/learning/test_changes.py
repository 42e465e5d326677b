"""URLs in parts, the changes of them, and the changes that make two equal."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from shingling.fetching.learning.changes import (
    KINDS,
    Change,
    apply,
    changes_of,
    differences,
    fold,
    read_change,
)
from shingling.fetching.learning.parts import Parts, split

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


def _split(url: str) -> Parts:
    parts = split(url)
    assert parts is not None
    return parts


@given(_PARTS)
def test_a_url_is_its_parts_and_back(parts: Parts) -> None:
    assert split(parts.url()) == parts


@given(st.text())
def test_any_text_is_split_or_refused(text: str) -> None:
    for url in (text, f"http://{text}", f"http://site.example/{text}"):
        parts = split(url)
        assert parts is None or split(parts.url()) == parts


@pytest.mark.parametrize(
    ("a", "b", "changes"),
    [
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
    ],
)
def test_the_changes_between_two_urls_are_found(a: str, b: str, changes: list[str]) -> None:
    for first, second in ((a, b), (b, a)):
        found = differences(_split(first), _split(second))
        assert found is not None
        assert [change.text for change in found] == changes


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("http://h/a", "http://g/a"),
        ("http://h/a/b/c", "http://h/d/e/f"),
        ("http://h/a", "http://h/a/b/c"),
        ("http://h/?a=1&b=1&c=1&d=1", "http://h/?e=1&f=1&g=1&h=1"),
    ],
)
def test_urls_too_far_apart_have_no_changes(a: str, b: str) -> None:
    assert differences(_split(a), _split(b)) is None


@given(_PARTS, _PARTS)
def test_the_changes_between_two_urls_make_them_equal(a: Parts, b: Parts) -> None:
    changes = differences(a, b)
    if changes is None:
        return
    for change in sorted(changes, key=lambda one: list(KINDS).index(one.kind)):
        a, b = apply(change, a) or a, apply(change, b) or b
    assert a == b


@given(_PARTS, _PARTS)
def test_the_text_of_a_change_is_read_back(a: Parts, b: Parts) -> None:
    for change in differences(a, b) or ():
        assert read_change(change.text) == change
    for parameter in a.query:
        value = Change("drop-value", *parameter.split("=", 1))
        assert read_change(value.text) == value


def test_one_page_under_every_path_is_a_change_of_its_own() -> None:
    one, other = (_split(f"http://h/wiki/{name}?action=edit") for name in "ab")
    change = Change("one-page", "action", "edit")
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
