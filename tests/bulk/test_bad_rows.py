"""Rows that cannot be taken, or have no text or no id: they are counted, named, and end nothing."""

from __future__ import annotations

import gzip
import io
import json
from typing import TYPE_CHECKING, Any

import pytest

from shingling import Store
from shingling.bulk import Fields, Options, deduplicate
from shingling.errors import BulkError
from shingling.files.lines import Line, json_lines
from shingling.store.ids import BadRowError, id_of
from tests.support.pages import article, html

from .collections import bad_rows, read_lines, result_of, run, write_lines

if TYPE_CHECKING:
    from pathlib import Path

GOOD = [{"id": str(number), "text": article(number)} for number in range(10)]
BAD = [
    (b"{broken", "not JSON"),
    (b"[1, 2]", "not a JSON object"),
    (b'{"id": "x", "text": "\xff\xfe"}', "not UTF-8"),
    (b'{"id": "x", "text": "%s"}' % (b"x" * 11_000_000), "longer than 10,000,000 bytes"),
    (b'{"id": "x", "html": "<html><body></body></html>"}', "no main text"),
    (b"[" * 100_000, "not JSON"),
]


def test_every_bad_row_is_named_by_its_line(tmp_path: Path) -> None:
    file, out = tmp_path / "rows.jsonl", tmp_path / "out"
    lines = [json.dumps(row).encode() for row in GOOD[:4]]
    file.write_bytes(b"\n".join([*lines[:2], b"", *(bad for bad, _ in BAD), *lines[2:]]))
    summary = run(file, out)
    assert bad_rows(out) == [(line, reason) for line, (_, reason) in enumerate(BAD, start=4)]
    assert (summary.total, summary.bad, summary.reasons["not JSON"]) == (4, len(BAD), 2)
    assert [problem.line for problem in summary.problems] == [4, 5, 6, 7, 8]
    assert summary.without_text == 0
    assert result_of(out).kept == [row["id"] for row in GOOD[:4]]


def array(*rows: dict[str, Any]) -> str:
    """Rows as Scrapy's feed `items.json` has them."""
    return "[\n" + ",\n".join(map(json.dumps, rows)) + "\n]"


@pytest.mark.parametrize(
    ("text", "total", "reason"),
    [
        (array(*GOOD)[:-30], 9, "cannot be read any further: not JSON"),
        (array(*GOOD[:9])[:-1] + ', {"id": }, {}]', 9, "cannot be read any further: not JSON"),
        (array(*GOOD[:9], {"id": "x", "text": "a " * 3000}, {"text": "b"}), 10, "longer than"),
    ],
    ids=["cut off", "broken", "too long"],
)
def test_what_is_wrong_in_an_array_is_said(
    tmp_path: Path, text: str, total: int, reason: str
) -> None:
    file = tmp_path / "items.json"
    file.write_text(text, encoding="utf-8")
    assert run(file, tmp_path / "out", max_bytes=5000).total == total
    [(line, said)] = bad_rows(tmp_path / "out")
    assert line == 10
    assert said.startswith(reason)


ODD_TEXTS: list[Any] = [7, True, {}]
WITHOUT_TEXT: list[tuple[dict[str, Any], str]] = [
    ({}, "neither text nor html"),
    ({"text": None}, "text is null"),
    ({"text": "  "}, "text is empty"),
    *(({"text": one}, "text is no string") for one in ODD_TEXTS),
    ({"text": [{"role": "user", "say": "a"}]}, "text is a list, and not of messages with"),
    ({"html": " \n"}, "html is empty"),
]


@pytest.mark.parametrize("form", ["jsonl", "parquet"])
@pytest.mark.parametrize("keep", ["first", "longest"])
def test_rows_without_a_text_are_kept_as_they_came_and_counted_apart(
    tmp_path: Path, keep: str, form: str
) -> None:
    good = GOOD[:4]
    rows: list[dict[str, Any]] = [*good[:2], *(row for row, _ in WITHOUT_TEXT), *good]
    if form == "parquet":  # which has a type for each column
        rows = [row for row in rows if isinstance(row.get("text", ""), str)]
    rows = [{**row, "number": number} for number, row in enumerate(rows)]
    summary = run(rows, tmp_path / "out", keep=keep, output=form, export=True)
    without = len(rows) - 2 * len(good) + 2
    assert (summary.without_text, summary.short, summary.bad) == (without, 0, 0)
    assert (summary.unique, summary.exact) == (without + len(good), 2)
    if form == "jsonl":
        assert read_lines(tmp_path / "out" / "kept.jsonl") == rows[: -len(good)] + rows[-2:]
    again = run(rows, tmp_path / "next", against=tmp_path / "out")
    assert (again.unique, again.without_text) == (without, without)


@pytest.mark.parametrize(("row", "reason"), WITHOUT_TEXT)
def test_it_is_an_error_if_no_row_has_a_text(
    tmp_path: Path, row: dict[str, Any], reason: str
) -> None:
    shown = "no row has the field text or html; the fields are: name"
    expected = f"no row can be used; line 1: {reason}" if row else shown
    with pytest.raises(BulkError, match=expected):
        run([{"name": "x", **row}] * 3, tmp_path / "out")


@pytest.mark.parametrize(("bad", "reason"), [BAD[0], BAD[3], BAD[-2]])
def test_a_strict_run_stops_at_the_first(
    tmp_path: Path, bad: bytes, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shingling.bulk.inputs.sources._PART_BYTES", 100)  # a part for each row
    file = tmp_path / "rows.jsonl"
    lines = [json.dumps(row).encode() for row in GOOD[:4]]
    file.write_bytes(b"\n".join([*lines, bad, bad.replace(b'"1"', b'"2"'), b""]))
    for _ in range(2):  # also where it goes on
        with pytest.raises(BulkError, match=rf"rows\.jsonl, line 5: {reason} \(--strict\)$"):
            run(file, tmp_path / "out", strict=True)


def test_a_row_with_the_id_of_an_earlier_one_is_decided_by_its_text(tmp_path: Path) -> None:
    texts = [article(number) for number in range(4)]
    first = [{"id": 1, "text": texts[0]}, {"id": 2, "text": texts[1]}]
    second = [{"id": "1", "text": texts[2]}, {"id": 2, "text": texts[1]}, {"text": texts[3]}]
    files = [write_lines(tmp_path / "a.jsonl", first), write_lines(tmp_path / "b.jsonl", second)]
    out, options = tmp_path / "out", Options(workers=0, strict=True, keep="longest")
    with Store.open(f"sqlite:///{tmp_path / 'dedup.db'}") as store:
        summary = deduplicate(files, out, options, store=store)
        urls = {page.url for page in store.pages()}
    assert read_lines(out / "kept.jsonl") == [*first, second[0], second[2]]
    assert (summary.bad, summary.same_id) == (0, 2)
    assert summary.same_id_example == f"{files[1]}:1"
    [removed] = read_lines(out / "removed.jsonl")
    assert (removed["id"], removed["original"]) == (f"{files[1]}:2", "2")
    assert urls == {"1", "2", *(f"{files[1]}:{line}" for line in (1, 2, 3))}


def test_an_id_that_is_asked_for_has_to_be_there(tmp_path: Path) -> None:
    rows = [{"key": key, "text": article(at)} for at, key in enumerate((7, None))]
    run([*rows, {"text": article(2)}], tmp_path / "out", fields=Fields(id="key"))
    assert bad_rows(tmp_path / "out") == [(2, "no key"), (3, "no key")]


def test_an_id_that_is_nested_too_deeply_is_a_bad_row() -> None:
    nested: list[Any] = []
    for _ in range(100_000):
        nested = [nested]
    with pytest.raises(BadRowError, match="nested too deeply"):
        id_of({"_id": nested}, ["_id"])


def test_a_line_that_is_too_long_is_named_and_the_others_are_read() -> None:
    long = b'{"text": "' + b"x" * 3_000_000 + b'"}'
    file = io.BytesIO(b'\xef\xbb\xbf{"id": 1}\n' + long + b'\n\n{"id": 2}\nno\n' + long)
    too_long = "longer than 1,000 bytes"
    values: dict[int, Any] = {1: {"id": 1}, 2: too_long, 4: {"id": 2}, 5: "not JSON", 6: too_long}
    found = [*json_lines(io.BufferedReader(file), 1000)]
    assert found == [Line(number, value) for number, value in values.items()]


def test_a_line_of_just_the_limit_is_read() -> None:
    line = b'{"id": 1234567}'
    for end in (b"", b"\n", b"\r\n"):
        file = io.BufferedReader(io.BytesIO(line + end))
        assert [*json_lines(file, len(line) + 1)] == [Line(1, {"id": 1234567})]


@pytest.mark.parametrize("packed", [False, True])
def test_a_line_of_100_mb_is_left_out_without_being_held(tmp_path: Path, packed: bool) -> None:
    import resource

    file = tmp_path / ("rows.jsonl.gz" if packed else "rows.jsonl")
    before, after = (json.dumps(row).encode() + b"\n" for row in GOOD[:2])
    with gzip.open(file, "wb", 1) if packed else file.open("wb") as out:
        out.write(before + b'{"id": "long", "text": "')
        for _ in range(100):
            out.write(b"word " * 200_000)
        out.write(b'"}\n' + after)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert run(file, tmp_path / "out").total == 2
    assert bad_rows(tmp_path / "out") == [(2, "longer than 10,000,000 bytes")]
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - peak < 60_000  # kB


@pytest.mark.parametrize("share", [0.02, 0.7])
def test_a_truncated_file_gives_what_came_before_the_break(tmp_path: Path, share: float) -> None:
    rows = [gzip.compress(json.dumps(row).encode() + b"\n", mtime=0) for row in GOOD[:3]]
    file = tmp_path / "rows.jsonl.gz"
    file.write_bytes(b"".join([*rows[:2], rows[2][: int(len(rows[2]) * share)]]))
    assert run(file, tmp_path / "out").total == 2
    [(_, reason)] = bad_rows(tmp_path / "out")
    assert "cannot be read any further" in reason


def test_pages_that_cannot_be_had_are_bad_rows_in_their_place(tmp_path: Path) -> None:
    folder = tmp_path / "pages"
    folder.mkdir()
    for name, padding in (("a", 0), ("b", 50_000), ("c", 0)):
        (folder / f"{name}.html").write_text(html(article(3)) + " " * padding, encoding="utf-8")
    assert run(folder, tmp_path / "out", max_bytes=40_000).total == 2
    assert bad_rows(tmp_path / "out") == [(2, f"{(folder / 'b.html').as_uri()}: too large")]
