"""Every kind of input gives the same rows, and every kind of output has them."""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import sys
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from shingling import ShinglingError, Store
from shingling.bulk import Options, deduplicate
from shingling.errors import BulkError
from tests.support.pages import article, html

from .collections import (
    Result,
    bad_rows,
    bulk,
    families,
    random_texts,
    read_lines,
    result_of,
    run,
    write_lines,
)

if TYPE_CHECKING:
    from collections.abc import Callable


ROWS = families(7, 120, random_texts(6, 5))


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> Result:
    folder = tmp_path_factory.mktemp("plain")
    return bulk(ROWS, folder / "out")


def as_csv(rows: list[dict[str, str]]) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, ["id", "text"])
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def as_lines(rows: list[dict[str, str]]) -> str:
    return "".join(json.dumps(row, ensure_ascii=False) + "\r\n" for row in rows)


def zstandard(raw: bytes) -> bytes:
    zstd = pytest.importorskip(
        "backports.zstd" if sys.version_info < (3, 14) else "compression.zstd"
    )
    packed: bytes = zstd.compress(raw)
    return packed


@pytest.mark.parametrize(
    ("name", "pack"),
    [
        ("rows.jsonl", bytes),
        ("rows.jsonl.gz", lambda raw: gzip.compress(raw[:5000]) + gzip.compress(raw[5000:])),
        ("rows.ndjson.zst", zstandard),
        ("rows.csv", bytes),
        ("rows.csv.gz", gzip.compress),
    ],
)
def test_lines_and_csv_packed_or_not_in_parts(
    tmp_path: Path,
    expected: Result,
    name: str,
    pack: Callable[[bytes], bytes],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("shingling.bulk.inputs.sources._PART_BYTES", 700)
    raw = as_csv(ROWS).encode("utf-8-sig") if ".csv" in name else as_lines(ROWS).encode()
    (tmp_path / name).write_bytes(pack(raw))
    assert bulk(tmp_path / name, tmp_path / "out") == expected


def test_parquet(tmp_path: Path, expected: Result) -> None:
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    table = pa.Table.from_pylist(
        [{**row, "when": datetime(2026, 1, 2, tzinfo=UTC)} for row in ROWS]
    )
    pq.write_table(table, tmp_path / "rows.parquet", row_group_size=50)
    assert bulk(tmp_path / "rows.parquet", tmp_path / "out") == expected
    assert read_lines(tmp_path / "out" / "kept.jsonl")[0]["when"] == "2026-01-02T00:00:00+00:00"


def as_array(rows: list[dict[str, str]]) -> str:
    """Rows as Scrapy's feed `items.json` has them."""
    return "[\n" + ",\n".join(map(json.dumps, rows)) + "\n]"


@pytest.mark.parametrize(
    ("name", "write"),
    [
        ("items.json", lambda: as_array(ROWS).encode()),
        ("appended.json", lambda: (as_array(ROWS[:50]) + as_array(ROWS[50:])).encode()),
        ("line.json", lambda: json.dumps(ROWS).encode("utf-8-sig")),
        ("indented.jsonl", lambda: json.dumps(ROWS, indent=4, ensure_ascii=False).encode()),
        ("items.json.gz", lambda: gzip.compress(as_array(ROWS).encode())),
        ("items.json.zst", lambda: zstandard(as_array(ROWS).encode())),
    ],
)
def test_arrays_of_json(
    tmp_path: Path,
    expected: Result,
    name: str,
    write: Callable[[], bytes],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("shingling.bulk.inputs.sources._PART_BYTES", 700)
    monkeypatch.setattr("shingling.files.lines._READ_AT_ONCE", 100)
    (tmp_path / name).write_bytes(write())
    assert bulk(tmp_path / name, tmp_path / "out") == expected


def test_the_texts_of_a_wet_file_are_rows_with_their_urls(tmp_path: Path) -> None:
    pytest.importorskip("fastwarc")
    packed = b""
    for number in (1, 2, 1):
        body = article(number).encode()
        head = (
            "WARC/1.0\r\nWARC-Type: conversion\r\nContent-Type: text/plain\r\n"
            f"WARC-Target-URI: https://example.com/{len(packed)}\r\n"
            f"WARC-Date: 2026-01-01T00:00:00Z\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        packed += gzip.compress(head.encode() + body + b"\r\n\r\n")
    (tmp_path / "CC.warc.wet.gz").write_bytes(packed)
    summary = run(tmp_path / "CC.warc.wet.gz", tmp_path / "out")
    assert (summary.unique, summary.exact) == (2, 1)
    kept = read_lines(tmp_path / "out" / "kept.jsonl")
    assert kept[0]["url"] == "https://example.com/0"
    assert [row["text"] for row in kept] == [article(1), article(2)]


@pytest.mark.parametrize("form", ["jsonl", "csv", "array"])
def test_standard_input(
    tmp_path: Path, expected: Result, form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = {"csv": as_csv, "jsonl": as_lines, "array": as_array}[form](ROWS)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    assert bulk("-", tmp_path / "out", format=form.replace("array", "jsonl")) == expected


def test_several_inputs_are_one_collection(tmp_path: Path, expected: Result) -> None:
    write_lines(tmp_path / "a.jsonl", ROWS[:50])
    (tmp_path / "b.csv").write_text(as_csv(ROWS[50:]), encoding="utf-8")
    names = [str(tmp_path / "a.jsonl"), str(tmp_path / "b.csv")]
    deduplicate(names, tmp_path / "out", Options(workers=2))
    assert result_of(tmp_path / "out") == expected
    lines = {
        row["id"]: (row["file"], row["line"]) for row in read_lines(tmp_path / "out/removed.jsonl")
    }
    assert lines == {
        row["id"]: (names[at >= 50], at + 1 if at < 50 else at - 48)  # below a header
        for at, row in enumerate(ROWS)
        if row["id"] in expected.removed
    }


def test_rows_without_an_id_are_called_by_file_and_line(tmp_path: Path) -> None:
    run(({"text": row["text"]} for row in ROWS), tmp_path / "out")
    row = read_lines(tmp_path / "out" / "removed.jsonl")[0]
    assert row["id"] == f"{tmp_path}/out.jsonl:{row['line']}"
    assert row["original"].startswith(f"{tmp_path}/out.jsonl:")


def test_html_in_a_field(tmp_path: Path) -> None:
    rows = [
        {"url": f"https://example.com/{at}", "html": html(article(seed)), "price": 3}
        for at, seed in enumerate((1, 2, 1))
    ]
    run(rows, tmp_path / "out")
    kept = read_lines(tmp_path / "out" / "kept.jsonl")
    assert [(row["url"], row["price"]) for row in kept] == [(row["url"], 3) for row in rows[:2]]
    assert "html" not in kept[0]
    assert kept[0]["text"].count(" ") > 250


@pytest.mark.parametrize(
    ("name", "options", "problem"),
    [
        ("missing.jsonl", {}, "missing.jsonl: No such file"),
        ("rows.txt", {}, "tells no format"),
        ("sqlite:///rows.db", {}, "^of URLs, only those of MongoDB are read"),
        ("-", {"format": "parquet"}, "standard input"),
    ],
)
def test_what_cannot_be_read_is_said(
    tmp_path: Path,
    name: str,
    options: dict[str, Any],
    problem: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rows.txt").write_text("", encoding="utf-8")
    with pytest.raises(ShinglingError, match=problem):
        run(name, tmp_path / "out", **options)


def test_a_file_is_not_replaced_by_the_folder_of_the_output(tmp_path: Path) -> None:
    file = write_lines(tmp_path / "rows.jsonl", ROWS[:2])
    with pytest.raises(BulkError, match=r"rows\.jsonl: it is a file; the output is a folder"):
        run(file, file)


EXTENDED_JSON = [
    ({"$oid": "65f0c0ffee65f0c0ffee65f0"}, '{"$oid":"65f0c0ffee65f0c0ffee65f0"}'),
    ({"$numberLong": "1"}, '{"$numberLong":"1"}'),
    ({"$date": {"$numberLong": "-1"}}, '{"$date":{"$numberLong":"-1"}}'),
    ({"$date": "2026-01-02T03:04:05Z"}, '{"$date":"2026-01-02T03:04:05Z"}'),
    ({"b": [1, None], "a": "x y@z"}, '{"a":"x y\\u0040z","b":[1,null]}'),  # in order
    (1.5, "1.5"),
    (False, "false"),
    (["news", 7], '["news",7]'),
    (12, "12"),
    ("plain", "plain"),
]


def test_any_json_value_is_an_id_written_in_one_way(tmp_path: Path) -> None:
    text = article(3)
    rows = [{"_id": value, "text": text} for value, _ in EXTENDED_JSON]
    names = [name for _, name in EXTENDED_JSON]
    with Store.open(f"sqlite:///{tmp_path / 'dedup.db'}") as store:
        summary = run(rows, tmp_path / "out", store=store)
        assert {page.url for page in store.pages()} == {*names}
    assert (summary.total, summary.bad) == (len(rows), 0)
    removed = read_lines(tmp_path / "out" / "removed.jsonl")
    assert [row["id"] for row in removed] == names[1:]
    assert {row["original"] for row in removed} == {names[0]}
    groups = read_lines(tmp_path / "out" / "groups.jsonl")
    assert groups == [{"original": names[0], "duplicates": names[1:]}]
    assert read_lines(tmp_path / "out" / "kept.jsonl") == rows[:1]


def test_texts_of_a_folder_are_rows_with_their_paths_as_ids(tmp_path: Path) -> None:
    folder = tmp_path / "texts"
    (folder / "deep" / "er").mkdir(parents=True)
    (folder / "a.txt").write_text(article(1), encoding="utf-8")
    (folder / "b.html").write_text(html(article(2)), encoding="utf-8")
    (folder / "c.bin").write_bytes(b"\x89" + article(1).encode())
    (folder / "deep" / "a.MD").write_text(f"<p>{article(1)}", encoding="utf-8")
    (folder / "deep" / "er" / "page.txt").write_text(html(article(3)), encoding="utf-8")
    (folder / "deep" / "utf16.txt").write_text(article(1), encoding="utf-16")
    (folder / "empty.txt").write_bytes(b"")
    summary = run(folder, tmp_path / "out")
    kept = read_lines(tmp_path / "out" / "kept.jsonl")
    pages = [(folder / name).as_uri() for name in ("b.html", "deep/er/page.txt")]
    assert [row.get("id", row.get("url")) for row in kept] == ["a.txt", *pages, "empty.txt"]
    assert kept[0]["text"] == article(1)
    assert {row["fetched"][:2] for row in kept} == {"20"}
    removed = read_lines(tmp_path / "out" / "removed.jsonl")
    assert [(row["id"], row["original"], row["status"]) for row in removed] == [
        ("deep/a.MD", "a.txt", "near"),
        ("deep/utf16.txt", "a.txt", "exact"),
    ]
    assert (summary.without_text, summary.bad) == (1, 0)


def test_hostile_names_and_links_of_a_folder(tmp_path: Path) -> None:
    folder = tmp_path / "texts"
    folder.mkdir()
    (tmp_path / "outside.txt").write_text(article(9), encoding="utf-8")
    (tmp_path / "others").mkdir()
    (tmp_path / "others" / "secret.txt").write_text(article(8), encoding="utf-8")
    names = [b"bytes-\xff.txt", b"line\nbreak\x1b[31m.txt", b"=sum.txt", b"a:b@c.txt"]
    for at, name in enumerate(names):
        Path(os.fsdecode(os.fsencode(folder) + b"/" + name)).write_text(article(at), "utf-8")
    (folder / "in.txt").symlink_to(folder / "=sum.txt")
    (folder / "loop.txt").symlink_to(folder / "loop.txt")
    (folder / "out.txt").symlink_to(tmp_path / "outside.txt")
    (folder / "others").symlink_to(tmp_path / "others")
    summary = run(folder, tmp_path / "out")
    kept = {row["id"] for row in read_lines(tmp_path / "out" / "kept.jsonl")}
    assert kept == {"bytes-%FF.txt", "line\nbreak\x1b[31m.txt", "=sum.txt", "a:b@c.txt"}
    bad = [reason for _, reason in bad_rows(tmp_path / "out")]
    left = "it is a link that leaves the folder"
    assert bad[1:] == [f"others: {left}", f"out.txt: {left}"]
    assert bad[0].startswith("loop.txt: cannot be read: ")
    assert summary.total == 4


@pytest.mark.parametrize("name", [None, "image.png"])
def test_a_folder_with_nothing_to_read_is_an_error(tmp_path: Path, name: str | None) -> None:
    (tmp_path / "texts" / "deep").mkdir(parents=True)
    if name:
        (tmp_path / "texts" / "deep" / name).write_bytes(b"\x89PNG")
    with pytest.raises(BulkError, match=r"texts: no file in it is HTML, \.txt, \.md or \.warc"):
        run(tmp_path / "texts", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_parquet_is_written_with_the_types_of_the_rows(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    rows: list[dict[str, Any]] = [
        {"id": row["id"], "text": row["text"], "size": at, "share": at / 2, "seen": at % 2 == 0}
        for at, row in enumerate(ROWS)
    ]
    rows[0] |= {"mixed": 1, "tags": ["a", "b"], "size": None}
    rows[1] |= {"mixed": "one", "share": 1}
    run(rows, tmp_path / "out")
    run(rows, tmp_path / "out", restart=True, output="parquet")
    assert sorted(file.name for file in (tmp_path / "out").iterdir()) == [
        *("bad.jsonl", "groups.parquet", "kept.parquet", "removed.parquet", "summary.json")
    ]
    kept = pq.read_table(tmp_path / "out" / "kept.parquet")
    assert {field.name: str(field.type) for field in kept.schema} == {
        "id": "string",
        "text": "string",
        "size": "int64",
        "share": "double",
        "seen": "bool",
        "mixed": "string",
        "tags": "string",
    }
    first = kept.to_pylist()[0]
    assert (first["mixed"], first["tags"], first["size"]) == ("1", '["a", "b"]', None)
    removed = pq.read_table(tmp_path / "out" / "removed.parquet").to_pylist()
    groups = pq.read_table(tmp_path / "out" / "groups.parquet").to_pylist()
    assert sorted(row["id"] for row in removed) == sorted(
        name for group in groups for name in group["duplicates"]
    )
    assert {row["original"] for row in removed} == {group["original"] for group in groups}
    with pytest.raises(BulkError, match="cannot be written as Parquet"):
        run([{**ROWS[0], "size": 1 << 70}], tmp_path / "large", output="parquet")


def test_where_pyspark_is_missing_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith("shingling.bulk.spark")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "pyspark", None)
    with pytest.raises(ImportError, match=r"Spark needs pyspark: .* \(extra spark\)"):
        import_module("shingling.bulk.spark")
