"""The rules of a store, and stores whose index is for other rules than those of a call."""

from __future__ import annotations

import random
import time
from functools import partial
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from shingling import Page, Rules, Scheme, Signature, Store, sign
from shingling.errors import BandingError, SettingsError
from shingling.rules import METHODS, Keys, Method
from shingling.similarity.measures import equal_supershingles
from shingling.sketch import Banding
from shingling.store import indexing
from shingling.store.decide.check import check_batch
from shingling.store.index import Index
from shingling.store.indexing import fit_index
from tests.support.invariants import beginning, ending, entries_of, text, verify, words
from tests.support.stores import (
    both_databases,
    break_table,
    execute,
    mend_table,
    rows_of,
    session_of,
    url_of,
)

if TYPE_CHECKING:
    from pathlib import Path

    from shingling import Verdict
    from shingling.store.model import IndexShape

BASE = words("base")
A = text(BASE)
ALIKE = text(ending(BASE, "alike", 20))  # resemblance 76 / 116 = 0.655
SHORT = " ".join(words("short", 10))


def statuses(store: Store, *texts: str, **options: Any) -> list[str]:
    """Return the verdicts on pages of these texts, each under a URL of its own."""
    names = [f"{number}: {body[:9]}" for number, body in enumerate(texts)]
    pages = [Page(name, body) for name, body in zip(names, texts, strict=True)]
    return [verdict.status for verdict in store.check(pages, **options)]


@both_databases
@pytest.mark.parametrize(
    ("values", "texts", "expected"),
    [
        ({}, (A, ALIKE, SHORT), ["new", "near", "skipped"]),
        ({"threshold": 0.8}, (A, ALIKE), ["new", "new"]),
        ({"method": "exact"}, (A, ALIKE), ["new", "new"]),
        ({"method": "simhash", "simhash_distance": 0}, (A, ALIKE), ["new", "new"]),
        ({"min_words": 10}, (A, SHORT), ["new", "new"]),
        ({"containment": 0.9}, (A, text(BASE[20:60])), ["new", "near"]),
        (
            {"store_text": False, "templates": False, "original_max_age_days": 1},
            (A, ALIKE),
            ["new", "near"],
        ),
    ],
)
def test_an_open_store_decides_by_each_of_its_rules(
    file: Path, values: dict[str, Any], texts: tuple[str, ...], expected: list[str]
) -> None:
    with Store.open(url_of(file), **values) as store:
        assert store.rules == Rules(**values)
        assert statuses(store, *texts) == expected
        assert (store.text(next(store.pages())) is None) == (values.get("store_text") is False)
    with Store.open(url_of(file.with_stem("whole")), rules=Rules(**values)) as store:
        assert statuses(store, *texts) == expected


def test_a_call_may_say_otherwise(file: Path) -> None:
    with Store.open(url_of(file), threshold=0.6, min_words=5) as store:
        assert statuses(store, A, ALIKE, SHORT, threshold=0.9) == ["new", "new", "new"]
        assert statuses(store, A, rules=Rules(threshold=0.7)) == ["unchanged"]
        assert store.rules == Rules(threshold=0.6, min_words=5)


def test_upkeep_follows_the_rules_of_the_open_store(file: Path) -> None:
    with Store.open(url_of(file), threshold=0.6, own_text="ignore") as store:
        others = [text(ending(BASE, number, 20)) for number in range(3)]
        assert statuses(store, A, *others) == ["new", "near", "near", "near"]
    with Store.open(url_of(file), threshold=0.9, own_text="ignore") as store:
        assert store.admin.redecide(dry_run=True).to_original == 3
        index = store.status().index
        assert store.admin.rebuild() != index
        # The others are less alike than it asks for, and do not follow one another.
        assert store.admin.forget([f"0: {A[:9]}"]) == 1
        assert [page.status for page in store.pages()] == ["new"] * 3
    verify(file)


@pytest.mark.parametrize("single", [{"threshold": 0.8}, {"containment": None}])
def test_whole_and_single_rules_at_once_are_refused(file: Path, single: dict[str, Any]) -> None:
    with pytest.raises(SettingsError, match=f"rules were given, and {next(iter(single))} besides"):
        Store.open(url_of(file), rules=Rules(), **single)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"threshold": 0}, "threshold 0 is not accepted: above 0, at most 1"),
        ({"threshold": float("nan")}, "threshold nan is not accepted"),
        ({"threshold": "0.8"}, "threshold '0.8' is not accepted"),
        ({"method": "minhsh"}, "method 'minhsh' is not accepted: minhash or"),
        ({"min_words": -1}, "min_words -1 is not accepted: a whole number from 0 on"),
        ({"simhash_distance": 8}, "simhash distance 8 is not accepted: 0 to 7 bits"),
        ({"containment": 1.5}, "containment 1.5 is not accepted"),
        ({"containment": 0.9, "store_text": False}, "it needs store_text"),
        (
            {"original_max_age_days": 0},
            "original_max_age_days 0 is not accepted: a number above 0, or None",
        ),
        ({"store_text": "no"}, "store_text 'no' is not accepted: True or False"),
    ],
)
def test_a_rule_that_is_not_accepted_is_named_and_nothing_is_made(
    file: Path, values: dict[str, Any], message: str
) -> None:
    with pytest.raises(SettingsError, match=message):
        Store.open(url_of(file), **values)
    assert not file.exists()


@pytest.mark.parametrize(
    ("values", "command"),
    [
        ({"threshold": 0.5}, "scrapy dedup rebuild --threshold 0.5"),
        ({"method": "simhash"}, "scrapy dedup rebuild --method simhash"),
        ({"threshold": 0.8, "containment": 0.9}, "scrapy dedup rebuild .*--containment"),
    ],
)
def test_rules_that_a_stores_index_does_not_serve_name_the_command_that_makes_another(
    file: Path, values: dict[str, Any], command: str
) -> None:
    Store.open(url_of(file), threshold=0.8).close()
    with Store.open(url_of(file), **values) as store:
        with pytest.raises(BandingError, match=command):
            store.check([Page("a", A)])
        assert list(store.pages()) == []
        store.admin.rebuild()
        assert [one.status for one in store.check([Page("a", A)])] == ["new"]
    verify(file)


RULES = {
    "0.99": Rules(threshold=0.99),
    "0.5": Rules(threshold=0.5),
    "0.3": Rules(threshold=0.3),
    "megashingle": Rules(method="megashingle"),
    "simhash": Rules(method="simhash"),
    "both": Rules(method="minhash+simhash"),
    "pieces": Rules(containment=0.9, method="simhash"),
    "exact": Rules(method="exact"),
}
# More and fewer bands, bands and halves, with samples and without, in both directions.
MIXTURES = [
    *(("0.99", "0.3"), ("0.3", "0.99"), ("0.5", "megashingle"), ("megashingle", "0.5")),
    *(("both", "simhash"), ("simhash", "both"), ("0.5", "pieces"), ("pieces", "0.5")),
    *(("exact", "pieces"), ("simhash", "exact"), ("pieces", "megashingle"), ("exact", "0.3")),
]
LONG = words("base", 200)
PAGES = [
    Page("https://a.example/", text(LONG)),
    Page("https://b.example/copy", text(LONG)),
    Page("https://c.example/near", text(ending(LONG, "near", 1))),
    Page("https://d.example/less", text(ending(LONG, "less", 60))),
    Page("https://e.example/piece", text(LONG[40:120])),
    Page("https://f.example/other", text(words("other", 200))),
]
FIRST, LATER = PAGES[:1], PAGES[1:]


def decided(store: Store, rules: Rules, pages: list[Page]) -> list[Verdict]:
    return check_batch(session_of(store), pages, rules, run=None, dry_run=False, any_index=True)


def fit(store: Store, rules: Rules, run: int | None = None) -> str:
    return fit_index(session_of(store), rules, run, lambda *_: None)


def shape_of(store: Store) -> IndexShape:
    return store.status().index


@pytest.mark.parametrize(("made_for", "asked"), MIXTURES)
def test_any_index_serves_and_a_new_one_finds_all(file: Path, made_for: str, asked: str) -> None:
    rules, fresh = RULES[asked], file.with_stem("fresh")
    with Store.open(url_of(fresh), rules=rules) as store:
        best = [verdict.status for verdict in store.check(PAGES)[1:]]
    with Store.open(url_of(file), rules=RULES[made_for]) as store:
        store.check(FIRST)
        before = session_of(store).index
        short = before.shortfall(rules)
        found = [verdict.status for verdict in decided(store, rules, LATER)]
        assert found[0] == "exact"
        for status, of_fresh in zip(found, best, strict=True):
            assert status in ((of_fresh, "new") if short else (of_fresh,))
        assert {verdict.status for verdict in decided(store, rules, PAGES)} == {"unchanged"}
        if short:
            with pytest.raises(BandingError, match="scrapy dedup rebuild"):
                store.check(LATER, rules=rules)
        store.admin.forget([page.url for page in LATER], rules=rules)
        verify(file)

        assert fit(store, rules) == ""
        after = session_of(store).index
        assert after.shape == shape_of(store)
        assert (after == before) == (not short)
        assert after.sampled == (before.sampled or rules.containment is not None)
        if isinstance(before.keys_of, Banding) and isinstance(after.keys_of, Banding):
            assert after.keys_of.rows <= before.keys_of.rows, "it finds what the other one found"
        assert [verdict.status for verdict in store.check(LATER, rules=rules)] == best
    verify(file)


def test_a_threshold_below_what_any_index_finds_is_served_by_the_largest_one(file: Path) -> None:
    with Store.open(url_of(file), threshold=0.01) as store:
        assert shape_of(store).bands == 84
        assert [verdict.status for verdict in store.check(FIRST)] == ["new"]


def test_a_large_store_keeps_its_index(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(indexing, "MAX_PAGES", 5)
    monkeypatch.setattr(indexing, "MAX_PAGES_TO_SAMPLE", 4)
    with Store.open(url_of(file), threshold=0.8) as store:
        store.check(PAGES[:5])
        before = shape_of(store), entries_of(file, "bands")
        assert fit(store, Rules(containment=0.9)) == "the store has more than 4 pages"
        assert (shape_of(store), entries_of(file, "bands")) == before
        assert fit(store, Rules(threshold=0.5)) == ""
        store.check(PAGES[5:])
        assert fit(store, Rules(threshold=0.3)) == "the store has more than 5 pages"
    verify(file)


def test_an_index_that_takes_long_is_given_up(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pages = [Page(f"https://a.example/{at}", text(words(str(at)))) for at in range(600)]
    told: list[int] = []
    monkeypatch.setattr(indexing, "time", SimpleNamespace(monotonic=lambda: 31.0 * len(told)))
    with Store.open(url_of(file), threshold=0.8) as store:
        store.check(pages)
        before = shape_of(store), entries_of(file, "bands")
        why = fit_index(
            session_of(store), Rules(threshold=0.4), None, lambda done, _: told.append(done)
        )
        assert why == "a new one was not made within 30 seconds"
        assert told == [0]
        assert (shape_of(store), entries_of(file, "bands")) == before
        assert decided(store, Rules(threshold=0.4), pages[:1])[0].status == "unchanged"
    verify(file)


@both_databases
def test_an_error_leaves_the_index_as_it_was(file: Path) -> None:
    with Store.open(url_of(file), threshold=0.8) as store:
        store.check(PAGES)
        before = shape_of(store), entries_of(file, "bands")
        break_table(file, "BEFORE UPDATE", "scheme")
        assert "could not be made" in fit(store, Rules(threshold=0.4))
        mend_table(file, "scheme")
        assert (shape_of(store), entries_of(file, "bands")) == before
        assert decided(store, Rules(threshold=0.4), FIRST)[0].status == "unchanged"
    verify(file)


def test_a_crawl_that_is_running_keeps_its_kind_of_index(file: Path) -> None:
    with Store.open(url_of(file), threshold=0.5) as store:
        run = store.start_run("running")
        store.check(PAGES, run=run)
        before = shape_of(store)
        assert fit(store, Rules(method="simhash")) == "another crawl is using it"
        assert shape_of(store) == before
        assert fit(store, Rules(threshold=0.3)) == "", "it finds more by this one"
        assert fit(store, Rules(method="simhash"), run.id) == "", "its own"
        store.finish_run(run, "finished")
        assert fit(store, Rules()) == ""
    verify(file)


def test_a_crawl_that_was_killed_does_not_keep_its_kind_of_index(store: Store, file: Path) -> None:
    long_ago = int(time.time()) - 3600
    store.start_run("killed")
    store.check(PAGES)
    execute(
        file,
        f"UPDATE pages SET last_seen = {long_ago}",
        f"UPDATE runs SET started = {long_ago}",
    )
    assert fit(store, Rules(method="simhash")) == ""
    assert shape_of(store).indexed == "simhash"


def test_pages_without_texts_have_no_samples_and_others_get_them(file: Path) -> None:
    with Store.open(url_of(file), store_text=False) as store:
        store.check(FIRST)
    rules = Rules(containment=0.9)
    with Store.open(url_of(file), rules=rules) as store:
        assert fit(store, rules) == ""
        whole = Page("https://g.example/", text(words("whole", 200)))
        piece = Page("https://h.example/", text(words("whole", 200)[40:120]))
        assert [verdict.reason for verdict in store.check([whole, piece])] == [None, "piece"]
    assert rows_of(file, "SELECT sampled FROM scheme") == [(1,)]
    verify(file)


def test_what_an_index_finds_is_said_in_words() -> None:
    index = partial(Index.for_rules, scheme=Scheme())
    no_pieces = "and no pieces of pages (DEDUP_CONTAINMENT)"
    for made_for, asked, found in (
        ("0.5", "0.3", "about 54% of the pages with a resemblance of 0.3"),
        ("0.5", "simhash", "about 95% of the pages with a resemblance of 0.466"),
        ("0.99", "megashingle", "about 95% of the pages with a resemblance of 0.984"),
        ("simhash", "0.5", "only pages whose SimHashes differ in at most 3 bits"),
        ("0.3", "pieces", f"about 95% of the pages with a resemblance of 0.262, {no_pieces}"),
        ("0.3", "0.99", ""),
        ("simhash", "exact", ""),
    ):
        assert index(RULES[made_for]).shortfall(RULES[asked]) == found


# Methods of finding near-duplicates


def signed(simhash: int, seed: int = 0) -> Signature:
    """Return a signature of which only the SimHash is like any other."""
    minima = np.random.default_rng([seed, simhash % 2**32]).integers(0, 2**32, 84, np.uint32)
    text_hash = random.Random(simhash).randbytes(16)
    return Signature(minima, simhash, text_hash, 100)


def flipped(value: int, bits: int, seed: int, width: int = 64) -> int:
    for place in random.Random(seed).sample(range(width), bits):
        value ^= 1 << place
    return value


def test_a_method_is_only_a_row_of_the_table(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    method = Method("supershingle3", "by three of six", Keys.SUPERSHINGLES, supershingles=3)
    monkeypatch.setitem(METHODS, method.name, method)
    base = text(LONG)
    found = []
    with Store.open(url_of(file), method=method.name) as store:
        store.check([Page("https://a.example/", base)])
        for changed in range(1, 30):
            other = text(ending(LONG, "more", changed))
            equal = equal_supershingles(sign(base).minima, sign(other).minima)
            [verdict] = store.check([Page("https://a.example/other", other)], dry_run=True)
            assert (verdict.status == "near") == (equal >= 3), changed
            found.append(equal)
    assert {2, 3} <= {*found}


def test_pages_within_a_distance_are_found_with_and_without_an_index(file: Path) -> None:
    values = [flipped(0, apart, apart) for apart in range(12)]
    pages = [Page(f"https://a.example/{n}", signature=signed(v, n)) for n, v in enumerate(values)]
    for name, rules in (("a", Rules(method="exact")), ("b", Rules(method="simhash"))):
        with Store.open(url_of(file.with_stem(name)), rules=rules) as store:
            store.check(pages, rules=rules)
            found = store.within(signed(0, 0), 5, limit=100)
            assert [match.distance for match in found] == [0, 1, 2, 3, 4, 5]
            assert [match.page.url for match in found] == [page.url for page in pages[:6]]
            assert len(store.within(signed(0, 0), 64, limit=100)) == 12
            assert len(store.within(signed(0, 0), 5, limit=2)) == 2


# What went wrong once


def test_by_the_method_exact_a_group_without_its_original_keeps_only_copies(store: Store) -> None:
    edits = [text(ending(LONG, 1, 18)), text(beginning(LONG, 2, 18))]
    urls = [f"https://a.example/{number}" for number in range(4)]
    texts = [text(LONG), *edits, edits[1]]
    store.check([Page(url, one) for url, one in zip(urls, texts, strict=True)])
    store.admin.forget(urls[:1], rules=Rules(method="exact"))
    assert [page.original for page in store.pages()] == [None, None, urls[2]]


def test_long_shingles_of_characters_leave_no_page_out(file: Path) -> None:
    scheme = Scheme(40, unit="characters")
    main_text = text([f"abcdefghij{number}" for number in range(30)])
    with Store.open(url_of(file), scheme=scheme) as store:
        pages = [Page(f"https://a.example/{n}", main_text) for n in range(2)]
        pages.append(Page("https://a.example/near", main_text + " more"))
        verdicts = store.check(pages)
        assert [verdict.status for verdict in verdicts] == ["new", "exact", "near"]
    verify(file)
