"""What the store keeps of the URLs of sites: rules, fetched pages, skipped requests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import shingling.fetching.stored_rules
from shingling import Page, Store
from shingling.fetching.rows import RuleCounts, SkippedUrl
from shingling.fetching.stored_rules import forget_rules, pin_rule, read_rules, read_skipped, save
from tests.support.invariants import text, words
from tests.support.stores import execute, session_of, url_of

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

SITE = "example.org"
SID = "drop-parameter sid"


def counts(change: str = SID, node: str = SITE, site: str = SITE, **numbers: Any) -> RuleCounts:
    return RuleCounts(site, change, node, **numbers)


def skipped(number: int, spider: str = "spider", request: str | None = "{}") -> SkippedUrl:
    url = f"https://{SITE}/{number}?sid=1"
    return SkippedUrl(SITE, url, f"https://{SITE}/{number}", (SID,), request, spider)


def rules_of(store: Store, site: str | None = SITE) -> dict[tuple[str, str], tuple[object, ...]]:
    with session_of(store).reading() as connection:
        found = [*read_rules(connection, site)]
    return {(one.change, one.node): one[3:] for one in found}


def skipped_of(store: Store, spider: str = "spider") -> list[SkippedUrl]:
    with session_of(store).reading() as connection:
        return read_skipped(connection, SITE, spider)


def test_what_several_crawlers_have_counted_adds_up(store: Store, file: Path) -> None:
    with Store.open(url_of(file)) as other:
        save(session_of(store), [counts(agreed=3, saved=1), counts(agreed=2)])
        save(session_of(other), [counts(agreed=-1, contradicted=1, explored=4)])
        save(session_of(other), [counts(node=f"{SITE}/show", agreed=7)])
    assert rules_of(store) == {
        (SID, SITE): (4, 1, 1, 4, None),
        (SID, f"{SITE}/show"): (7, 0, 0, 0, None),
    }
    assert rules_of(store, "other.example") == {}
    status = store.status()
    assert (status.url_rules, status.skipped_urls) == (2, 0)


def test_a_persons_word_stays_and_counts_go_on(store: Store) -> None:
    save(session_of(store), [counts(agreed=3)])
    pin_rule(session_of(store), SITE, SID, SITE, pinned=False)
    save(session_of(store), [counts(agreed=3)])
    assert rules_of(store) == {(SID, SITE): (6, 0, 0, 0, False)}
    pin_rule(session_of(store), SITE, "drop-parameter new", SITE, pinned=True)
    pin_rule(session_of(store), SITE, SID, SITE, pinned=None)
    assert rules_of(store)[SID, SITE] == (6, 0, 0, 0, None)
    save(session_of(store), [counts(agreed=-4), counts(agreed=-5)])  # halved by two at once
    assert rules_of(store)[SID, SITE][0] == 0
    assert rules_of(store)["drop-parameter new", SITE] == (0, 0, 0, 0, True)
    assert forget_rules(session_of(store), SITE, SID) == 1
    assert forget_rules(session_of(store), SITE) == 1
    assert rules_of(store) == {}


def test_skipped_requests_are_bounded(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shingling.fetching.stored_rules, "MAX_SKIPPED_OF_SITE", 3)
    for second in range(4):
        monkeypatch.setattr("time.time", lambda second=second: 1_700_000_000.0 + second)
        save(session_of(store), (), [skipped(3 * second + number) for number in range(3)])
    assert {one.url for one in skipped_of(store)} == {skipped(n).url for n in (9, 10, 11)}


def test_rows_of_any_size_and_any_characters_are_refused_or_kept_harmless(store: Store) -> None:
    long = "x" * 1_000_000
    save(
        session_of(store),
        [
            counts(change=f"drop-parameter {long}"),
            counts(node=f"{SITE}/{long}"),
            counts(site=long),
            counts(change="drop-parameter \x00\ud800"),
        ],
        [
            skipped(1, request=long),
            skipped(2, "spider\x00\ud800"),
            skipped(3)._replace(rules=(long,)),
            skipped(4)._replace(url=f"https://user:secret@{SITE}/{long}"),
            skipped(5)._replace(url=f"https://{SITE}/\x00\x1b", page=long),
        ],
    )
    assert rules_of(store, None) == {}
    kept = {one.url: one for one in skipped_of(store)}
    assert kept.pop(skipped(1).url).request is None
    assert sorted(map(len, kept)) == [len(f"https://{SITE}/%00%1B"), 8192]
    assert "secret" not in str(kept)


def test_damaged_rows_are_left_out(store: Store, file: Path) -> None:
    rules = [counts(agreed=1), counts("lower-case", agreed=1)]
    save(session_of(store), rules, [skipped(1), skipped(2)])
    execute(
        file,
        "UPDATE url_rules SET agreed = 1000000000000000000 WHERE change = 'lower-case'",
        "UPDATE skipped_urls SET rules = '[' WHERE url LIKE '%/2?%'",
    )
    assert [*rules_of(store)] == [(SID, SITE)]
    assert [one.url for one in skipped_of(store)] == [skipped(1).url]


def test_skipped_requests_are_forgotten_with_their_page_or_site_and_pruned_by_age(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.check([Page(f"https://{SITE}/1", text(words("a")))])
    with monkeypatch.context() as patch:
        patch.setattr("time.time", lambda: 1_700_000_000.0)
        save(session_of(store), [counts(agreed=1)], [skipped(1), skipped(2), skipped(3)])
    save(session_of(store), (), [skipped(4)])
    assert store.admin.forget([f"https://{SITE}/1", skipped(2).url]) == 1
    assert {one.url for one in skipped_of(store)} == {skipped(3).url, skipped(4).url}
    store.admin.forget(older_than=1)
    assert {one.url for one in skipped_of(store)} == {skipped(4).url}
    assert rules_of(store) != {}
    store.admin.forget(site=SITE)
    assert (skipped_of(store), rules_of(store)) == ([], {})


def test_a_skipped_request_that_is_made_after_all_is_no_longer_kept(store: Store) -> None:
    save(session_of(store), (), [skipped(1), skipped(2), skipped(1, "other")])
    save(session_of(store), made=[("spider", skipped(1).url)])
    assert [one.url for one in skipped_of(store)] == [skipped(2).url]
    assert [one.url for one in skipped_of(store, "other")] == [skipped(1).url]
