"""Damaged Parquet files, odd CSV and JSON: a named bad row, or one line and exit status 2."""

from __future__ import annotations

import gzip
import json
import random
import resource
import subprocess
import sys
from contextlib import chdir
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from shingling import Page, Store
from shingling.bulk import Options, deduplicate
from shingling.bulk.inputs.sources import sources_of
from shingling.errors import BulkError
from tests.bulk.collections import read_lines
from tests.hostile.test_options import run_at_ascii
from tests.support.pages import article

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

ROW = b"1,%s\n" % article(1, 40).encode()
OTHER = b"2,%s\n" % article(2, 40).encode()
HEADER = b"id,text\n"

LONG = b"word " * 3_000_000
UNCLOSED = HEADER + b'2,"never closed'
CELLS = b"," * 100_000
COLUMNS = b",".join(b"c%d" % n for n in range(100_000)) + b",text\n"
RETURNS = HEADER.replace(b"\n", b"\r") + b"1,a b c d\r2,e f g h\r"

# Files, each with the ids of the rows that are kept, and what is said of the others.
CSV: dict[str, tuple[bytes, list[str], list[str]]] = {
    "NULs": (
        HEADER + ROW + b"2,a\0b c d\n\0\n" + b"3\0,x y z w\n",
        ["1", "2", "3\0"],
        ["1 cells, not 2"],
    ),
    "NULs only": (bytes(12_000_000), [], ["the header is not CSV"]),
    "a quote that never ends": (HEADER + ROW + b'3,"never closed\n' + OTHER, ["1", "2"], ["quote"]),
    "a quote that never ends and is long": (UNCLOSED + LONG, [], ["longer than"]),
    "a quote within a cell": (HEADER + b'1,a "b" c d\n' + OTHER, ["1", "2"], []),
    "a long field": (HEADER + ROW + b"3," + LONG + b"\n" + OTHER, ["1", "2"], ["longer"]),
    "a long header": (LONG + b"\n" + ROW, [], ["the header is not CSV"]),
    "100,000 columns": (COLUMNS + b"x," * 100_000 + b"a b c d\n", ["rows.csv:2"], []),
    "100,000 cells too many": (HEADER + ROW + CELLS + b"\n" + OTHER, ["1", "2"], ["cells"]),
    "columns of one name": (b"text,text,id,id\na b c,d e f,1,2\n", [], ["has text twice"]),
    "UTF-16": ("id,text\n1,many words of a text\n".encode("utf-16"), [], ["UTF-16"]),
    "Latin-1": (HEADER + b"1,caf\xe9 noir et th\xe9\n" + OTHER, ["2"], ["not UTF-8"]),
    "carriage returns": (RETURNS, ["1", "2"], []),
    "line ends only": (b"\n" * 100_000, [], ["there are no rows"]),
    "nothing": (b"", [], ["there are no rows"]),
    "a mark only": (b"\xef\xbb\xbf", [], ["there are no rows"]),
    "a header only": (HEADER, [], ["there are no rows"]),
    "a header of nothing": (b",,\n1,2,3\n", [], ["the header is empty"]),
}


def bulk(file: Path, **options: Any) -> tuple[list[str], list[str]]:
    """Ids that are kept, and the reasons of bad rows, or why no row is read."""
    out = file.parent / "out"
    try:
        deduplicate([str(file)], out, Options(**{"workers": 0, **options}), restart=True)
    except BulkError as error:
        return [], [str(error)]
    kept = [str(row.get("id", "")) for row in read_lines(out / "kept.jsonl")]
    return kept, [row["reason"] for row in read_lines(out / "bad.jsonl")]


@pytest.mark.parametrize("name", CSV)
def test_odd_csv_gives_its_good_rows_and_names_the_bad_ones(tmp_path: Path, name: str) -> None:
    body, ids, expected = CSV[name]
    file = tmp_path / "rows.csv"
    file.write_bytes(body)
    kept, bad = bulk(file)
    assert [one or "rows.csv:2" for one in kept] == ids
    assert len(bad) >= len(expected)
    assert all(any(part in reason for reason in bad) for part in expected), bad


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a store, from which commands read and write."""
    made = tmp_path_factory.mktemp("tables")
    with Store.open(f"sqlite:///{made / 'dedup.db'}") as store:
        store.check([Page(f"https://a.example/{one}", article(one)) for one in range(3)])
    return made


def check_commands(folder: Path, name: str, body: bytes) -> None:
    """Run the commands that read files; none ends in a traceback."""
    (folder / name).write_bytes(body)
    commands = [
        ["bulk", name, "--out", "out", "--restart", "--workers", "0"],
        ["import", name],
        ["tune", name],
        ["compare", "--all", name],
    ]
    if len(body) < 1_000_000:  # as one text
        commands.append(["compare", name, name])
    with chdir(folder):
        for arguments in commands:
            done = run_at_ascii(arguments)
            assert done.code in (0, 1, 2), (arguments, done)
            assert "Traceback" not in done.err, (arguments, done)


def test_workers_read_odd_csv_as_one_process_does(tmp_path: Path) -> None:
    file = tmp_path / "rows.csv"
    file.write_bytes(CSV["a long field"][0])
    assert bulk(file, workers=2) == bulk(file)


@pytest.mark.parametrize("name", [name for name in CSV if "is long" not in name])
def test_no_command_fails_at_odd_csv(folder: Path, name: str) -> None:
    check_commands(folder, "odd.csv", CSV[name][0])


JSON = {
    "deep": b'{"id":1,"text":' + b"[" * 100_000 + b"\n",
    "nested": b'{"id":1,"x":' + b"[" * 500 + b"]" * 500 + b',"text":"a b c"}\n',
    "many fields": json.dumps({str(n): n for n in range(50_000)} | {"text": "a b c"}).encode(),
    "long numbers": b'{"id":' + b"9" * 5000 + b',"text":"a b c"}\n{"id":1e400,"text":"a b"}\n',
    "lone surrogates": b'{"id":"\\ud800","text":"a \\udfff b"}\n',
    "NULs": bytes(1_000_000),
    "UTF-16": '{"id":1,"text":"a b c"}\n'.encode("utf-16"),
    "other bytes": random.Random(3).randbytes(10_000),
    "gzip that is cut off": b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\xab\x56",
}


@pytest.mark.parametrize("name", JSON)
def test_no_command_fails_at_odd_json(folder: Path, name: str) -> None:
    check_commands(folder, "odd.jsonl", JSON[name])


@settings(max_examples=8, suppress_health_check=list(HealthCheck), deadline=None)
@given(
    body=st.binary(max_size=300)
    | st.text('",\n\r\0a\ud800é;', max_size=80).map(
        lambda text: text.encode("utf-8", "surrogatepass")
    )
)
def test_no_command_fails_at_any_csv(folder: Path, body: bytes) -> None:
    check_commands(folder, "any.csv", HEADER + body)


def parquet(file: Path, columns: dict[str, Any], **options: Any) -> bytes:
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    pq.write_table(pa.table(columns), file, **options)
    return file.read_bytes()


def good_parquet(folder: Path, rows: int = 300) -> bytes:
    ids = [str(number) for number in range(rows)]
    texts = [article(number, 40) for number in range(rows)]
    return parquet(folder / "rows.parquet", {"id": ids, "text": texts}, row_group_size=100)


TOO_MANY = "cannot be read any further: more than 10 columns"
LONG_FOOTER = (0x7FFF_FFFF).to_bytes(4, "little")
DAMAGED: dict[str, Callable[[bytes], bytes]] = {
    "cut off": lambda body: body[: len(body) // 2],
    "only its beginning": lambda body: body[:100],
    "only its end": lambda body: body[-200:],
    "empty": lambda _: b"",
    "two marks": lambda _: b"PAR1PAR1",
    "a long footer": lambda body: body[:-8] + LONG_FOOTER + body[-4:],
    "something else": lambda _: random.Random(4).randbytes(5000),
}


@pytest.mark.parametrize("name", DAMAGED)
def test_a_damaged_parquet_file_is_a_bad_row_or_one_line(folder: Path, name: str) -> None:
    body = DAMAGED[name](good_parquet(folder))
    check_commands(folder, "damaged.parquet", body)
    kept, (reason,) = bulk(folder / "damaged.parquet")
    assert not kept
    assert "cannot be read any further" in reason


@settings(max_examples=8, suppress_health_check=list(HealthCheck), deadline=None)
@given(seed=st.integers(0, 1 << 32), from_end=st.booleans())
def test_flipped_bits_of_parquet_end_in_no_traceback(
    folder: Path, seed: int, from_end: bool
) -> None:
    choice = random.Random(seed)
    body = bytearray(good_parquet(folder))
    for _ in range(8):
        place = len(body) - 1 - choice.randrange(800) if from_end else choice.randrange(len(body))
        body[place] ^= 1 << choice.randrange(8)
    check_commands(folder, "flipped.parquet", bytes(body))


def test_a_parquet_file_that_declares_too_many_rows_or_columns_takes_no_memory_for_them(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = folder / "declared.parquet"
    body = good_parquet(folder)
    size = int.from_bytes(body[-8:-4], "little")
    footer = body[-8 - size : -8]
    # A number of Thrift: twice the value, seven bits a byte.
    trillion = bytes((2 * 10**12 >> 7 * place) & 127 | 128 for place in range(5)) + b"\x3a"
    for rows in (b"\x16\xd8\x04", b"\x16\xc8\x01"):  # of the file, of its row groups
        lie = footer.replace(rows, b"\x16" + trillion)
        assert lie != footer
        length = len(lie).to_bytes(4, "little")
        file.write_bytes(body[: -8 - size] + lie + length + body[-4:])
        kept, bad = bulk(file)
        assert len(kept) == 300 or bad
    parquet(file, {f"column {number}": ["a b c"] for number in range(11)})
    monkeypatch.setattr("shingling.bulk.inputs.sources._MAX_COLUMNS", 10)
    assert bulk(file) == ([], [f"{file}: no row can be used; line 1: {TOO_MANY}"])


def test_odd_types_of_parquet_are_read_or_named(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    file = tmp_path / "rows.parquet"
    nested: Any = pa.string()
    deep: Any = "a b c d"
    for _ in range(60):
        nested, deep = pa.struct([("a", nested)]), {"a": deep}
    ends = pa.array([0, 1 << 62], pa.timestamp("ns"))
    good = {"id": ["1", "2"], "text": [article(1, 40), article(2, 40)]}
    for more in ({"at": ends}, {"deep": pa.array([deep, None], nested)}, {"raw": [b"\xff", b""]}):
        parquet(file, {**good, **more}, use_deprecated_int96_timestamps="at" in more)
        assert bulk(file) == (["1", "2"], [])
    for other in ([1, 2], [["a"], None], [{"a": 1}, {"a": 2}]):
        parquet(file, {**good, "text": other})
        kept, (reason,) = bulk(file)
        assert kept == []
        assert "text is no string" in reason or "text is a list" in reason


def test_rows_before_the_damage_of_parquet_are_read(tmp_path: Path) -> None:
    body = bytearray(good_parquet(tmp_path))
    body[len(body) // 2 : len(body) // 2 + 200] = bytes(200)
    (tmp_path / "rows.parquet").write_bytes(body)
    kept, (reason,) = bulk(tmp_path / "rows.parquet")
    assert len(kept) >= 90
    assert "cannot be read any further" in reason


def test_a_value_of_parquet_that_cannot_be_read_is_a_bad_row_of_its_own(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    ends = pa.array([0, 3, 20], pa.int32()).buffers()[1]
    raw = pa.py_buffer(b"\xff\xfe\xfdmany words, a text")
    texts = pa.StringArray.from_buffers(2, ends, raw)
    parquet(tmp_path / "rows.parquet", {"id": ["1", "2"], "text": texts})
    kept, (reason,) = bulk(tmp_path / "rows.parquet")
    assert (kept, "a value cannot be read" in reason) == (["2"], True)

    beyond = pa.array([1, 1 << 61], pa.timestamp("us"))
    parquet(tmp_path / "rows.parquet", {"id": ["1", "2"], "text": ["a b c", "d e f"], "at": beyond})
    kept, (reason,) = bulk(tmp_path / "rows.parquet")
    assert (kept, "a value cannot be read" in reason) == (["1"], True)


def test_a_small_parquet_file_of_much_is_read_in_small_parts(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    texts = ["many words of a text" + " " * 2_000_000] * 200
    file = tmp_path / "rows.parquet"
    parquet(file, {"id": [*map(str, range(200))], "text": texts}, compression="zstd")
    assert file.stat().st_size < 2_000_000
    [source] = sources_of([str(file)], Options())
    before = pa.total_allocated_bytes()
    held = [pa.total_allocated_bytes() - before for _ in source.parts()]
    assert len(held) > 10
    assert max(held) < 120_000_000  # of 400 MB


@pytest.mark.skipif(sys.platform != "linux", reason="the limit is one of Linux")
def test_a_small_file_of_one_long_line_takes_little_memory(tmp_path: Path) -> None:
    file = tmp_path / "rows.jsonl.gz"
    with gzip.open(file, "wb", 1) as packed:
        packed.write(b'{"url": "https://a.example/1", "text": "')
        for _ in range(120):
            packed.write(bytes(1_000_000))
    assert file.stat().st_size < 2_000_000

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_DATA, (1100 << 20, 1100 << 20))

    command = ["import", str(file), "--store", f"sqlite:///{tmp_path / 'dedup.db'}"]
    done = subprocess.run(
        [sys.executable, "-m", "scrapy", "dedup", *command],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        preexec_fn=limit,
    )
    assert "Traceback" not in done.stderr, done.stderr
    assert done.returncode == 2, done.stderr
    assert "longer than 100,000,000 bytes" in done.stderr
