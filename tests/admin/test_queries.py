"""Questions to a store, and pages that it is made to forget."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from sqlalchemy import make_url

from shingling import Page, Rules, Signature, Store, sign
from shingling.errors import StoreError
from shingling.similarity.measures import estimate
from shingling.store.known import page_by_url, pages_by_body
from tests.support.invariants import containment, ending, entries_of, jaccard, text, words
from tests.support.stores import is_postgres, rows_of, session_of, url_of

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from shingling.store.model import StoredPage


BASE = words("base")
A = text(BASE)
NEAR = text(ending(BASE, "near", 5))
OTHER = text(words("other"))


# similar


def shelf() -> dict[str, str]:
    """Return texts of every resemblance to A, some of them duplicates of each other."""
    texts = {f"end {count}": text(ending(BASE, count, count)) for count in range(0, 96, 3)}
    texts |= {f"copy {count}": texts[f"end {count}"] for count in (0, 6, 30)}
    texts |= {f"far {number}": text(words(f"far {number}")) for number in range(10)}
    return texts


@pytest.mark.parametrize("threshold", [0.05, 0.3, 0.7, 0.9, 1.0])
def test_similar_pages_are_found_with_or_without_the_index(store: Store, threshold: float) -> None:
    texts = shelf()
    store.check([Page(url, main_text) for url, main_text in texts.items()])
    assert store.find("copy 0")[0].original == "end 0"
    estimates = {url: estimate(sign(A), sign(main_text)) for url, main_text in texts.items()}
    likeness = {url: jaccard(A, main_text) for url, main_text in texts.items()}
    found = store.similar(sign(A), threshold, limit=100)
    assert {match.page.url: match.resemblance for match in found} == {
        url: like for url, like in estimates.items() if like >= threshold
    }
    assert not any(match.measured for match in found)

    found = store.similar(sign(A), threshold, limit=100, text=A)
    # What is estimated at less than half of it is not measured.
    assert {match.page.url: match.resemblance for match in found} == {
        url: like
        for url, like in likeness.items()
        if like >= threshold and estimates[url] >= threshold / 2
    }
    missed = sum(like >= threshold for like in likeness.values()) - len(found)
    assert missed <= (2 if threshold == 0.05 else 0)
    assert all(match.measured for match in found)
    assert all(match.containment == containment(A, texts[match.page.url]) for match in found)
    order = [(-match.resemblance, match.page.id) for match in found]
    assert order == sorted(order)
    assert store.similar(sign(""), threshold) == []


def test_where_texts_are_not_stored_resemblance_is_estimated(store: Store) -> None:
    store.check([Page("a", A)], rules=Rules(store_text=False))
    store.check([Page("b", NEAR)], rules=Rules(method="exact"))
    matches = store.similar(sign(A), 0.8, text=A)
    assert [(match.page.url, match.measured) for match in matches] == [("a", False), ("b", True)]


@pytest.mark.parametrize("threshold", [0.1, 0.8])
def test_the_best_pages_are_shown_and_at_most_limit_of_them(store: Store, threshold: float) -> None:
    store.check([Page(url, main_text) for url, main_text in shelf().items()])
    for given in (A, None):
        every = store.similar(sign(A), threshold, limit=100, text=given)
        assert len(every) > 4
        for limit in (0, 1, 4):
            assert store.similar(sign(A), threshold, limit, text=given) == every[:limit]


def test_a_scan_of_more_rows_than_are_read_at_once_finds_the_best(store: Store) -> None:
    minima = np.random.default_rng(1).integers(0, 1 << 32, (2500, 84), dtype=np.uint32)
    for at in (10, 1500, 2400):
        minima[at][: 30 + at // 1000] = sign(A).minima[: 30 + at // 1000]
    store.check(
        [
            Page(f"{at}", signature=Signature(own, at, at.to_bytes(16, "big"), 100))
            for at, own in enumerate(minima)
        ]
    )
    matches = store.similar(sign(A), 0.3)
    assert [(match.page.url, match.resemblance) for match in matches] == [
        ("2400", 32 / 84),
        ("1500", 31 / 84),
        ("10", 30 / 84),
    ]


# find, pages, groups


def test_a_found_page_shows_all_that_is_known_of_it(store: Store) -> None:
    run = store.start_run("news")
    url = "https://www.Example.org/a"
    store.check([Page("o", A, fetched=0)])
    store.check([Page(url, NEAR, title="T", language="en", scope="", fetched=60)], run=run)
    [page] = store.find(url)
    assert page.as_dict() == {
        "id": 2,
        "url": url,
        "site": "example.org",
        "scope": "",
        "title": "T",
        "language": "en",
        "words": 100,
        "status": "near",
        "last_verdict": "near",
        "original": "o",
        "resemblance": round(jaccard(A, NEAR), 4),
        "containment": round(containment(A, NEAR), 4),
        "fields": None,
        "own_text": None,
        "change": None,
        "compared_title": None,
        "first_seen": "1970-01-01T00:01:00+00:00",
        "last_seen": "1970-01-01T00:01:00+00:00",
        "run": run.id,
        "source": None,
        "reason": None,
        "compared_with": None,
        "last_run": run.id,
        "threshold": 0.5,
    }


@pytest.fixture
def library(store: Store) -> Store:
    """Two sites: originals, copies, near duplicates, short, changed and unchanged pages."""
    one, two = "https://one.org", "https://www.two.org"
    store.check(
        [
            Page(f"{one}/a", A, fetched=100),
            Page(f"{two}/copy", A, fetched=200),
            Page(f"{one}/near", NEAR, fetched=300),
            Page(f"{two}/short", text(BASE[:9]), fetched=400),
            Page(f"{two}/other", OTHER, fetched=500),
            Page(f"{one}/changing", text(words("x")), fetched=600),
            Page(f"{one}/other copy", OTHER, fetched=700),
        ]
    )
    store.check([Page(f"{one}/changing", text(words("y")), fetched=800)])
    store.check([Page(f"{one}/a", A, fetched=900)])
    return store


def urls(pages: Iterable[StoredPage]) -> list[str]:
    """Return the URLs without their sites."""
    return [page.url.partition("//")[2].partition("/")[2] for page in pages]


@pytest.mark.parametrize(
    ("filters", "found"),
    [
        ({"status": "new"}, ["a", "other", "changing"]),
        ({"status": "exact"}, ["copy", "other copy"]),
        ({"status": "skipped"}, ["short"]),
        ({"status": "changed"}, ["changing"]),
        ({"status": "unchanged"}, ["a"]),
        ({"status": "nonsense"}, []),
        ({"site": "two.org"}, ["copy", "short", "other"]),
        ({"site": "www.two.org"}, ["copy", "short", "other"]),
        ({"since": 600}, ["a", "changing", "other copy"]),
        ({"since": 901}, []),
        ({"limit": 0}, []),
        ({"limit": 3}, ["a", "copy", "near"]),
        ({}, ["a", "copy", "near", "short", "other", "changing", "other copy"]),
        ({"status": "exact", "site": "one.org", "since": 650, "limit": 5}, ["other copy"]),
    ],
    ids=str,
)
def test_pages_are_listed_oldest_first_by_filters_that_hold_together(
    library: Store, filters: dict[str, Any], found: list[str]
) -> None:
    assert urls(library.pages(**filters)) == found


def test_the_largest_groups_come_first_and_of_one_size_the_oldest(library: Store) -> None:
    y = text(words("z"))
    library.check([Page("https://three.org/y", y), Page("https://three.org/y copy", y)])
    groups = list(library.groups())
    assert [(urls([group.original]), urls(group.duplicates)) for group in groups] == [
        (["a"], ["copy", "near"]),
        (["other"], ["other copy"]),
        (["y"], ["y copy"]),
    ]
    assert list(library.groups(limit=1)) == groups[:1]
    for group in groups:
        assert library.duplicates(group.original) == list(group.duplicates)
        assert library.duplicates(group.duplicates[0]) == []


def test_a_store_can_be_asked_and_written_while_its_pages_are_listed(library: Store) -> None:
    seen = 0
    for page in library.pages():
        seen += 1
        assert library.find(page.url) == [page]
        library.check([Page(f"new {page.id}", text(words(page.id)))])
    assert seen == 7
    assert library.status().pages == 14


# text, signature, status, runs


@pytest.mark.parametrize(
    "main_text", [A, "Ünïcödé 漢字 ไทย \u202e\x00 𝕏 " * 5, "a" * 100_000 + " b c d e f", "\r\n x\t"]
)
def test_a_text_comes_back_as_it_was(store: Store, main_text: str) -> None:
    store.check([Page("a", main_text)])
    assert store.text(store.find("a")[0]) == main_text


def test_a_signature_comes_back_as_it_was(store: Store) -> None:
    signatures = [sign(text(words(seed))) for seed in range(50)]
    store.check([Page(f"{at}", signature=signature) for at, signature in enumerate(signatures)])
    assert [store.signature(page) for page in store.pages()] == signatures
    assert {store.text(page) for page in store.pages()} == {None}
    assert {signature.simhash >> 63 for signature in signatures} == {0, 1}, "of either sign"


def test_the_status_counts_pages_and_names_what_the_store_is(library: Store, file: Path) -> None:
    library.start_run("spider")
    status = library.status()
    counted = ("pages", "originals", "skipped", "duplicates", "exact", "near", "runs")
    assert [getattr(status, name) for name in counted] == [7, 3, 1, 3, 2, 1, 1]
    assert status.scheme == library.scheme
    shown = status.as_dict()
    assert shown["scheme"] == {"id": library.scheme.id, "shingle_size": 5, "version": 3}
    assert shown["index"] == {"indexed": "minima", "bands": 28, "rows": 3, "sampled": False}
    assert status.url == make_url(url_of(file)).render_as_string(hide_password=True)
    if not is_postgres(file):
        files = [path for path in file.parent.iterdir() if not path.name.endswith("-shm")]
        assert status.bytes == sum(path.stat().st_size for path in files)


def test_a_run_records_what_was_decided_in_it(store: Store) -> None:
    run = store.start_run("news", {"DEDUP_THRESHOLD": 0.8})
    store.check([Page("a", A), Page("b", A), Page("c", None)], run=run)
    later = store.start_run("later")
    store.check([Page("a", A)], run=later)
    store.finish_run(later, "finished")
    assert store.runs(limit=1) == store.runs()[:1]
    store.check([Page("a", A), Page("d", NEAR), Page("b", OTHER)], run=run)
    counts = {"new": 1, "exact": 1, "skipped": 1, "unchanged": 1, "near": 1, "changed": 1}
    counts["changed_pages"] = 1
    assert run.counts == counts
    newest, shown = store.runs()
    assert (newest.spider, newest.counts) == ("later", {"unchanged": 1})
    assert (shown.finished, shown.outcome, shown.counts) == (None, None, counts)
    assert {page.run for page in store.pages()} == {run.id}, "the run that stored it first"
    store.finish_run(run, "finished")
    _, shown = store.runs()
    assert (shown.spider, shown.outcome, shown.counts) == ("news", "finished", counts)
    assert shown.settings == {"DEDUP_THRESHOLD": 0.8}
    assert shown.finished is not None
    assert shown.finished >= shown.started


# forget


def test_a_forgotten_page_leaves_no_row(store: Store, file: Path) -> None:
    store.check([Page("a", A), Page("b", OTHER)])
    [page] = store.find("a")
    assert store.admin.forget(["a"]) == 1
    assert [page.url for page in store.pages()] == ["b"]
    assert rows_of(file, "SELECT page_id FROM texts") == [(2,)]
    assert {page_id for _, page_id in entries_of(file, "bands")} == {2}
    assert store.text(page) is None
    with pytest.raises(StoreError, match="page 1 is no longer stored"):
        store.signature(page)
    assert store.check([Page("c", NEAR)])[0].status == "new"


@pytest.mark.parametrize(
    ("chosen", "left"),
    [
        ({"site": "one.org"}, ["copy", "short", "other"]),
        (
            {"urls": ["https://one.org/a"] * 2 + ["https://www.two.org/short"], "site": "two.org"},
            ["near", "changing", "other copy"],
        ),
        ({"urls": ["https://nowhere.org/"]}, None),
        ({"site": "nowhere.org"}, None),
        ({}, None),
    ],
    ids=["site", "URLs and site", "unknown URL", "unknown site", "nothing"],
)
def test_urls_and_sites_are_forgotten(
    library: Store, chosen: dict[str, Any], left: list[str] | None
) -> None:
    before = urls(library.pages())
    left = before if left is None else left
    assert library.admin.forget(**chosen, dry_run=True) == len(before) - len(left)
    assert urls(library.pages()) == before
    assert library.admin.forget(**chosen) == len(before) - len(left)
    assert urls(library.pages()) == left
    pages = list(library.pages())
    assert {page.original for page in pages} - {None} <= {page.url for page in pages}


def test_a_run_is_forgotten_but_still_listed(store: Store) -> None:
    run, other = store.start_run("one"), store.start_run("two")
    store.check([Page("a", A), Page("b", OTHER)], run=run)
    store.check([Page("c", A)], run=other)
    assert store.admin.forget(run=run.id, dry_run=True) == store.admin.forget(run=run.id) == 2
    assert [(page.url, page.original) for page in store.pages()] == [("c", None)]
    assert len(store.runs()) == 2


def test_thousands_of_pages_are_forgotten_at_once(store: Store) -> None:
    minima = np.random.default_rng(1).integers(0, 1 << 32, (1500, 84), dtype=np.uint32)
    pages = [
        Page(f"https://example.org/{at}", signature=Signature(own, at, bytes([at % 250]) * 16, 50))
        for at, own in enumerate(minima)
    ]
    store.check(pages)
    assert store.status().duplicates == 1250
    assert store.admin.forget([page.url for page in pages[:1200]]) == 1200
    assert store.status().originals == 250
    assert store.admin.forget(site="example.org") == 300


# What was read from a body is found by its key, as long as it is what reading would give


ONE, TWO, THREE = (bytes([number]) * 16 for number in (1, 2, 3))
WORDS = [f"w{number}" for number in range(80)]
READ = Page("https://example.org/a", text(WORDS), title="A", language="en", body_key=ONE)


def known(store: Store) -> set[bytes]:
    return {*pages_by_body(session_of(store), [ONE, TWO, THREE])}


def test_a_page_is_given_back_as_it_was_read_by_its_body_and_by_its_url(store: Store) -> None:
    assert pages_by_body(session_of(store), []) == {}
    store.check([READ])
    [by_body] = pages_by_body(session_of(store), [ONE, TWO]).values()
    for found in (by_body, page_by_url(session_of(store), READ.url)):
        assert found is not None
        assert found.main_text == READ.main_text
        assert replace(found, signature=None, text=READ.text) == READ
        assert found.signature == sign(text(WORDS))
        assert [verdict.status for verdict in store.check([found])] == ["unchanged"]
    assert page_by_url(session_of(store), READ.url, "another scope") is None
    assert page_by_url(session_of(store), "https://example.org/b") is None
    # Another address with the same bytes; either may be named.
    store.check([replace(READ, url="https://mirror.example/a")])
    assert pages_by_body(session_of(store), [ONE])[ONE].main_text == READ.main_text


@pytest.mark.parametrize(
    ("now", "key"),
    [
        ({"body_key": TWO}, TWO),
        ({"body_key": None}, ONE),  # known already
        ({"body_key": TWO, "title": "Another"}, ONE),
        ({"body_key": TWO, "language": "de"}, ONE),
        ({"body_key": TWO, "text": f"{text(WORDS)}\n".upper()}, TWO),
    ],
    ids=["new bytes", "no bytes", "title", "language", "case"],
)
def test_a_page_takes_the_key_of_its_new_bytes_only_under_the_same_title(
    store: Store, now: dict[str, Any], key: bytes
) -> None:
    store.check([READ])
    again = replace(READ, **now)
    [verdict] = store.check([again])
    assert verdict.status == "unchanged"
    assert known(store) == {key}
    assert pages_by_body(session_of(store), [key])[key].main_text == again.main_text


def test_a_page_that_changes_in_one_batch_has_its_last_key(store: Store) -> None:
    changed = replace(READ, text=text(WORDS[::-1]), body_key=TWO)
    verdicts = store.check([READ, changed, replace(changed, body_key=THREE)])
    assert [verdict.status for verdict in verdicts] == ["new", "changed", "unchanged"]
    assert known(store) == {THREE}
    assert pages_by_body(session_of(store), [THREE])[THREE].main_text == changed.main_text
    assert store.admin.forget(READ.url) == 1
    assert known(store) == set()


def test_where_no_texts_are_kept_nothing_is_known_of_bodies(store: Store) -> None:
    for _ in range(2):
        store.check([READ], rules=Rules(store_text=False))
        assert known(store) == set()
    found = page_by_url(session_of(store), READ.url)
    assert found is not None
    assert (found.main_text, found.title, found.body_key) == (None, "A", None)
