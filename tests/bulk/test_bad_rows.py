"""Rows that cannot be taken: each is counted and named, and the others are done."""

from __future__ import annotations

import gzip
import json
from typing import TYPE_CHECKING, Any

import pytest

from shingling.bulk import Fields, Options, Summary, deduplicate
from shingling.errors import BulkError
from shingling.store.ids import BadRowError, id_of
from tests.support.pages import article, html

from .collections import read_lines, result_of, warc_record, write_lines

if TYPE_CHECKING:
    from pathlib import Path

GOOD = [{"id": str(number), "text": article(number)} for number in range(4)]


def run(file: Path, **options: Any) -> Summary:
    return deduplicate([str(file)], file.parent / "out", Options(**{"workers": 0, **options}))


def reasons(file: Path) -> list[tuple[int, str]]:
    return [(row["line"], row["reason"]) for row in read_lines(file.parent / "out" / "bad.jsonl")]


BAD = [
    (b"{broken", "not JSON"),
    (b"[1, 2]", "not a JSON object"),
    (b'{"id": "x", "text": "\xff\xfe"}', "not UTF-8"),
    (b'{"id": "x"}', "neither text nor html"),
    (b'{"id": "x", "text": null}', "text is null"),
    (b'{"id": "x", "text": "  "}', "text is empty"),
    (b'{"id": "x", "text": 7}', "text is no string"),
    (b'{"id": "x", "text": "!!! ..."}', "text has no words"),
    (b'{"id": "1", "text": "once more"}', "the id of an earlier row"),
    (b'{"id": "x", "html": "<html><body></body></html>"}', "no main text"),
    (b"[" * 100_000, "not JSON"),
]


def test_every_bad_row_is_named_by_its_line(tmp_path: Path) -> None:
    file = tmp_path / "rows.jsonl"
    lines = [json.dumps(row).encode() for row in GOOD]
    file.write_bytes(b"\n".join([*lines[:2], b"", *(bad for bad, _ in BAD), *lines[2:]]))
    summary = run(file)
    assert reasons(file) == [(line, reason) for line, (_, reason) in enumerate(BAD, start=4)]
    assert (summary.total, summary.bad, summary.reasons["not JSON"]) == (4, len(BAD), 2)
    assert [problem.line for problem in summary.problems] == [4, 5, 6, 7, 8]
    assert result_of(tmp_path / "out").kept == [row["id"] for row in GOOD]


@pytest.mark.parametrize(("bad", "reason"), [BAD[0], BAD[4], BAD[8], BAD[9]])
def test_a_strict_run_stops_at_the_first(
    tmp_path: Path, bad: bytes, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shingling.bulk.files.sources._FILE_PART_BYTES", 100)  # a part for each row
    file = tmp_path / "rows.jsonl"
    lines = [json.dumps(row).encode() for row in GOOD]
    file.write_bytes(b"\n".join([*lines, bad, bad.replace(b'"1"', b'"2"'), b""]))
    with pytest.raises(BulkError, match=rf"rows\.jsonl, line 5: {reason} \(--strict\)$"):
        run(file, strict=True)
    with pytest.raises(BulkError, match=f"line 5: {reason}"):  # also where it goes on
        run(file, strict=True)


def test_an_id_that_is_asked_for_has_to_be_there(tmp_path: Path) -> None:
    file = write_lines(
        tmp_path / "rows.jsonl",
        [{"key": 7, "text": article(1)}, {"text": article(2)}, {"key": None, "text": article(3)}],
    )
    run(file, fields=Fields(id="key"))
    assert reasons(file) == [(2, "no key"), (3, "no key")]


def test_an_id_that_is_nested_too_deeply_is_a_bad_row() -> None:
    nested: list[Any] = []
    for _ in range(100_000):
        nested = [nested]
    with pytest.raises(BadRowError, match="nested too deeply"):
        id_of({"_id": nested}, ["_id"])


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
    summary = run(file)
    assert reasons(file) == [(2, "longer than 10,000,000 bytes")]
    assert summary.total == 2
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - peak < 60_000  # kB


@pytest.mark.parametrize("name", ["rows.jsonl.gz", "pages.warc", "pages.warc.gz"])
@pytest.mark.parametrize("share", [0.02, 0.7])  # of WARC, within a head, and within a page
def test_a_truncated_file_gives_what_came_before_the_break(
    tmp_path: Path, name: str, share: float
) -> None:
    if "warc" in name:
        pytest.importorskip("fastwarc")
        rows = [warc_record(f"https://example.com/{at}", html(article(at))) for at in range(3)]
    else:
        rows = [json.dumps(row).encode() + b"\n" for row in GOOD[:3]]
    if name.endswith(".gz"):
        rows = [gzip.compress(row, mtime=0) for row in rows]
    file = tmp_path / name
    file.write_bytes(b"".join([*rows[:2], rows[2][: int(len(rows[2]) * share)]]))
    assert run(file).total == 2
    [(_, reason)] = reasons(file)
    assert "cannot be read any further" in reason


def test_pages_that_cannot_be_had_are_bad_rows_in_their_place(tmp_path: Path) -> None:
    folder = tmp_path / "pages"
    folder.mkdir()
    for name, padding in (("a", 0), ("b", 50_000), ("c", 0)):
        (folder / f"{name}.html").write_text(html(article(3)) + " " * padding, encoding="utf-8")
    assert run(folder, max_bytes=40_000).total == 2
    [(line, reason)] = reasons(folder)
    assert (line, reason) == (2, f"{(folder / 'b.html').as_uri()}: too large")
