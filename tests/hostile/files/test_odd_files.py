"""Files as people have them: each row is kept, removed or bad, or the file is refused."""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import sys
import tarfile
import zipfile
from threading import Thread
from typing import TYPE_CHECKING, Any

import pytest

from shingling.bulk import Options, Summary, deduplicate
from shingling.errors import BulkError
from shingling.files.tables import csv_lines
from tests.bulk.collections import read_lines, write_lines
from tests.support.pages import article

from .archives import good_record, page, warc_record

if TYPE_CHECKING:
    from pathlib import Path

HEADER = b"id,text\n"
TABLE = HEADER + b"".join(b"%d,%s\n" % (at, article(at, 30).encode()) for at in range(200))


def run(file: Path, raw: bytes, **options: Any) -> tuple[list[Any], list[tuple[int, str]], Summary]:
    """Deduplicate a file: ids of the kept rows, lines and reasons of the bad ones."""
    file.write_bytes(raw)
    out = file.parent / "out"
    summary = deduplicate([str(file)], out, Options(**{"workers": 0, **options}), restart=True)
    kept, removed, bad = (read_lines(out / f"{name}.jsonl") for name in ("kept", "removed", "bad"))
    assert (summary.read, summary.bad) == (len(kept) + len(removed) + len(bad), len(bad))
    shown = json.loads((out / "summary.json").read_bytes())
    assert shown["read"] == shown["bad"] + shown["kept"] + shown["removed"]
    ids = [row.get("id", row.get("url")) for row in kept]
    return ids, [(row["line"], row["reason"]) for row in bad], summary


def with_quotes(*rows: int, raw: bytes = TABLE) -> bytes:
    for row in rows:
        raw = raw.replace(b"\n%d," % row, b'\n%d,"' % row, 1)
    return raw


QUOTES = {
    "one": (with_quotes(17), [17]),
    "two": (with_quotes(17, 150), [17, 150]),
    "many": (with_quotes(*range(20, 60)), [*range(20, 60)]),
    "one by CRLF": (with_quotes(17).replace(b"\n", b"\r\n"), [17]),
    "one by CR": (with_quotes(17).replace(b"\n", b"\r"), [17]),
    "at the end": (TABLE + b'200,"cut off in a cell', [200]),
    "closed within a later row": (
        with_quotes(17).replace(b"\n90,", b'\n90,a screen of 20" and ', 1),
        [17],
    ),
}


@pytest.mark.parametrize("name", QUOTES)
def test_a_stray_quote_costs_one_row(tmp_path: Path, name: str) -> None:
    raw, lost = QUOTES[name]
    kept, bad, _ = run(tmp_path / "a.csv", raw)
    assert kept == [str(row) for row in range(200) if row not in lost]
    assert [line for line, _ in bad] == [one + 2 for one in lost]
    with pytest.raises(BulkError, match=rf"line {lost[0] + 2}: .* \(--strict\)$"):
        run(tmp_path / "a.csv", raw, strict=True)


def test_cells_of_several_lines_are_read_as_they_are(tmp_path: Path) -> None:
    texts = ['one, "two"\n\nthree, four\n', 'a\r\nb";"c', '"', "20 inch pipe", "\n" * 3000]
    quoted = ['"{}"'.format(text.replace('"', '""')) for text in texts]
    quoted[3] = '"20 inch" pipe'
    raw = "id,text\r\n" + "".join(f"{at},{text}\r\n" for at, text in enumerate(quoted))
    lines = [*csv_lines(io.BufferedReader(io.BytesIO(raw.encode())))]
    rows = [{"id": str(at), "text": text} for at, text in enumerate(texts)]
    assert lines == [*zip([2, 6, 8, 9, 10], rows, strict=True)]


@pytest.mark.parametrize(
    "line", ['a","b', '1,"x', '1,"x""', '"', '",",""",', "1,x"], ids=lambda line: line
)
def test_no_line_is_read_more_than_three_times(line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    given = 0

    def reader(lines: Any, **options: Any) -> Any:
        def counted() -> Any:
            nonlocal given
            for one in lines:
                given += 1
                yield one

        return made(counted(), **options)

    made = csv.reader
    monkeypatch.setattr(csv, "reader", reader)
    raw = f'{",".join(map(str, range(3000)))}\n0,"open\n' + f"{line}\n" * 2000
    assert len([*csv_lines(io.BufferedReader(io.BytesIO(raw.encode())))]) > 1000
    assert given < 6 * 2002  # each of three times for a check, too


@pytest.mark.parametrize(
    ("name", "mark", "options"),
    [
        ("a.csv", ";", {}),
        ("a.tsv", "\t", {}),
        ("a.csv", "|", {}),
        ("a.csv", "^", {"delimiter": "^"}),
        ("a.txt", "\t", {"format": "csv"}),
        ("a.csv.gz", ";", {}),
    ],
)
def test_the_delimiter_is_found_or_named(
    tmp_path: Path, name: str, mark: str, options: dict[str, Any]
) -> None:
    rows = [("id", "text"), ("1", article(1, 30)), ("2", f"{article(2, 30)}, and so on")]
    raw = "\n".join(mark.join(row) for row in rows).encode("utf-8-sig")
    raw = gzip.compress(raw) if name.endswith(".gz") else raw
    assert run(tmp_path / name, raw, **options)[:2] == (["1", "2"], [])
    with pytest.raises(BulkError, match="delimiter"):
        Options(delimiter=";;")


def zipped() -> bytes:
    """Pack a good row, as a stranger may call it by another name."""
    with zipfile.ZipFile(packed := io.BytesIO(), "w") as archive:
        archive.writestr("a.jsonl", GOOD)
    return packed.getvalue()


def in_tar() -> bytes:
    with tarfile.open(fileobj=(packed := io.BytesIO()), mode="w:gz") as archive:
        member = tarfile.TarInfo("a.jsonl")
        member.size = len(GOOD)
        archive.addfile(member, io.BytesIO(GOOD))
    return packed.getvalue()


GOOD = b'{"id": 1, "text": "%s"}' % article(1, 30).encode()
READ: dict[str, tuple[str, bytes, list[Any], list[str]]] = {
    "a comma behind each object": ("a.jl", GOOD + b",\n" + GOOD.replace(b"1,", b"2,"), [1], []),
    "NaN": ("a.jsonl", GOOD.replace(b"}", b', "price": NaN}'), [1], []),
    "NUL bytes": ("a.jsonl", GOOD + b"\n\0\0\0\n", [1], ["not JSON"]),
    "gzip called .csv": ("a.csv", gzip.compress(HEADER + b"1,a b c\n"), ["1"], []),
    "gzip cut off": ("a.csv.gz", gzip.compress(HEADER + b"1,a b\n")[:-6], ["1"], ["any further"]),
    "two members of gzip": (
        "a.jsonl.gz",
        gzip.compress(GOOD + b"\n") + gzip.compress(GOOD.replace(b"1,", b"2,", 1)),
        [1],
        [],
    ),
    "bytes behind gzip": ("a.jsonl.gz", gzip.compress(GOOD + b"\n") + b"x" * 99, [1], ["further"]),
    # From public reports: huggingface/datasets 8241, pandas 17615, datalad 3523, pandas 36888.
    "a byte order mark": ("a.jsonl", b"\xef\xbb\xbf" + GOOD + b"\n", [1], []),
    "empty lines": ("a.jsonl", b"\n" + GOOD + b"\n\n\n", [1], []),
    "a line separator in a string": (
        "a.jsonl",
        GOOD.replace(b'": "', b'": "\xe2\x80\xa8', 1) + b"\n",
        [1],
        [],
    ),
    "two files without a line end": ("a.jsonl", GOOD * 2 + b"\n" + GOOD, [1], ["not JSON"]),
    # As jq writes them.
    "indented objects": (
        "a.json",
        b"".join(json.dumps({"id": at, "text": f"text {at}"}, indent=2).encode() for at in (1, 2)),
        [1, 2],
        [],
    ),
    "emoji and signs": (
        "a.csv",
        HEADER + "1,\U0001f44d\n2,\U0001f44d\n3,!!!\n".encode(),
        ["1", "2", "3"],
        [],
    ),
}


def test_one_empty_line_between_records_is_enough(tmp_path: Path) -> None:
    pytest.importorskip("fastwarc")  # webrecorder/warcio 131
    records = (good_record(number).removesuffix(b"\r\n") for number in (1, 2, 3))
    kept, bad, _ = run(tmp_path / "a.warc", b"".join(records))
    assert kept == [f"https://example.com/{number}" for number in (1, 2, 3)]
    assert bad == []


def test_pages_that_were_never_responses_are_read(tmp_path: Path) -> None:
    pytest.importorskip("fastwarc")  # webrecorder/warcit 11
    response = b"Content-Type: application/http; msgtype=response"
    records = [
        warc_record(b"https://example.com/%s" % name, body, http=b"")
        .replace(b"WARC-Type: response", b"WARC-Type: resource")
        .replace(response, b"Content-Type: text/html")
        for name, body in ((b"a", page(1)), (b"b", b"\x89PNG"), (b"c", page(2) + b" " * 9000))
    ]
    ids, bad, _ = run(tmp_path / "a.warc", b"".join(records), max_bytes=8000)
    assert ids == ["https://example.com/a"]
    assert bad == [(2, "https://example.com/c: too large")]


def test_two_columns_of_one_name_are_refused(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    columns = [pa.array([value]) for value in ("1", article(1), "x")]
    pq.write_table(pa.Table.from_arrays(columns, ["id", "text", "text"]), tmp_path / "a.parquet")
    raw = (tmp_path / "a.parquet").read_bytes()
    with pytest.raises(BulkError, match="two columns are called text"):
        run(tmp_path / "a.parquet", raw)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes")
def test_a_pipe_is_read_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.jsonl")
    writer = Thread(target=(tmp_path / "a.jsonl").write_bytes, args=[GOOD], daemon=True)
    writer.start()
    summary = deduplicate([str(tmp_path / "a.jsonl")], tmp_path / "out", Options(workers=0))
    writer.join()
    assert summary.unique == 1


@pytest.mark.parametrize("name", READ)
def test_each_row_of_a_broken_file_is_kept_removed_or_bad(tmp_path: Path, name: str) -> None:
    file, raw, ids, reasons = READ[name]
    kept, bad, _ = run(tmp_path / file, raw)
    assert kept == ids
    assert len(bad) == len(reasons)
    assert all(part in reason for part, (_, reason) in zip(reasons, bad, strict=True)), bad


REFUSED = {
    "another field": ("a.jsonl", b'{"id": 1, "body": "x"}\n', "the fields are: id, body; name one"),
    "another column": ("a.csv", b"id,body\n1,x\n", "no row has the field text or html; the fields"),
    "a wrapper": ("a.json", b'{"items": [%s]}' % GOOD, "the fields are: items"),
    "a text in place of a header": ("a.csv", TABLE[len(HEADER) :], "are: 0, .{40}; name one"),
    "an empty file": ("a.jsonl", b"", "there are no rows in it"),
    "an empty array": ("a.json", b"[]", "there are no rows in it"),
    "UTF-16": ("a.jsonl", GOOD.decode().encode("utf-16"), "UTF-16"),
    "UTF-16 without a mark": ("a.jsonl", GOOD.decode().encode("utf-16-le"), "UTF-16"),
    "UTF-16, the high byte first": ("a.csv", TABLE.decode().encode("utf-16-be"), "UTF-16"),
    "XML": ("items.xml", b"<items/>", "tells no format"),
    "tar": ("pages.tar.gz", b"", "tar files are not read; unpack"),
    "zip": ("a.zip", zipped(), "tells no format"),
    "zip called JSON lines": ("a.jsonl.gz", zipped(), "no row can be used; line 1: not UTF-8"),
    "zip called Parquet": ("a.parquet", zipped(), "no row can be used; line 1: cannot be read"),
    "tar called JSON lines": ("a.jsonl.gz", in_tar(), "no row can be used; line 1: not JSON"),
    "tar called CSV": ("a.csv.gz", in_tar(), "there are no rows in it"),
    "gzip in gzip": ("a.jsonl.gz", gzip.compress(gzip.compress(GOOD)), "line 1: not UTF-8"),
    "an empty WARC": ("a.warc", b"", "there are no rows in it"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_file_without_a_row_is_refused_with_what_there_is(tmp_path: Path, name: str) -> None:
    for kind, package in (("WARC", "fastwarc"), ("Parquet", "pyarrow")):
        if kind in name:
            pytest.importorskip(package)
    file, raw, message = REFUSED[name]
    with pytest.raises(BulkError, match=message):
        run(tmp_path / file, raw)


def test_one_of_several_inputs_without_a_row_is_warned_of(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "empty.csv").write_bytes(HEADER)
    good = write_lines(tmp_path / "good.jsonl", [{"id": 1, "text": "a b c"}])
    inputs = [str(tmp_path / "empty.csv"), str(good)]
    assert deduplicate(inputs, tmp_path / "out", Options(workers=0)).unique == 1
    assert "empty.csv: there are no rows in it" in caplog.text


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root reads all")
def test_a_file_of_a_folder_that_may_not_be_read_is_a_bad_row(tmp_path: Path) -> None:
    folder = tmp_path / "texts"
    folder.mkdir()
    for name in ("a.txt", "b.txt"):
        (folder / name).write_text(article(1), encoding="utf-8")
    (folder / "a.txt").chmod(0)
    summary = deduplicate([str(folder)], tmp_path / "out", Options(workers=0))
    assert (summary.unique, summary.bad) == (1, 1)


@pytest.mark.parametrize(
    ("module", "file", "options", "extra"),
    [
        ("pyarrow", "a.jsonl", {"output": "parquet"}, "parquet"),
        ("pyarrow", "a.parquet", {}, "parquet"),
        ("fastwarc", "a.warc", {}, "warc"),
        ("fastwarc", "folder", {}, "warc"),
        ("pymongo", "mongodb://localhost/news.articles", {}, "mongo"),
    ],
)
def test_a_missing_package_is_said_before_any_work(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    module: str,
    file: str,
    options: dict[str, Any],
    extra: str,
) -> None:
    (tmp_path / "folder").mkdir()
    for name in ("a.jsonl", "a.parquet", "a.warc", "folder/a.warc", "folder/a.txt"):
        (tmp_path / name).write_bytes(GOOD)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(BulkError, match=rf"extra {extra}"):
        deduplicate([file], tmp_path / "out", Options(workers=0, **options))
    assert not (tmp_path / "out").exists()
