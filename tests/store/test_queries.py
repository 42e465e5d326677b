"""What the store can be asked."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from shingling import Page, Rules, Store, compare, sign
from tests.crawling import article

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

BASE = article(1)


def edited(places: int, seed: int = 0) -> str:
    """Return BASE with every so many words changed."""
    words = BASE.split()
    for place in range(places // 2, len(words), places):
        words[place] = f"edit{seed}x{place}"
    return " ".join(words)


PAGES = {
    "https://a.example/base": BASE,
    "https://b.example/near": edited(150),
    "https://www.b.example/copy": BASE,
    "https://c.example/half": edited(16),
    "https://c.example/less": edited(8),
    "https://d.example/other": article(2),
}


@pytest.fixture(params=[True, False], ids=["with texts", "without texts"])
def store(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Store]:
    with Store.open(f"sqlite:///{tmp_path / 'dedup.db'}") as made:
        run = made.start_run("news", {"threshold": 0.8})
        batch = [
            Page(url, text, title=url[-4:], fetched=1000.0 * number)
            for number, (url, text) in enumerate(PAGES.items())
        ]
        made.check(batch, rules=Rules(store_text=request.param), run=run)
        made.finish_run(run, "finished")
        yield made


@pytest.mark.parametrize("threshold", [0.0, 0.1, 0.4, 0.8, 0.95])
def test_similar_finds_what_a_comparison_with_every_page_finds(
    store: Store, threshold: float
) -> None:
    matches = store.similar(sign(BASE), threshold, text=BASE)
    for match in matches:
        exact = compare(BASE, PAGES[match.page.url])
        expected = exact.resemblance if match.exact else exact.estimate
        assert match.resemblance == pytest.approx(expected)
        assert match.resemblance >= threshold
    alike = {
        url for url, text in PAGES.items() if compare(BASE, text).resemblance > threshold + 0.13
    }
    found = [match.page.url for match in matches]
    assert alike <= set(found)
    assert [match.resemblance for match in matches] == sorted(
        (match.resemblance for match in matches), reverse=True
    )
    assert "https://www.b.example/copy" in found, "duplicates are found too"


def test_similar_keeps_to_the_limit_and_finds_nothing_like_no_words(store: Store) -> None:
    assert [match.resemblance for match in store.similar(sign(BASE), 0.1, 2)] == [1.0, 1.0]
    assert store.similar(sign(""), 0.0) == []


def test_similar_measures_on_texts_where_both_are_there(store: Store) -> None:
    kept = store.text(store.find("https://a.example/base")[0]) is not None
    assert {match.exact for match in store.similar(sign(BASE), text=BASE)} == {kept}
    assert {match.exact for match in store.similar(sign(BASE))} == {False}


def test_a_page_is_found_by_its_url_also_with_credentials(store: Store) -> None:
    [page] = store.find("https://user:word@b.example/near")
    assert page.url == "https://b.example/near"
    assert (page.status, page.original) == ("near", "https://a.example/base")
    assert store.find("https://b.example/") == []


def test_a_stored_signature_is_the_one_that_was_made(store: Store) -> None:
    for url, text in PAGES.items():
        assert store.signature(store.find(url)[0]) == sign(text)


def test_pages_are_listed_by_status_site_and_time(store: Store) -> None:
    def urls(**filters: object) -> list[str]:
        return [page.url for page in store.pages(**filters)]  # type: ignore[arg-type]  # as named

    assert urls() == list(PAGES)
    assert urls(status="near") == ["https://b.example/near"]
    assert urls(site="b.example") == ["https://b.example/near", "https://www.b.example/copy"]
    assert urls(since=4000) == ["https://c.example/less", "https://d.example/other"]
    assert urls(status="new", limit=1) == ["https://a.example/base"]


def test_groups_and_duplicates_are_stars_round_an_original(store: Store) -> None:
    [group] = store.groups()
    assert group.original.url == "https://a.example/base"
    assert [page.url for page in group.duplicates] == [
        "https://b.example/near",
        "https://www.b.example/copy",
    ]
    assert store.duplicates(group.original) == list(group.duplicates)
    assert store.duplicates(group.duplicates[0]) == []


def test_status_counts_and_runs_are_kept(store: Store) -> None:
    status = store.status()
    assert {"pages", "originals", "duplicates", "exact", "near", "runs", "scheme", "bytes"} <= set(
        status
    )
    assert (status["pages"], status["duplicates"], status["exact"], status["near"]) == (6, 2, 1, 1)
    [run] = store.runs()
    assert run["counts"] == {"new": 4, "near": 1, "exact": 1}
    assert run["settings"] == {"threshold": 0.8}
    assert (run["spider"], run["outcome"]) == ("news", "finished")


def test_forget_counts_first_and_removes_by_url_site_or_run(store: Store) -> None:
    assert store.count(["https://a.example/base", "https://none.example/"]) == 1
    assert store.forget(["https://a.example/base", "https://none.example/"]) == 1
    [group] = store.groups()
    assert group.original.url == "https://b.example/near", "the oldest duplicate takes its place"
    assert store.forget(site="c.example") == store.forget(site="b.example") == 2
    assert store.count(run=1) == 1
    assert store.forget(run=1) == 1
    assert store.status()["pages"] == 0


def test_a_batch_may_be_larger_than_a_statement_takes_parameters(tmp_path: Path) -> None:
    batch = [Page(f"https://a.example/{n}", f"page {n} " * 3 + article(n, 30)) for n in range(1500)]
    with Store.open(f"sqlite:///{tmp_path / 'large.db'}") as large:
        assert {verdict.status for verdict in large.check(batch)} == {"new"}
        assert {verdict.status for verdict in large.check(batch)} == {"unchanged"}
