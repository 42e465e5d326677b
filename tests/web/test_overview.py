"""What a store holds, counted over time, by resemblance and by site."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest

from shingling import Page, Store
from shingling.fetching.rows import RuleCounts
from shingling.fetching.stored_rules import save
from shingling.store.session import Session
from shingling.web.overview import BINS, MAX_PERIODS, count_all
from tests.support.invariants import ending, text, words
from tests.support.stores import url_of

if TYPE_CHECKING:
    from pathlib import Path

DAY = 24 * 3600
START = 20_000 * DAY  # 2024-10-04


def look(file: Path) -> SimpleNamespace:
    with Session.open(url_of(file)) as session:
        counted = count_all(session)
    over_time, _, resemblances = counted["charts"]
    return SimpleNamespace(
        **counted, periods=over_time.rows, resemblances=[row[1][0] for row in resemblances.rows]
    )


def stored(name: str, number: int, day: int, changed: int = 0) -> Page:
    parts = ending(words(name, 120), f"{name} {number}", changed)
    url = f"http://www.{name}.example/{number}"
    return Page(url, text=text(parts), fetched=START + day * DAY + 3600)


def test_pages_are_counted_by_day_resemblance_and_site(file: Path, store: Store) -> None:
    run = store.start_run("news")
    store.check([stored("a", 0, 0), stored("b", 0, 0), stored("a", 1, 2, 4)], run=run)
    store.check([stored("a", 2, 2), stored("c", 0, 3)], run=run)
    run.counts.update(skipped_short=2, skipped_not_html=5)
    store.finish_run(run, "finished")
    found = look(file)
    assert found.periods == [
        ("2024-10-04", (2, 0)),
        ("2024-10-05", (0, 0)),
        ("2024-10-06", (0, 2)),
        ("2024-10-07", (1, 0)),
    ]
    assert found.sites == [("a.example", 3, 2)]
    near = store.find("http://www.a.example/1")[0].resemblance
    assert near is not None
    assert [place for place, number in enumerate(found.resemblances) if number] == [
        int(near * BINS)
    ]
    assert [one.id for one in found.runs] == [run.id]
    assert found.skipped == [("not_html", 5), ("short", 2)]


def test_long_times_have_as_many_bars_as_short_ones(file: Path, store: Store) -> None:
    store.check([stored("a", 0, 0), stored("b", 0, 200), stored("c", 0, 1000)])
    periods = look(file).periods
    assert len(periods) <= MAX_PERIODS
    assert [values for _, values in periods if any(values)] == [(1, 0)] * 3
    assert periods[0][0] == "2024-10-04 to 2024-10-20"
    assert periods[-1][0] == "2027-06-17 to 2027-07-03"


def test_an_empty_store_has_nothing_to_count(file: Path, store: Store) -> None:
    assert store.status().pages == 0
    found = look(file)
    assert (found.periods, found.sites, found.learned, found.skipped) == ([], [], [], [])
    assert sum(found.resemblances) == 0
    assert found.sites_with_templates == 0


@pytest.mark.parametrize("saved", [0, 7])
def test_rules_on_urls_are_shown_with_what_each_has_saved(
    file: Path, store: Store, saved: int
) -> None:
    assert store.status().url_rules == 0
    rules = [
        RuleCounts("a.example", f"drop-parameter {name}", node, 9, 0, saved, 1)
        for name in ("sid", "from")
        for node in ("/", "/a")
    ]
    with Session.open(url_of(file)) as session:
        save(session, rules=rules, skipped=[], made=[])
    assert look(file).learned == [
        ("a.example", "drop-parameter from", 2 * saved, 2, 0),
        ("a.example", "drop-parameter sid", 2 * saved, 2, 0),
    ]
