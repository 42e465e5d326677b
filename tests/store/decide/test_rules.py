"""The rules that a store is opened with, which it decides by until a call says otherwise."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from shingling import Page, Rules, Store
from shingling.errors import BandingError, SettingsError
from tests.support.invariants import ending, text, verify, words
from tests.support.stores import both_databases, url_of

if TYPE_CHECKING:
    from pathlib import Path

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
        ({"store_text": False, "templates": False, "window_days": 1}, (A, ALIKE), ["new", "near"]),
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
    with Store.open(url_of(file), threshold=0.6) as store:
        others = [text(ending(BASE, number, 20)) for number in range(3)]
        assert statuses(store, A, *others) == ["new", "near", "near", "near"]
    with Store.open(url_of(file), threshold=0.9) as store:
        assert store.admin.redecide(dry_run=True).to_original == 3
        index = store.status().index
        assert store.admin.rebuild() != index
        # The others are less alike than it asks for, and do not follow one another.
        assert store.admin.forget([f"0: {A[:9]}"]) == 1
        assert [page.status for page in store.pages()] == ["new"] * 3
    verify(file)


@pytest.mark.parametrize("single", [{"threshold": 0.8}, {"containment": None}])
def test_whole_rules_and_single_ones_at_once_are_refused(
    file: Path, single: dict[str, Any]
) -> None:
    with pytest.raises(SettingsError, match=f"rules were given, and {next(iter(single))} besides"):
        Store.open(url_of(file), rules=Rules(), **single)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"threshold": 0}, "threshold 0 is not accepted: above 0, at most 1"),
        ({"threshold": float("nan")}, "threshold nan is not accepted"),
        ({"threshold": "0.8"}, "threshold '0.8' is not accepted"),
        ({"method": "minhsh"}, "method 'minhsh' is not known: minhash or"),
        ({"min_words": -1}, "min_words -1 is not accepted: a whole number from 0 on"),
        ({"simhash_distance": 8}, "simhash distance 8 is not accepted: 0 to 7 bits"),
        ({"containment": 1.5}, "containment 1.5 is not accepted"),
        ({"containment": 0.9, "store_text": False}, "it needs store_text"),
        ({"window_days": 0}, "window_days 0 is not accepted: a number above 0, or None"),
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
