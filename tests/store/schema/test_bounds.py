"""Extreme values on every way into a store: refused in one line, or harmless ever after."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from shingling import Page, Store
from shingling.bulk.feeds import seconds_of
from shingling.errors import PageError
from shingling.store.model import LAST_SECOND, from_seconds
from shingling.store.urls import site_of
from tests.support.commands import Done, dedup_command
from tests.support.pages import article

if TYPE_CHECKING:
    from pathlib import Path

NUMBERS = (-1, 0, 1, 2**31, 2**53, 2**53 + 1, 2**62, 2**63 - 1, 2**64, 10**18, 1e18, 1e308, 0.5)
ODD: tuple[Any, ...] = (
    *(None, True, "", "\0", "x" * 5000, math.nan, math.inf, -0.0),
    *([], {}, [[1]], {"new": "many"}),
)
FIELDS = {
    "run": ("id", "started", "finished", "outcome", "counts", "settings", "spider"),
    "page": (
        *("id", "first_seen", "last_seen", "words", "resemblance", "containment", "original_id"),
        *("run", "scope", "url", "title", "language", "site", "source", "last_verdict"),
    ),
    "store": ("created", "pages", "index", "packs", "extractors", "format"),
}


def dedup(*arguments: str) -> Done:
    with pytest.MonkeyPatch.context() as patch:
        return dedup_command(patch, *arguments)


CASES = [(kind, field) for kind, fields in FIELDS.items() for field in fields]


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """Records of a store with two pages, one of them a duplicate, and a run."""
    folder = tmp_path_factory.mktemp("exported")
    url = f"sqlite:///{folder}/dedup.db"
    with Store.open(url) as store:
        run = store.start_run("spider")
        pages = [Page(f"https://example.org/{number}", article(1)) for number in range(2)]
        store.check(pages, run=run)
        store.finish_run(run, "finished")
    done = dedup("export", f"{folder}/all.jsonl", "--store", url)
    assert done.code == 0, done.err
    return [json.loads(line) for line in (folder / "all.jsonl").read_text().splitlines()]


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(case=st.sampled_from(CASES), value=st.sampled_from(NUMBERS + ODD))
def test_an_extreme_value_is_refused_or_never_harms_the_store(
    tmp_path_factory: pytest.TempPathFactory,
    exported: list[dict[str, Any]],
    case: tuple[str, str],
    value: object,
) -> None:
    folder = tmp_path_factory.mktemp("bounds")
    kind, field = case
    changed, found = [], False
    for record in exported:
        hit = record["record"] == kind and not found
        found = found or hit
        changed.append({**record, field: value} if hit else record)
    use(folder, "\n".join(map(json.dumps, changed)))


def use(folder: Path, text: str) -> None:
    """Import records twice, and use the store in every way."""
    file, url = folder / "all.jsonl", f"sqlite:///{folder}/dedup.db"
    file.write_text(text)
    done = dedup("import", f"{file}", "--store", url)
    assert done.code in (0, 2), done.err
    assert "Traceback" not in done.err
    if done.code:
        assert len(done.err.splitlines()) == 1, done.err
        return
    commands = (
        ("status",),
        ("list", "--json"),
        ("list",),
        ("show", "https://example.org/1"),
        ("import", f"{file}"),
        ("export", f"{folder}/again.jsonl"),
    )
    for command in commands:
        used = dedup(*command, "--store", url)
        assert used.code in (0, 1), (command, used.err)
        assert "Traceback" not in used.err
    with Store.open(url) as store:
        (verdict,) = store.check([Page("https://example.org/new", article(7))])
        assert verdict.status == "new"
        for page in [*store.pages()]:
            assert store.similar(store.signature(page))
        json.dumps([run.as_dict() for run in store.runs()])


@pytest.mark.parametrize("fetched", [1e18, -1e18, math.nan, math.inf, LAST_SECOND + 1])
def test_a_page_fetched_in_no_year_is_refused(fetched: float) -> None:
    with pytest.raises(PageError, match="years 1 to 9999"):
        Page("https://example.org/", "text", fetched=fetched)
    assert seconds_of(fetched) is None


def test_times_of_items_are_those_that_can_be_shown() -> None:
    for time in ("0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00", True, "nan", "9" * 400):
        assert seconds_of(time) is None, time
    for moment in ("0001-01-01", "9999-12-31T23:59:59", "1e9", 5, "2024-02-29T12:00:00Z"):
        seconds = seconds_of(moment)
        assert seconds is not None
        from_seconds(int(seconds))


def test_scopes_and_sites_fit_into_an_index_of_postgresql() -> None:
    with pytest.raises(PageError, match="scope"):
        Page("https://example.org/", "text", scope="é" * 513)
    for host in ("a1" * 5000, "é€" * 5000, "İ" * 500):
        assert len(site_of(f"https://{host}/path").encode()) < 2000
