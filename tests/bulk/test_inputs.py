"""Every kind of input gives the same rows; those that cannot be taken are counted and named."""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import sys
from dataclasses import replace
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from shingling import ShinglingError, Store
from shingling.bulk import Fields, Options, Summary, deduplicate
from shingling.errors import BulkError
from shingling.store.ids import BadRowError, id_of
from tests.support.pages import article, html

from .collections import Result, bulk, families, random_texts, read_lines, result_of, write_lines

if TYPE_CHECKING:
    from collections.abc import Callable


ALONE = Options(workers=0)
ROWS = families(7, 120, random_texts(6, 5))


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> Result:
    folder = tmp_path_factory.mktemp("plain")
    return bulk(write_lines(folder / "rows.jsonl", ROWS), folder / "out")


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


@pytest.mark.parametrize(
    ("text", "total", "reason"),
    [
        (as_array(ROWS[:10])[:-30], 9, "cannot be read any further: not JSON"),
        (as_array(ROWS[:9])[:-1] + ', {"id": }, {}]', 9, "cannot be read any further: not JSON"),
        (as_array([*ROWS[:9], {"id": "x", "text": "a " * 3000}, *ROWS[9:12]]), 12, "longer than"),
    ],
    ids=["cut off", "broken", "too long"],
)
def test_what_is_wrong_in_an_array_is_said(
    tmp_path: Path, text: str, total: int, reason: str
) -> None:
    file = tmp_path / "items.json"
    file.write_text(text, encoding="utf-8")
    assert summary_of(file, max_bytes=5000).total == total
    [(line, said)] = reasons(file)
    assert line == 10
    assert said.startswith(reason)


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
    summary = deduplicate([str(tmp_path / "CC.warc.wet.gz")], tmp_path / "out", ALONE)
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
    rows = [{"text": row["text"]} for row in ROWS]
    file = write_lines(tmp_path / "rows.jsonl", rows)
    deduplicate([str(file)], tmp_path / "out", ALONE)
    row = read_lines(tmp_path / "out" / "removed.jsonl")[0]
    assert row["id"] == f"{file}:{row['line']}"
    assert row["original"].startswith(f"{file}:")


def test_html_in_a_field(tmp_path: Path) -> None:
    rows = [
        {"url": f"https://example.com/{at}", "html": html(article(seed)), "price": 3}
        for at, seed in enumerate((1, 2, 1))
    ]
    deduplicate([str(write_lines(tmp_path / "rows.jsonl", rows))], tmp_path / "out", ALONE)
    kept = read_lines(tmp_path / "out" / "kept.jsonl")
    assert [(row["url"], row["price"]) for row in kept] == [
        (rows[0]["url"], 3),
        (rows[1]["url"], 3),
    ]
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
        deduplicate([name], tmp_path / "out", Options(workers=0, **options))


def test_a_file_is_not_replaced_by_the_folder_of_the_output(tmp_path: Path) -> None:
    file = write_lines(tmp_path / "rows.jsonl", ROWS[:2])
    with pytest.raises(BulkError, match=r"rows\.jsonl: it is a file; the output is a folder"):
        deduplicate([str(file)], file, ALONE)


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
    store = f"sqlite:///{tmp_path / 'dedup.db'}"
    with Store.open(store) as opened:
        file = write_lines(tmp_path / "rows.jsonl", rows)
        summary = deduplicate([str(file)], tmp_path / "out", ALONE, store=opened)
        assert {page.url for page in opened.pages()} == {*names}
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
    summary = deduplicate([str(folder)], tmp_path / "out", ALONE)
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
    summary = deduplicate([str(folder)], tmp_path / "out", ALONE)
    kept = {row["id"] for row in read_lines(tmp_path / "out" / "kept.jsonl")}
    assert kept == {"bytes-%FF.txt", "line\nbreak\x1b[31m.txt", "=sum.txt", "a:b@c.txt"}
    bad = [row["reason"] for row in read_lines(tmp_path / "out" / "bad.jsonl")]
    left = "it is a link that leaves the folder"
    assert bad[1:] == [f"others: {left}", f"out.txt: {left}"]
    assert bad[0].startswith("loop.txt: cannot be read: ")
    assert summary.total == 4


@pytest.mark.parametrize("name", [None, "image.png"])
def test_a_folder_with_nothing_to_read_is_an_error(tmp_path: Path, name: str | None) -> None:
    (tmp_path / "texts" / "deep").mkdir(parents=True)
    if name:
        (tmp_path / "texts" / "deep" / name).write_bytes(b"\x89PNG")
    with pytest.raises(
        ShinglingError, match=r"texts: no file in it is HTML, \.txt, \.md or \.warc"
    ):
        deduplicate([str(tmp_path / "texts")], tmp_path / "out", ALONE)
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
    name = str(write_lines(tmp_path / "rows.jsonl", rows))
    deduplicate([name], tmp_path / "out", ALONE)
    deduplicate([name], tmp_path / "out", replace(ALONE, output="parquet"), restart=True)
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
    write_lines(tmp_path / "rows.jsonl", [{**ROWS[0], "size": 1 << 70}])
    with pytest.raises(ShinglingError, match="cannot be written as Parquet"):
        deduplicate([name], tmp_path / "large", replace(ALONE, output="parquet"))


# Rows that cannot be taken


GOOD = [{"id": str(number), "text": article(number)} for number in range(4)]


def summary_of(file: Path, **options: Any) -> Summary:
    return deduplicate([str(file)], file.parent / "out", replace(ALONE, **options))


def reasons(file: Path) -> list[tuple[int, str]]:
    return [(row["line"], row["reason"]) for row in read_lines(file.parent / "out" / "bad.jsonl")]


BAD = [
    (b"{broken", "not JSON"),
    (b"[1, 2]", "not a JSON object"),
    (b'{"id": "x", "text": "\xff\xfe"}', "not UTF-8"),
    (b'{"id": "x", "text": "%s"}' % (b"x" * 11_000_000), "longer than 10,000,000 bytes"),
    (b'{"id": "x", "html": "<html><body></body></html>"}', "no main text"),
    (b"[" * 100_000, "not JSON"),
]


def test_every_bad_row_is_named_by_its_line(tmp_path: Path) -> None:
    file = tmp_path / "rows.jsonl"
    lines = [json.dumps(row).encode() for row in GOOD]
    file.write_bytes(b"\n".join([*lines[:2], b"", *(bad for bad, _ in BAD), *lines[2:]]))
    summary = summary_of(file)
    assert reasons(file) == [(line, reason) for line, (_, reason) in enumerate(BAD, start=4)]
    assert (summary.total, summary.bad, summary.reasons["not JSON"]) == (4, len(BAD), 2)
    assert [problem.line for problem in summary.problems] == [4, 5, 6, 7, 8]
    assert summary.without_text == 0
    assert result_of(tmp_path / "out").kept == [row["id"] for row in GOOD]


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
    rows: list[dict[str, Any]] = [*GOOD[:2], *(row for row, _ in WITHOUT_TEXT), *GOOD]
    if form == "parquet":  # which has a type for each column
        rows = [row for row in rows if isinstance(row.get("text", ""), str)]
    rows = [{**row, "number": number} for number, row in enumerate(rows)]
    file = write_lines(tmp_path / "rows.jsonl", rows)
    summary = summary_of(file, keep=keep, output=form, export=True)
    without = len(rows) - 2 * len(GOOD) + 2
    assert (summary.without_text, summary.short, summary.bad) == (without, 0, 0)
    assert (summary.unique, summary.exact) == (without + len(GOOD), 2)
    if form == "jsonl":
        assert read_lines(tmp_path / "out" / "kept.jsonl") == rows[: -len(GOOD)] + rows[-2:]
    again = deduplicate([str(file)], tmp_path / "next", ALONE, against=tmp_path / "out")
    assert (again.unique, again.without_text) == (without, without)


@pytest.mark.parametrize(("row", "reason"), WITHOUT_TEXT)
def test_it_is_an_error_if_no_row_has_a_text(
    tmp_path: Path, row: dict[str, Any], reason: str
) -> None:
    file = write_lines(tmp_path / "rows.jsonl", [{"name": "x", **row}] * 3)
    shown = "no row has the field text or html; the fields are: name"
    expected = f"no row can be used; line 1: {reason}" if row else shown
    with pytest.raises(BulkError, match=expected):
        summary_of(file)


@pytest.mark.parametrize(("bad", "reason"), [BAD[0], BAD[3], BAD[-2]])
def test_a_strict_run_stops_at_the_first(
    tmp_path: Path, bad: bytes, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shingling.bulk.inputs.sources._PART_BYTES", 100)  # a part for each row
    file = tmp_path / "rows.jsonl"
    lines = [json.dumps(row).encode() for row in GOOD]
    file.write_bytes(b"\n".join([*lines, bad, bad.replace(b'"1"', b'"2"'), b""]))
    with pytest.raises(BulkError, match=rf"rows\.jsonl, line 5: {reason} \(--strict\)$"):
        summary_of(file, strict=True)
    with pytest.raises(BulkError, match=f"line 5: {reason}"):  # also where it goes on
        summary_of(file, strict=True)


def test_a_row_with_the_id_of_an_earlier_one_is_decided_by_its_text(tmp_path: Path) -> None:
    texts = [article(number) for number in range(4)]
    first = [{"id": 1, "text": texts[0]}, {"id": 2, "text": texts[1]}]
    second = [{"id": "1", "text": texts[2]}, {"id": 2, "text": texts[1]}, {"text": texts[3]}]
    files = [write_lines(tmp_path / "a.jsonl", first), write_lines(tmp_path / "b.jsonl", second)]
    out, store = tmp_path / "out", f"sqlite:///{tmp_path / 'dedup.db'}"
    options = replace(ALONE, strict=True, keep="longest")
    with Store.open(store) as opened:
        summary = deduplicate(map(str, files), out, options, store=opened)
        urls = {page.url for page in opened.pages()}
    assert read_lines(out / "kept.jsonl") == [*first, second[0], second[2]]
    assert (summary.bad, summary.same_id) == (0, 2)
    assert summary.same_id_example == f"{files[1]}:1"
    [removed] = read_lines(out / "removed.jsonl")
    assert (removed["id"], removed["original"]) == (f"{files[1]}:2", "2")
    assert urls == {"1", "2", *(f"{files[1]}:{line}" for line in (1, 2, 3))}


def test_a_run_that_removes_most_rows_says_what_they_share(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    tools, *own = random_texts(3, 41, 60)
    prompt = " ".join(f"{word} {word}s {word}x" for word in tools.split())
    rows = [{"id": f"q{at}", "text": f"{prompt} {text[:200]}"} for at, text in enumerate(own)]
    most, few, other = (tmp_path / name for name in ("most", "few", "own"))
    for folder in (most, few, other):
        folder.mkdir()
    assert summary_of(write_lines(most / "rows.jsonl", rows)).unique == 1
    [message] = caplog.messages
    assert message.startswith("Removed 39 of 40 rows, 39 of them as duplicates of one row, q0 (res")
    assert (
        "They begin with the same 180 words. If they are no copies, leave these out with"
        " --skip-words 180, name a field" in message
    )
    caplog.clear()
    deduplicate([str(most / "rows.jsonl")], most / "100", replace(ALONE, skip_words=100))
    assert "the same 80 words" in caplog.text
    assert "--skip-words 180" in caplog.text
    caplog.clear()
    options = replace(ALONE, skip_words=180)
    assert deduplicate([str(most / "rows.jsonl")], most / "180", options).unique == 40
    summary_of(write_lines(few / "rows.jsonl", rows[:19]))
    rows = [{**row, "own": text} for row, text in zip(rows, own, strict=True)]
    summary_of(write_lines(other / "rows.jsonl", rows), fields=Fields(text="own"))
    assert not caplog.messages


def test_rows_with_text_of_their_own_stay_if_that_is_asked_for(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    said = "The office is open on working days and takes letters for all who live in the town."
    rows = [
        {"id": str(at), "text": f"Contact of clerk {at}\n{said}\nThe room is number {at}."}
        for at in range(40)
    ]
    file = write_lines(tmp_path / "rows.jsonl", [*rows, {**rows[7], "id": "copy"}])
    assert deduplicate([str(file)], tmp_path / "all", ALONE).unique == 1
    assert "keep rows that say something of their own with --own-text keep, name" in caplog.text
    assert "--skip-words" not in caplog.text, "they begin with the same two words"
    caplog.clear()
    for own_text in ("keep", "strict"):
        options = replace(ALONE, own_text=own_text)
        assert deduplicate([str(file)], tmp_path / own_text, options).unique == 40
    assert not caplog.messages
    with pytest.raises(BulkError, match="own_text 'all' is not known"):
        Options(own_text="all")


def test_mails_above_one_quoted_thread_stay_and_known_rows_count_as_well(tmp_path: Path) -> None:
    *replies, thread = random_texts(6, 9, 30)
    thread = "\n".join([thread, *random_texts(7, 6, 40)])
    mails = [{"id": str(at), "text": f"{reply}\n{thread}"} for at, reply in enumerate(replies)]
    file = write_lines(tmp_path / "rows.jsonl", mails[2:])
    known = str(write_lines(tmp_path / "known.jsonl", mails[:3]))
    keeping = replace(ALONE, own_text="keep")
    assert deduplicate([str(file)], tmp_path / "all", ALONE, against=known).unique == 0
    assert deduplicate([str(file)], tmp_path / "keep", keeping, against=known).unique == 5
    with Store.open(f"sqlite:///{tmp_path / 'dedup.db'}") as store:
        deduplicate([str(file)], tmp_path / "stored", keeping, store=store)
        assert [page.status for page in store.pages()] == ["new"] * 6, "an empty store takes them"
    out = deduplicate([str(file)], tmp_path / "next", keeping, against=tmp_path / "dedup.db")
    assert (out.unique, out.exact) == (0, 6)


def test_the_option_that_helps_is_named_if_most_rows_go(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    start, end = random_texts(8, 2, 90)
    rows = [{"id": str(at), "text": f"{start} number {at} of them\n{end}"} for at in range(30)]
    deduplicate([str(write_lines(tmp_path / "rows.jsonl", rows))], tmp_path / "out", ALONE)
    assert "--own-text keep" in caplog.text
    assert "--skip-words" not in caplog.text, "the rest is alike as well"
    caplog.clear()
    rows = [{"id": str(at), "text": f"{start}{' mended' * (at % 2)} {end}"} for at in range(30)]
    deduplicate([str(write_lines(tmp_path / "rows.jsonl", rows))], tmp_path / "mended", ALONE)
    assert "--text-field" in caplog.text
    assert "--own-text" not in caplog.text, "no row says anything of its own"


def test_words_that_rows_begin_with_are_left_out_of_what_is_compared_alone(tmp_path: Path) -> None:
    prompt, own, other = random_texts(5, 3, 60)
    skipping = Options(workers=0, skip_words=60)
    first = [
        {"id": "a", "text": f" {prompt}\n {own}"},
        {"id": "b", "text": f"{prompt} {other}"},
        {"id": "c", "html": html("".join(f"<p>{part}</p>" for part in (prompt, own)))},
        {"id": "d", "text": prompt},
        {"id": "e", "text": prompt},
    ]
    file = write_lines(tmp_path / "rows.jsonl", first)
    store = f"sqlite:///{tmp_path / 'dedup.db'}"
    with Store.open(store) as opened:
        summary = deduplicate([str(file)], tmp_path / "out", skipping, store=opened)
        assert [opened.text(name) for name in ("a", "b")] == [own, other]
    assert (summary.unique, summary.short, summary.bad) == (4, 2, 0)
    assert read_lines(tmp_path / "out" / "kept.jsonl") == [*first[:2], *first[3:]]
    assert result_of(tmp_path / "out").removed["c"][0] == "a"

    later = write_lines(tmp_path / "later.jsonl", [{"id": "f", "text": f"{own} {own} {other}"}])
    for known in (store, str(file)):
        summary = deduplicate(
            [str(later)], tmp_path / "later", skipping, against=known, restart=True
        )
        assert (summary.unique, summary.repeated) == (1, 0)
    copies = [{"id": "g", "text": f"{own} {other}"}, {"id": "h", "text": prompt}]
    write_lines(tmp_path / "later.jsonl", copies)
    for known in (store, str(file)):
        summary = deduplicate(
            [str(later)], tmp_path / "later", skipping, against=known, restart=True
        )
        assert (summary.unique, summary.repeated) == (1, 1)


@pytest.mark.parametrize("keep", ["first", "longest"])
def test_a_list_of_messages_is_compared_as_its_texts(tmp_path: Path, keep: str) -> None:
    question, answer, other = random_texts(8, 3, 60)
    asked = {"role": "user", "content": question}
    parts = [{"type": "image_url", "image_url": {"url": "x"}}, {"type": "text", "text": question}]
    rows = [
        {"id": 1, "messages": [asked, {"role": "assistant", "content": answer}]},
        {
            "id": 2,
            "messages": [{"from": "human", "value": question}, {"from": "gpt", "value": other}],
        },
        {"id": 3, "messages": [{"role": "user", "content": parts}, {"content": answer}]},
        {"id": 4, "messages": [{"role": "user", "content": None}, 5, "text", [asked]]},
        {"id": 5, "messages": f"{question}\n{answer}"},
    ]
    file = write_lines(tmp_path / "rows.jsonl", rows)
    summary = summary_of(file, fields=Fields(text="messages"), keep=keep)
    assert (summary.unique, summary.exact, summary.without_text) == (3, 2, 1)
    assert read_lines(tmp_path / "out" / "kept.jsonl") == [*rows[:2], rows[3]]
    with pytest.raises(
        BulkError, match="name one with --text-field, such as --text-field messages"
    ):
        deduplicate([str(file)], tmp_path / "no field", ALONE)


def test_an_id_that_is_asked_for_has_to_be_there(tmp_path: Path) -> None:
    file = write_lines(
        tmp_path / "rows.jsonl",
        [{"key": 7, "text": article(1)}, {"text": article(2)}, {"key": None, "text": article(3)}],
    )
    summary_of(file, fields=Fields(id="key"))
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
    summary = summary_of(file)
    assert reasons(file) == [(2, "longer than 10,000,000 bytes")]
    assert summary.total == 2
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - peak < 60_000  # kB


@pytest.mark.parametrize("share", [0.02, 0.7])
def test_a_truncated_file_gives_what_came_before_the_break(tmp_path: Path, share: float) -> None:
    rows = [gzip.compress(json.dumps(row).encode() + b"\n", mtime=0) for row in GOOD[:3]]
    file = tmp_path / "rows.jsonl.gz"
    file.write_bytes(b"".join([*rows[:2], rows[2][: int(len(rows[2]) * share)]]))
    assert summary_of(file).total == 2
    [(_, reason)] = reasons(file)
    assert "cannot be read any further" in reason


def test_pages_that_cannot_be_had_are_bad_rows_in_their_place(tmp_path: Path) -> None:
    folder = tmp_path / "pages"
    folder.mkdir()
    for name, padding in (("a", 0), ("b", 50_000), ("c", 0)):
        (folder / f"{name}.html").write_text(html(article(3)) + " " * padding, encoding="utf-8")
    assert summary_of(folder, max_bytes=40_000).total == 2
    [(line, reason)] = reasons(folder)
    assert (line, reason) == (2, f"{(folder / 'b.html').as_uri()}: too large")


def test_where_pyspark_is_missing_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith("shingling.bulk.spark")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "pyspark", None)
    with pytest.raises(ImportError, match=r"Spark needs pyspark: .* \(extra spark\)"):
        import_module("shingling.bulk.spark")
