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


@pytest.mark.parametrize(("bad", "reason"), BAD)
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


def test_a_truncated_file_gives_what_came_before_the_break(tmp_path: Path) -> None:
    whole = gzip.compress("".join(json.dumps(row) + "\n" for row in GOOD).encode(), mtime=0)
    file = tmp_path / "rows.jsonl.gz"
    file.write_bytes(whole[: len(whole) * 3 // 4])
    summary = run(file)
    *_, (line, reason) = reasons(file)
    assert "cannot be read any further: Compressed file ended" in reason
    assert 2 <= summary.total < 4
    assert line > summary.total


def test_a_truncated_archive_gives_what_came_before_the_break(tmp_path: Path) -> None:
    import tarfile

    for number in range(3):
        (tmp_path / f"{number}.html").write_text(html(article(number)), encoding="utf-8")
    file = tmp_path / "pages.tar"
    with tarfile.open(file, "w") as tar:
        for number in range(3):
            tar.add(tmp_path / f"{number}.html", f"{number}.html")
    file.write_bytes(file.read_bytes()[:5000])
    summary = run(file)
    assert summary.total == 1
    assert "cannot be read any further" in reasons(file)[0][1]


@pytest.mark.parametrize("packed", [False, True], ids=["plain", "gzip"])
@pytest.mark.parametrize("share", [0.02, 0.3, 0.7])  # within a head, and within a page
def test_a_truncated_warc_file_gives_what_came_before_the_break(
    tmp_path: Path, packed: bool, share: float
) -> None:
    pytest.importorskip("fastwarc")
    records = [warc_record(f"https://example.com/{at}", html(article(at))) for at in range(3)]
    records = [*map(gzip.compress, records)] if packed else records
    cut = records[2][: int(len(records[2]) * share)]
    file = tmp_path / ("pages.warc.gz" if packed else "pages.warc")
    file.write_bytes(b"".join([*records[:2], cut]))
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


def test_a_broken_parquet_file_is_a_bad_row(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    file = tmp_path / "rows.parquet"
    file.write_bytes(b"PAR1 nothing of the kind")
    assert run(file).total == 0
    assert "cannot be read any further" in reasons(file)[0][1]


def test_rows_of_csv_that_are_none(tmp_path: Path) -> None:
    file = tmp_path / "rows.csv"
    rows = "".join(f"{row['id']},{row['text']}\n" for row in GOOD)
    file.write_text(f"id,text\n{rows}9,a,b\n8,\n", encoding="utf-8")
    assert run(file).total == 4
    assert reasons(file) == [(6, "3 cells, not 2"), (7, "text is empty")]
