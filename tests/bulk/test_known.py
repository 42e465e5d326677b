"""Rows that a run knows beforehand, and what of a run later ones know."""

from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING, Any

import pytest

from shingling import Page, Rules, Store
from shingling.bulk import Options, deduplicate
from shingling.errors import BulkError, RecordError, SchemeError, ShinglingError
from shingling.sketch import Scheme
from tests.support.commands import dedup_command
from tests.support.stores import place_of, postgres_only, url_of

from .collections import (
    Result,
    bulk,
    families,
    one_by_one,
    random_texts,
    read_lines,
    result_of,
    run,
    write_lines,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ROWS = families(3, 400, random_texts(1, 12))
KNOWN, NEW = ROWS[:200], ROWS[200:]
RULES = Rules(templates=False)
METHODS = [
    Rules(),
    Rules(threshold=0.3, min_words=5),
    Rules(method="exact"),
    Rules(method="simhash", simhash_distance=3, min_words=12),
]


def against(known: Path | str, out: Path, **options: Any) -> Result:
    """Deduplicate the new rows, with others that are known."""
    return bulk(NEW, out, against=known, **options)


UNREAD = {
    "another field": (
        '{"id": "k%d", "body": "%s"}\n',
        "200 known rows cannot be compared: neither text nor html",
    ),
    "no JSON": ("%d %s\n", "200 known rows cannot be compared: not JSON"),
    "empty texts": (
        '{"id": "k%d", "text": "", "was": "%s"}\n',
        "200 known rows cannot be compared: text is empty",
    ),
}


@pytest.mark.parametrize(("line", "problem"), UNREAD.values(), ids=UNREAD)
def test_known_rows_of_which_none_can_be_used_are_an_error(
    tmp_path: Path, line: str, problem: str
) -> None:
    known = tmp_path / "known.jsonl"
    known.write_text("".join(line % (at, row["text"]) for at, row in enumerate(KNOWN)))
    with pytest.raises(BulkError, match=rf"known\.jsonl: .*{problem}"):
        against(known, tmp_path / "out")
    with pytest.raises(BulkError, match=r"known\.jsonl: "):
        deduplicate(NEW, options=Options(workers=0), against=known)


def test_known_rows_of_which_some_cannot_be_used_are_a_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    known = tmp_path / "known.jsonl"
    lines = [json.dumps(row) for row in KNOWN]
    known.write_text("\n".join([*lines[:4], "broken", '{"id": "k"}', *lines[4:]]))
    found = against(known, tmp_path / "out")
    said = "2 known rows cannot be compared: not JSON, neither text nor html"
    assert f"{known}: {said}" in caplog.messages
    write_lines(known, KNOWN)
    caplog.clear()
    assert against(known, tmp_path / "again") == found
    assert "known" not in caplog.text.replace(str(tmp_path), "")


def new_of(both: Result) -> Result:
    """Take the new rows out of the result of all."""
    names = {row["id"] for row in NEW}
    return Result(
        [name for name in both.kept if name in names],
        {name: values for name, values in both.removed.items() if name in names},
    )


@pytest.fixture
def file(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    yield from place_of(request, tmp_path)


@postgres_only
def test_the_pages_of_a_postgresql_are_known(file: Path, tmp_path: Path) -> None:
    one_by_one(KNOWN, tmp_path / "dedup.db", RULES)
    with Store.open(url_of(file), rules=RULES) as store:
        store.check([Page(row["id"], row["text"]) for row in KNOWN])
    assert against(url_of(file), tmp_path / "a") == against(tmp_path / "dedup.db", tmp_path / "b")


@pytest.mark.parametrize(
    ("kind", "rules"),
    [
        *(("store", rules) for rules in METHODS),
        *((kind, METHODS[1]) for kind in ("file of a store", "export", "run", "export of a run")),
    ],
    ids=str,
)
def test_new_rows_are_decided_as_in_one_run_over_both(
    kind: str, rules: Rules, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "dedup.db"
    known: Path | str
    if kind in ("run", "export of a run"):
        known = tmp_path / "known"
        bulk(KNOWN, known, rules=rules, export=kind != "run")
        assert (known / "store.jsonl").exists() == (kind != "run")
    else:
        one_by_one(KNOWN, file, rules)
        known = file if kind == "file of a store" else f"sqlite:///{file}"
    if kind == "export":
        known = tmp_path / "export.jsonl.gz"
        assert dedup_command(monkeypatch, "export", str(known), "--store", str(file)).code == 0
    both = new_of(bulk(ROWS, tmp_path / "both", rules=rules))
    found = against(known, tmp_path / "out", rules=rules)
    if kind == "run":  # it has no rows that were removed: what is equal to one of them is near
        assert (found.kept, found.removed.keys()) == (both.kept, both.removed.keys())
    else:
        assert found == both
    assert 20 < len(found.removed) < 180
    summary = json.loads((tmp_path / "out/summary.json").read_bytes())
    assert (summary["total"], summary["repeated"]) == (200, len(found.removed))
    assert all(group["duplicates"] for group in read_lines(tmp_path / "out/groups.jsonl"))


def test_a_store_gets_what_is_new_to_it(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'dedup.db'}"
    one_by_one(KNOWN, tmp_path / "dedup.db", RULES)
    with Store.open(url, rules=RULES) as store:
        summary = run(NEW, tmp_path / "out", against=url, store=store)
        stored = {page.url: page.original for page in store.pages()}
    found = result_of(tmp_path / "out")
    both = one_by_one(ROWS, tmp_path / "both.db", RULES)
    assert found == new_of(both)
    assert stored == {row["id"]: both.removed.get(row["id"], (None,))[0] for row in ROWS}
    assert summary.stored is not None
    assert summary.stored["near"] == summary.near


def test_a_known_id_with_its_text_is_removed_and_with_another_text_is_kept(tmp_path: Path) -> None:
    text, other = random_texts(9, 2)
    known = [{"id": "a", "text": text}, {"id": "b", "text": text}]
    file = write_lines(tmp_path / "known.jsonl", known)
    rows = [{"id": "a", "text": text}, {"id": "b", "text": other}]
    found = bulk(rows, tmp_path / "out", against=file)
    assert found == Result(["b"], {"a": ("a", "exact", 1.0, 1.0)})


def test_what_a_run_exports_becomes_a_store_as_it_was_decided(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [{"id": "signs", "text": "!!!"}, *ROWS]
    found = bulk(rows, tmp_path / "out", export=True)
    assert found.kept[0] == "signs"
    url = f"sqlite:///{tmp_path / 'dedup.db'}"
    file = str(tmp_path / "out/store.jsonl")
    assert dedup_command(monkeypatch, "import", file, "--store", url).code == 0
    with Store.open(url) as store:
        assert {page.url for page in store.pages()} == {row["id"] for row in ROWS}
        for page in store.pages():
            original, status, resemblance, _ = found.removed.get(page.url, (None, "", None, None))
            assert page.original == original
            assert page.status == (status or ("skipped" if page.words < 20 else "new"))
            assert (page.resemblance is None) == (resemblance is None)
        copy = Page("https://mirror.example/", KNOWN[0]["text"])
        verdict = store.check([copy])[0]
        assert (verdict.status, verdict.original) == ("exact", KNOWN[0]["id"])
        assert store.runs()[0].spider == "bulk"


def test_an_exported_store_may_be_a_folder_of_parts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bulk(KNOWN, tmp_path / "known", export=True)
    expected = against(tmp_path / "known", tmp_path / "one")
    file, folder = tmp_path / "known/store.jsonl", tmp_path / "known/store"
    lines = file.read_bytes().splitlines(keepends=True)
    file.unlink()
    folder.mkdir()
    for number, part in enumerate((lines[:1], [], lines[1:90], lines[90:])):
        (folder / f"part-{number:05}.txt").write_bytes(b"".join(part))
    (folder / "_SUCCESS").write_bytes(b"no line")
    assert against(tmp_path / "known", tmp_path / "parts") == expected
    url = f"sqlite:///{tmp_path / 'dedup.db'}"
    assert dedup_command(monkeypatch, "import", str(folder), "--store", url).code == 0
    with Store.open(url) as store:
        assert [page.url for page in store.pages()] == [row["id"] for row in KNOWN]


@pytest.mark.parametrize(
    ("known", "problem"),
    [("none.db", "No such file"), ("sqlite:///none.db", "no store yet")],
)
def test_what_is_not_there_is_said(known: str, problem: str, tmp_path: Path) -> None:
    with pytest.raises(ShinglingError, match=problem):
        against(known, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_an_empty_file_is_no_exported_store(tmp_path: Path) -> None:
    for name in ("kept.jsonl", "store.jsonl"):
        (tmp_path / name).touch()
    with pytest.raises(ShinglingError, match="first record of a store"):
        against(tmp_path, tmp_path / "out")


def test_an_exported_store_that_is_cut_off_is_named_with_what_is_wrong(tmp_path: Path) -> None:
    bulk(KNOWN, tmp_path / "known", export=True)
    file = tmp_path / "known/store.jsonl"
    lines = file.read_bytes().splitlines(keepends=True)
    for cut, problem in ((lines[:9], "the end is missing"), ([*lines[:3], b"{\n"], "line 4: not")):
        file.write_bytes(b"".join(cut))
        with pytest.raises(RecordError, match=rf"store\.jsonl: {problem}"):
            against(file, tmp_path / "out")


def test_signatures_of_another_scheme_are_not_compared(tmp_path: Path) -> None:
    one_by_one(KNOWN, tmp_path / "dedup.db", RULES, Scheme(3))
    with pytest.raises(SchemeError):
        against(tmp_path / "dedup.db", tmp_path / "out")


def test_rows_are_not_compared_with_a_store_without_texts(tmp_path: Path) -> None:
    with Store.open(f"sqlite:///{tmp_path / 'dedup.db'}", store_text=False) as store:
        store.check([Page(row["id"], row["text"]) for row in KNOWN])
    with pytest.raises(BulkError, match="keeps no texts"):
        against(tmp_path / "dedup.db", tmp_path / "out")


@pytest.mark.parametrize(
    ("options", "order"),
    [
        ({"keep": "longest"}, lambda row: -len(row["text"])),
        ({"keep": "newest"}, lambda row: -row["fetched"]),
        ({"keep": "newest", "order_field": "date"}, lambda row: row["fetched"]),
        ({"order_field": "fetched"}, lambda row: row["fetched"]),
    ],
    ids=["longest", "newest", "newest by a field", "first by a field"],
)
def test_the_row_that_stays_is_chosen(options: dict[str, Any], order: Any, tmp_path: Path) -> None:
    rnd = random.Random(5)
    rows = [
        {**row, "fetched": moment, "date": f"20{99 - moment % 50:02}-01-01"}
        for row, moment in zip(ROWS, rnd.choices(range(50), k=len(ROWS)), strict=True)
    ]
    in_order = write_lines(tmp_path / "sorted.jsonl", sorted(rows, key=order))
    found, expected = bulk(rows, tmp_path / "out", **options), bulk(in_order, tmp_path / "sorted")
    assert (sorted(found.kept), found.removed) == (sorted(expected.kept), expected.removed)
    assert found.kept == [row["id"] for row in rows if row["id"] in {*found.kept}]


def test_rows_without_a_place_in_the_order_come_last(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    text = random_texts(9, 1)[0]
    moments = [None, "no time", "2020-05-01", "2021-01-01T00:00:00Z", "2021-01-01T00:00:00+05:00"]
    rows = [{"id": str(place), "text": text, "at": at} for place, at in enumerate(moments)]
    assert bulk(rows, tmp_path / "a", keep="newest", order_field="at").kept == ["3"]
    assert bulk(rows, tmp_path / "b", order_field="at").kept == ["2"]
    assert "no row has" not in caplog.text
    assert bulk(rows, tmp_path / "c", order_field="other").kept == ["0"]
    assert bulk(rows, tmp_path / "d", keep="newest").kept == ["0"]
    said = "no row has a number or a time in {}: they keep their order"
    assert [one for one in caplog.messages if "no row has" in one] == [
        said.format("other"), said.format("fetched"),
    ]  # fmt: skip


def test_of_each_group_some_rows_stay(tmp_path: Path) -> None:
    one = bulk(ROWS, tmp_path / "one")
    three = bulk(ROWS, tmp_path / "three", keep_each=3)
    taken: dict[str, int] = {}
    removed = {}
    for name, values in one.removed.items():
        taken[values[0]] = taken.get(values[0], 0) + 1
        if taken[values[0]] > 2:
            removed[name] = values
    assert three.removed == removed
    assert len(three.kept) == len(ROWS) - len(removed)


@pytest.mark.parametrize(
    "options",
    [{"keep": "last"}, {"keep_each": 0}, {"keep": "longest", "order_field": "date"}],
)
def test_what_cannot_be_kept_is_refused(options: dict[str, Any]) -> None:
    with pytest.raises(BulkError):
        Options(**options)
