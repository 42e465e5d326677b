"""What was read from a body is found by its key, as long as it is what reading would give."""

from __future__ import annotations

from dataclasses import replace

from shingling import Page, Rules, Store, sign
from shingling.store.queries import page_by_url, pages_by_body
from tests.support.invariants import text
from tests.support.stores import session_of

ONE, TWO, THREE = (bytes([number]) * 16 for number in (1, 2, 3))
WORDS = [f"w{number}" for number in range(80)]
A = Page("https://example.org/a", text(WORDS), title="A", language="en", body_key=ONE)


def known(store: Store) -> set[bytes]:
    return {*pages_by_body(session_of(store), [ONE, TWO, THREE])}


def test_what_was_read_from_a_body_is_found_by_its_key(store: Store) -> None:
    assert pages_by_body(session_of(store), []) == {}
    store.check([A])
    [found] = pages_by_body(session_of(store), [ONE, TWO]).values()
    assert found.main_text == A.main_text
    assert replace(found, signature=None, text=A.text) == A
    assert A.text is not None
    assert found.signature == sign(A.text)
    # Another address with the same bytes; either may be named.
    store.check([replace(A, url="https://mirror.example/a")])
    assert pages_by_body(session_of(store), [ONE])[ONE].main_text == A.main_text


def test_a_page_that_reads_the_same_takes_the_key_of_its_new_bytes(store: Store) -> None:
    store.check([A])
    [verdict] = store.check([replace(A, body_key=TWO)])
    assert verdict.status == "unchanged"
    assert known(store) == {TWO}
    store.check([replace(A, body_key=None)])  # known already
    assert known(store) == {TWO}


def test_a_page_that_reads_otherwise_keeps_the_key_of_what_is_stored(store: Store) -> None:
    others = [
        replace(A, title="Another", body_key=THREE),
        replace(A, language="de", body_key=THREE),
        replace(A, text=f"{A.text}\n".upper(), body_key=THREE),  # the same text but for its case
    ]
    store.check([A])
    for other in others:
        assert [verdict.status for verdict in store.check([other])] == ["unchanged"]
        assert known(store) == {ONE}


def test_a_page_that_changes_in_one_batch_has_its_last_key(store: Store) -> None:
    changed = replace(A, text=text(WORDS[::-1]), body_key=TWO)
    verdicts = store.check([A, changed, replace(changed, body_key=THREE)])
    assert [verdict.status for verdict in verdicts] == ["new", "changed", "unchanged"]
    assert known(store) == {THREE}
    assert pages_by_body(session_of(store), [THREE])[THREE].main_text == changed.main_text
    assert store.admin.forget([A.url]) == 1
    assert known(store) == set()


def test_where_no_texts_are_kept_nothing_is_known_of_bodies(store: Store) -> None:
    for _ in range(2):
        store.check([A], rules=Rules(store_text=False))
        assert known(store) == set()
    found = page_by_url(session_of(store), A.url)
    assert found is not None
    assert (found.main_text, found.title, found.body_key) == (None, "A", None)


def test_a_page_is_given_back_as_it_was_read(store: Store) -> None:
    store.check([A])
    found = page_by_url(session_of(store), A.url)
    assert found is not None
    assert found.main_text == A.main_text
    assert replace(found, signature=None, text=A.text) == A
    assert [verdict.status for verdict in store.check([found])] == ["unchanged"]
    assert page_by_url(session_of(store), A.url, "another scope") is None
    assert page_by_url(session_of(store), "https://example.org/b") is None
