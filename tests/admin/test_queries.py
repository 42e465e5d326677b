"""Questions to a store, and pages that it is made to forget."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import numpy as np
import pytest
from sqlalchemy import make_url

from shingling import Page, Rules, Signature, Store, sign
from shingling.errors import StoreError
from shingling.similarity import estimate
from tests.support.invariants import (
    beginning,
    containment,
    ending,
    entries_of,
    jaccard,
    text,
    words,
)
from tests.support.stores import is_postgres, rows_of, url_of

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from shingling.store import StoredPage

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


@pytest.mark.parametrize("threshold", [0.05, 0.3, 0.5, 0.7])
def test_below_the_bands_every_page_is_measured(store: Store, threshold: float) -> None:
    texts = shelf()
    store.check([Page(url, main_text) for url, main_text in texts.items()])
    wanted = {url: jaccard(A, main_text) for url, main_text in texts.items()}
    matches = store.similar(sign(A), threshold, limit=100, text=A)
    estimates = {url: estimate(sign(A), sign(main_text)) for url, main_text in texts.items()}
    assert {match.page.url: match.resemblance for match in matches} == {
        url: likeness
        for url, likeness in wanted.items()
        if likeness >= threshold and estimates[url] >= threshold / 2
    }
    missed = sum(likeness >= threshold for likeness in wanted.values()) - len(matches)
    assert missed <= (2 if threshold == 0.05 else 0)
    assert all(match.measured for match in matches)
    assert all(match.containment == containment(A, texts[match.page.url]) for match in matches)
    order = [(-match.resemblance, match.page.id) for match in matches]
    assert order == sorted(order)


@pytest.mark.parametrize("threshold", [0.8, 0.9, 1.0])
def test_within_the_bands_reach_duplicates_are_found_beside_their_originals(
    store: Store, threshold: float
) -> None:
    texts = shelf()
    store.check([Page(url, main_text) for url, main_text in texts.items()])
    assert store.find("copy 0")[0].original == "end 0"
    matches = store.similar(sign(A), threshold, limit=100, text=A)
    assert {match.page.url: match.resemblance for match in matches} == {
        url: jaccard(A, main_text)
        for url, main_text in texts.items()
        if jaccard(A, main_text) >= threshold
    }
    assert {"end 0", "copy 0"} <= {match.page.url for match in matches}


@pytest.mark.parametrize("threshold", [0.2, 0.5, 0.85])
def test_without_a_text_resemblance_is_estimated(store: Store, threshold: float) -> None:
    texts = shelf()
    store.check([Page(url, main_text) for url, main_text in texts.items()])
    matches = store.similar(sign(A), threshold, limit=100)
    assert {match.page.url: match.resemblance for match in matches} == {
        url: estimate(sign(A), sign(main_text))
        for url, main_text in texts.items()
        if estimate(sign(A), sign(main_text)) >= threshold
    }
    assert not any(match.measured for match in matches)


def test_where_texts_are_not_stored_resemblance_is_estimated(store: Store) -> None:
    store.check([Page("a", A)], rules=Rules(store_text=False))
    store.check([Page("b", NEAR)], rules=Rules(method="exact"))
    matches = store.similar(sign(A), 0.8, text=A)
    assert [(match.page.url, match.measured) for match in matches] == [("a", False), ("b", True)]


@pytest.mark.parametrize("threshold", [0.1, 0.8])
def test_at_most_limit_pages_are_shown_and_they_are_the_best(
    store: Store, threshold: float
) -> None:
    store.check([Page(url, main_text) for url, main_text in shelf().items()])
    for given in (A, None):
        every = store.similar(sign(A), threshold, limit=100, text=given)
        assert len(every) > 4
        for limit in (0, 1, 4):
            assert store.similar(sign(A), threshold, limit, text=given) == every[:limit]


def test_a_scan_of_more_rows_than_are_read_at_once_finds_the_best(store: Store) -> None:
    generator = np.random.default_rng(1)
    minima = [generator.integers(0, 1 << 32, 84, dtype=np.uint32) for _ in range(4500)]
    for at in (10, 2500, 4400):
        minima[at][: 30 + at // 1000] = sign(A).minima[: 30 + at // 1000]
    store.check(
        [
            Page(f"{at}", signature=Signature(own, at, at.to_bytes(16, "big"), 100))
            for at, own in enumerate(minima)
        ]
    )
    matches = store.similar(sign(A), 0.3)
    assert [(match.page.url, match.resemblance) for match in matches] == [
        ("4400", 34 / 84),
        ("2500", 32 / 84),
        ("10", 30 / 84),
    ]


def test_nothing_is_similar_to_a_text_without_words(store: Store) -> None:
    store.check([Page("a", A)])
    assert store.similar(sign(""), 0.01) == []


def test_asking_changes_nothing(store: Store, file: Path) -> None:
    store.check([Page(url, main_text) for url, main_text in shelf().items()])
    tables = ("pages", "bands", "recent", "logs")
    before = [rows_of(file, f"SELECT * FROM {table}") for table in tables]  # noqa: S608
    store.similar(sign(A), 0.1, text=A)
    list(store.pages())
    list(store.groups())
    store.find("end 0")
    store.admin.forget(["end 0"], dry_run=True)
    store.status()
    after = [rows_of(file, f"SELECT * FROM {table}") for table in tables]  # noqa: S608
    assert after == before


# find, pages, groups


def test_a_url_that_is_not_stored_is_not_found(store: Store) -> None:
    store.check([Page("a", A)])
    assert store.find("b") == []


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
    ("status", "found"),
    [
        ("new", ["a", "other", "changing"]),
        ("exact", ["copy", "other copy"]),
        ("near", ["near"]),
        ("skipped", ["short"]),
        ("changed", ["changing"]),
        ("unchanged", ["a"]),
        ("nonsense", []),
    ],
)
def test_pages_are_listed_by_standing_or_last_verdict(
    library: Store, status: str, found: list[str]
) -> None:
    assert urls(library.pages(status=status)) == found


def test_pages_are_listed_by_site(library: Store) -> None:
    assert urls(library.pages(site="two.org")) == ["copy", "short", "other"]
    assert list(library.pages(site="www.two.org")) == []


def test_pages_are_listed_by_when_they_were_seen_last(library: Store) -> None:
    assert urls(library.pages(since=600)) == ["a", "changing", "other copy"]
    assert urls(library.pages(since=900)) == ["a"]
    assert list(library.pages(since=901)) == []


def test_pages_are_listed_oldest_first_up_to_a_limit(library: Store) -> None:
    every = list(library.pages())
    assert [page.id for page in every] == list(range(1, 8))
    for limit in (0, 3, 100):
        assert list(library.pages(limit=limit)) == every[:limit]


def test_filters_of_pages_hold_together(library: Store) -> None:
    found = library.pages(status="exact", site="one.org", since=650, limit=5)
    assert urls(found) == ["other copy"]


def test_the_largest_groups_come_first(library: Store) -> None:
    groups = list(library.groups())
    assert [(urls([group.original]), urls(group.duplicates)) for group in groups] == [
        (["a"], ["copy", "near"]),
        (["other"], ["other copy"]),
    ]
    assert list(library.groups(limit=1)) == groups[:1]
    for group in groups:
        assert library.duplicates(group.original) == list(group.duplicates)
        assert library.duplicates(group.duplicates[0]) == []


def test_groups_of_one_size_come_oldest_first(store: Store) -> None:
    for name in "cab":
        store.check([Page(f"{name}{at}", text(words(name))) for at in range(3)])
    assert [group.original.url for group in store.groups()] == ["c0", "a0", "b0"]


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


def test_no_text_comes_back_where_it_is_not_kept(store: Store) -> None:
    store.check([Page("a", A)], rules=Rules(store_text=False))
    store.check([Page("b", signature=sign(OTHER))])
    assert [store.text(page) for page in store.pages()] == [None, None]


def test_a_signature_comes_back_as_it_was(store: Store) -> None:
    signatures = [sign(text(words(seed))) for seed in range(50)]
    store.check([Page(f"{at}", signature=signature) for at, signature in enumerate(signatures)])
    assert [store.signature(page) for page in store.pages()] == signatures
    assert {signature.simhash >> 63 for signature in signatures} == {0, 1}, "of either sign"


def test_the_signature_of_a_forgotten_page_is_an_error(store: Store) -> None:
    store.check([Page("a", A)])
    [page] = store.find("a")
    store.admin.forget(["a"])
    with pytest.raises(StoreError, match="page 1 is no longer stored"):
        store.signature(page)
    assert store.text(page) is None


def test_the_status_counts_pages_and_names_what_the_store_is(library: Store, file: Path) -> None:
    library.start_run("spider")
    status = library.status()
    counted = ("pages", "originals", "duplicates", "exact", "near", "runs")
    assert {name: getattr(status, name) for name in counted} == {
        "pages": 7,
        "originals": 4,
        "duplicates": 3,
        "exact": 2,
        "near": 1,
        "runs": 1,
    }
    assert (status.scheme, status.index) == (library.scheme, library._session.index.shape)
    shown = status.as_dict()
    assert shown["scheme"] == {"id": library.scheme.id, "shingle_size": 5, "version": 2}
    assert shown["index"] == {"indexed": "minima", "bands": 28, "rows": 3, "sampled": False}
    assert status.url == make_url(url_of(file)).render_as_string(hide_password=True)
    if not is_postgres(file):
        files = [path for path in file.parent.iterdir() if not path.name.endswith("-shm")]
        assert status.bytes == sum(path.stat().st_size for path in files)


def test_the_size_of_a_store_grows_with_its_pages(store: Store) -> None:
    before = store.status().bytes
    store.check([Page(f"{seed}", text(words(seed))) for seed in range(200)])
    assert store.status().bytes > before + 200 * 336


def test_a_run_records_what_was_decided_in_it(store: Store) -> None:
    run = store.start_run("news", {"DEDUP_THRESHOLD": 0.8})
    store.check([Page("a", A), Page("b", A), Page("c", None)], run=run)
    store.check([Page("a", A), Page("d", NEAR), Page("b", OTHER)], run=run)
    counts = {"new": 1, "exact": 1, "skipped": 1, "unchanged": 1, "near": 1, "changed": 1}
    assert run.counts == counts
    [shown] = store.runs()
    assert (shown.finished, shown.outcome, shown.counts) == (None, None, counts)
    store.finish_run(run, "finished")
    [shown] = store.runs()
    assert (shown.spider, shown.outcome, shown.counts) == ("news", "finished", counts)
    assert shown.settings == {"DEDUP_THRESHOLD": 0.8}
    assert shown.finished is not None
    assert shown.finished >= shown.started


def test_runs_come_newest_first_up_to_a_limit(store: Store) -> None:
    for name in "abc":
        store.start_run(name)
    assert [run.spider for run in store.runs()] == ["c", "b", "a"]
    assert [run.spider for run in store.runs(limit=2)] == ["c", "b"]


def test_a_page_belongs_to_the_run_that_stored_it_first(store: Store) -> None:
    first, second = store.start_run("one"), store.start_run("two")
    store.check([Page("a", A)], run=first)
    store.check([Page("a", OTHER), Page("b", A)], run=second)
    assert [page.run for page in store.pages()] == [first.id, second.id]


# forget


def test_a_forgotten_page_leaves_no_row(store: Store, file: Path) -> None:
    store.check([Page("a", A), Page("b", OTHER)])
    assert store.admin.forget(["a"]) == 1
    assert [page.url for page in store.pages()] == ["b"]
    assert rows_of(file, "SELECT page_id FROM texts") == [(2,)]
    assert {page_id for _, page_id in entries_of(file, "bands")} == {2}
    assert store.check([Page("c", NEAR)])[0].status == "new"


def test_forgetting_an_unknown_url_or_nothing_removes_nothing(library: Store) -> None:
    assert library.admin.forget(["https://nowhere.org/"]) == 0
    assert library.admin.forget() == 0
    assert library.admin.forget(site="nowhere.org") == 0
    assert library.status().pages == 7


@pytest.mark.parametrize("forgotten", [["a"], ["a", "b"], ["a", "c", "d"], ["c"]])
def test_when_an_original_is_forgotten_its_oldest_duplicate_takes_its_place(
    store: Store, forgotten: list[str]
) -> None:
    near = text(ending(BASE, 1, 3))
    pages = [Page("a", A), Page("b", A), Page("c", near), Page("d", near), Page("e", A)]
    store.check(pages)
    assert store.admin.forget(forgotten) == len(forgotten)
    left = [page for page in pages if page.url not in forgotten]
    head = left[0]
    assert [(page.url, page.original) for page in store.pages()] == [
        (page.url, None if page is head else head.url) for page in left
    ]
    assert [page.resemblance for page in store.pages()][1:] == [
        jaccard(page.text or "", head.text or "") for page in left[1:]
    ]
    [verdict] = store.check([Page("f", text(ending(BASE, 2, 2)))])
    assert (verdict.status, verdict.original) == ("near", head.url)


def test_duplicates_that_are_not_alike_part_when_their_original_is_forgotten(store: Store) -> None:
    left, right = text(ending(BASE, 1, 10)), text(beginning(BASE, 2, 10))
    store.check([Page("a", A), Page("left", left), Page("right", right)])
    assert [len(group.duplicates) for group in store.groups()] == [2]
    store.admin.forget(["a"], rules=Rules(threshold=0.8))
    assert list(store.groups()) == []
    assert {page.status for page in store.pages()} == {"new"}


def test_the_threshold_says_who_follows_when_an_original_is_forgotten(store: Store) -> None:
    store.check([Page("a", A), Page("b", NEAR), Page("c", text(ending(BASE, 3, 5)))])
    store.admin.forget(["a"], rules=Rules(threshold=0.95))
    assert [page.original for page in store.pages()] == [None, None]


def test_a_site_is_forgotten(library: Store) -> None:
    assert library.admin.forget(site="one.org", dry_run=True) == 4
    assert library.admin.forget(site="one.org") == 4
    assert [(page.url, page.original) for page in library.pages()] == [
        ("https://www.two.org/copy", None),
        ("https://www.two.org/short", None),
        ("https://www.two.org/other", None),
    ]


def test_a_run_is_forgotten_but_still_listed(store: Store) -> None:
    run, other = store.start_run("one"), store.start_run("two")
    store.check([Page("a", A), Page("b", OTHER)], run=run)
    store.check([Page("c", A)], run=other)
    assert store.admin.forget(run=run.id, dry_run=True) == store.admin.forget(run=run.id) == 2
    assert [(page.url, page.original) for page in store.pages()] == [("c", None)]
    assert len(store.runs()) == 2


def test_a_url_is_forgotten_in_every_scope(store: Store) -> None:
    store.check([Page("a", A, scope=scope) for scope in ("", "one", "two")])
    assert store.admin.forget(["a"], dry_run=True) == store.admin.forget(["a"]) == 3


def test_urls_and_site_are_forgotten_together(library: Store) -> None:
    chosen = ["https://one.org/a", "https://one.org/a", "https://www.two.org/short"]
    assert library.admin.forget(chosen, site="two.org", dry_run=True) == 4
    assert library.admin.forget(chosen, site="two.org") == 4
    assert urls(library.pages()) == ["near", "changing", "other copy"]


def test_a_forgotten_page_that_comes_back_is_the_youngest(store: Store) -> None:
    store.check([Page("a", A), Page("b", A)])
    store.admin.forget(["a"])
    [verdict] = store.check([Page("a", A)])
    assert (verdict.status, verdict.original, verdict.page_id) == ("exact", "b", 3)


def test_thousands_of_pages_are_forgotten_at_once(store: Store) -> None:
    generator = random.Random(1)
    pages = [
        Page(
            f"https://example.org/{at}",
            signature=Signature(
                np.frombuffer(generator.randbytes(336), dtype="<u4"), at, bytes([at % 250]) * 16, 50
            ),
        )
        for at in range(1500)
    ]
    store.check(pages)
    assert store.status().duplicates == 1250
    assert store.admin.forget([page.url for page in pages[:1200]]) == 1200
    assert store.status().originals == 250
    assert store.admin.forget(site="example.org") == 300
