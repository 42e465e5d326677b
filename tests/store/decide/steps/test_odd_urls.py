"""URLs and texts of odd characters."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from shingling import Page, Store, sign
from shingling.store import safe_url
from tests.store.decide.steps.pages import NEAR, A, one
from tests.support.stores import both_databases


@both_databases
@pytest.mark.parametrize(
    ("url", "stored"),
    [
        ("https://user:secret@example.org/a?b=c#d", "https://example.org/a?b=c#d"),
        ("https://a:b@c@example.org:8080/@user", "https://example.org:8080/@user"),
        ("https://user:secret@[::1/", "https://[::1/"),
        (" https://example.org/\x00\n\u202e ", "https://example.org/%00%0A%E2%80%AE"),
        ("https://пример.рф/путь", "https://пример.рф/путь"),
        ("https://example.org/\ud800", "https://example.org/%3F"),
    ],
)
def test_a_url_is_stored_without_credentials_and_control_characters(
    store: Store, url: str, stored: str
) -> None:
    one(store, url, A)
    [page] = store.pages()
    assert page.url == stored
    assert store.find(url) == store.find(stored) == [page]
    assert one(store, url, A).status == "unchanged"
    assert one(store, "copy", A).original == stored


@given(st.text(alphabet=st.characters() | st.sampled_from(" @:/?#[]\ud800\udfff"), max_size=40))
def test_a_cleaned_url_is_printable_and_can_be_encoded(url: str) -> None:
    cleaned = safe_url(url)
    assert cleaned.isprintable()
    assert cleaned.encode().decode() == cleaned


@both_databases
def test_urls_of_ten_thousand_characters_are_told_apart(store: Store) -> None:
    long = "https://example.org/" + "x" * 10_000
    verdicts = store.check([Page(f"{long}1", A), Page(f"{long}2", A), Page(f"{long}1", A)])
    assert [verdict.status for verdict in verdicts] == ["new", "exact", "unchanged"]
    assert verdicts[1].original == store.find(f"{long}1")[0].url
    assert verdicts[1].original.startswith("https://example.org/xxx")
    assert len(verdicts[1].original) <= 8192


@both_databases
def test_lone_surrogates_do_not_fail_a_batch_and_are_no_words(store: Store) -> None:
    broken = A.replace(" ", " \ud800 ") + " \udc80\ud83d"
    verdict = one(store, "a", broken)
    assert verdict.status == "new"
    again = one(store, "b", A)
    assert (again.status, again.resemblance) == ("near", 1.0)
    stored = store.text(store.find("a")[0])
    assert stored is not None
    assert sign(stored) == sign(broken)
    assert one(store, "a", stored).status == "unchanged"
    odd = Page("c", NEAR, title="a\ud800b", language="a\ud800b", scope="a\ud800b")
    assert store.check([odd])[0].status == "new"


@both_databases
def test_a_title_may_hold_any_character_that_can_be_encoded(store: Store) -> None:
    title = "\x00\x01 ' \" ; -- \u202e 𝕏 \U0010ffff"
    store.check([Page("a", A, title=title)])
    assert store.find("a")[0].title == title.replace("\0", "")
