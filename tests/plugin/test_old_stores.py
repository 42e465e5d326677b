"""Commands on a store whose exact duplicates have the same words, and on what it exports."""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from shingling import Page, Rules, Scheme, Store
from shingling.bulk import Options, deduplicate
from tests.support.commands import Done, dedup_command
from tests.support.invariants import verify
from tests.support.pages import article

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

EQUAL = f"What does a == b mean? {article(1)}"
UNEQUAL = EQUAL.replace("==", "!=")


@pytest.fixture
def dedup(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Done]:
    """Scrapy's command line in this process."""
    return partial(dedup_command, monkeypatch)


@pytest.fixture
def old(tmp_path: Path) -> Iterator[str]:
    """The URL of a store of version 1, with a page without its text."""
    file = tmp_path / "old.db"
    with Store.open(f"sqlite:///{file}", scheme=Scheme(version=1)) as store:
        store.check([Page("https://a.example/equal", EQUAL)])
        rules = Rules(store_text=False)
        store.check([Page("https://a.example/other", article(2))], rules=rules)
    yield f"sqlite:///{file}"
    verify(file)


def lines_of(done: Done) -> dict[str, str]:
    assert done.code == 0, done
    rows = (line.partition("  ") for line in done.out.splitlines())
    return {name: value.strip() for name, _, value in rows}


def test_status_says_what_exact_means(dedup: Any, old: str, tmp_path: Path) -> None:
    new = f"sqlite:///{tmp_path / 'new.db'}"
    Store.open(new).close()
    assert lines_of(dedup("status", "--store", new))["exact"] == "same text"
    assert lines_of(dedup("status", "--store", old))["exact"] == (
        "same words (made by an older release without all texts; new stores compare whole texts)"
    )
    assert dedup("status", "--store", new, "--json").json()["exact_means"] == "same text"


def test_a_feed_is_signed_by_the_version_of_the_store(dedup: Any, old: str) -> None:
    feed = json.dumps({"url": "https://b.example/", "text": UNEQUAL}).encode()
    assert dedup("import", "--store", old, stdin=feed).out == "1 page: 1 exact (100.0%)\n"


def test_a_collection_is_signed_by_the_version_of_the_store(old: str, tmp_path: Path) -> None:
    rows = tmp_path / "rows.jsonl"
    rows.write_text(json.dumps({"id": "https://b.example/", "text": UNEQUAL}), encoding="utf-8")
    for number, expected in enumerate(["exact", "near"]):
        url = old if expected == "exact" else f"sqlite:///{tmp_path / 'new.db'}"
        with Store.open(url) as store:
            if expected == "near":
                store.check([Page("https://a.example/equal", EQUAL)])
            summary = deduplicate([str(rows)], tmp_path / f"out{number}", Options(), store=store)
        assert summary.stored == {expected: 1}


def test_a_collection_with_other_symbols_has_no_exact_copies(tmp_path: Path) -> None:
    rows = tmp_path / "rows.jsonl"
    texts = [EQUAL, UNEQUAL, EQUAL.upper()]
    lines = [json.dumps({"id": number, "text": text}) for number, text in enumerate(texts)]
    rows.write_text("\n".join(lines), encoding="utf-8")
    summary = deduplicate([str(rows)], tmp_path / "out")
    assert (summary.unique, summary.near, summary.exact) == (1, 1, 1)


def test_pages_of_an_old_export_are_signed_anew_where_they_have_texts(
    dedup: Any, old: str, tmp_path: Path
) -> None:
    new, file = f"sqlite:///{tmp_path / 'new.db'}", str(tmp_path / "old.jsonl")
    with Store.open(new) as store:
        store.check([Page("https://a.example/unequal", UNEQUAL)])
    assert dedup("export", file, "--store", old).code == 0
    done = dedup("import", file, "--store", new)
    ids = f"the store has scheme {Scheme().id}, the file {Scheme(version=1).id} (version 1:"
    assert f"{ids} exact copies have the same words)" in done.err
    assert "no text to sign anew" in done.err
    assert done.out == "1 page: 1 near (100.0%); 1 line wrong\n"
    verify(tmp_path / "new.db")


def test_an_old_export_without_texts_is_refused_by_a_store_of_whole_texts(
    dedup: Any, old: str, tmp_path: Path
) -> None:
    new, file = f"sqlite:///{tmp_path / 'new.db'}", str(tmp_path / "old.jsonl")
    with Store.open(new) as store:
        store.check([Page("https://a.example/unequal", UNEQUAL)])
    assert dedup("export", file, "--no-text", "--store", old).code == 0
    done = dedup("import", file, "--store", new)
    assert done.code == 2
    assert "(version 1: exact copies have the same words) and no texts to sign anew" in done.err
    # A store of its own takes it as it is.
    own = f"sqlite:///{tmp_path / 'own.db'}"
    assert dedup("import", file, "--store", own).code == 0
    assert lines_of(dedup("status", "--store", own))["exact"].startswith("same words")


def test_a_rebuild_by_the_settings_leaves_version_1_behind(dedup: Any, old: str) -> None:
    done = dedup("rebuild", "--scheme", "--store", old)
    assert done.code == 2
    assert "1 page is stored without its text" in done.err
    assert dedup("forget", "https://a.example/other", "--yes", "--store", old).code == 0
    assert dedup("rebuild", "--scheme", "--store", old).code == 0
    assert lines_of(dedup("status", "--store", old))["exact"] == "same text"
