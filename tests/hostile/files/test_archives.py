"""Archives made to end a run, to fill its memory, to take its time, or to name other places."""

from __future__ import annotations

import contextlib
import gzip
import random
import re
import sys
import zlib
from typing import TYPE_CHECKING, Any

import pytest

from shingling.bulk import Options, deduplicate
from shingling.files import archives, records
from shingling.files.archives import Archive
from shingling.files.pages import ArchiveError, SavedPage
from tests.bulk.collections import read_lines, write_lines
from tests.support.crawls import run_scrapy
from tests.support.installed import ROOT
from tests.support.pages import article

from .archives import good_record, http, page, warc_record

if TYPE_CHECKING:
    from pathlib import Path

MAX_BYTES = 1_000_000
PAGE = page(5)
HOST = b"https://example.com/5"


class _NoWorker:
    def start(self, reader: archives.Reader) -> None:
        self.ask = reader.answer

    def end(self) -> None:
        pass


@pytest.fixture(autouse=True)
def _in_this_process(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Read archives without a worker process: most of these tests need none."""
    if request.node.get_closest_marker("crawl") is None:
        monkeypatch.setattr(archives, "Worker", _NoWorker)
        monkeypatch.setattr(archives, "limit_time", lambda _: None)


def read(path: Path, content: bytes, **options: Any) -> tuple[list[str], list[str]]:
    """Read an archive: the last parts of its URLs, and what is bad, with what ends it."""
    pytest.importorskip("fastwarc")
    path.write_bytes(content)
    names, bad = [], []
    try:
        for found in Archive(path, MAX_BYTES, **options).entries():
            if isinstance(found, SavedPage):
                names.append(found.url.rpartition("/")[2].removesuffix(".html"))
            else:
                bad.append(found.message)
    except ArchiveError as error:
        bad.append(str(error))
    assert all(reason.isprintable() and len(reason) < 400 for reason in bad)
    return names, bad


def written(out: Path) -> tuple[list[str], list[str]]:
    """Read what a run has written: last parts of kept ids, bad rows."""
    ids = [row.get("url") or row["id"] for row in read_lines(out / "kept.jsonl")]
    names = [name.rpartition("/")[2].removesuffix(".html") for name in ids]
    return names, [row["reason"] for row in read_lines(out / "bad.jsonl")]


def run(tmp_path: Path, name: str, content: bytes) -> tuple[list[str], list[str]]:
    """Deduplicate a file and another one behind it: last parts of kept ids, bad rows."""
    archive = tmp_path / name
    archive.write_bytes(content)
    after = write_lines(tmp_path / "after.jsonl", [{"id": "after", "text": article(20)}])
    inputs = [str(archive), str(after)]
    deduplicate(inputs, tmp_path / "out", Options(workers=0, max_bytes=MAX_BYTES))
    (*names, last), bad = written(tmp_path / "out")
    assert last == "after"
    return names, bad


def broken_bytes(packed: bytes) -> bytes:
    """Damage the middle of packed bytes."""
    middle = len(packed) // 2
    return packed[:middle] + bytes(32) + packed[middle + 32 :]


PACKED_RECORDS = gzip.compress(good_record(1)) + gzip.compress(good_record(5))
BROKEN_OFF = {
    "nothing in gzip": ("x.warc.gz", b"\x1f\x8b", []),
    "no WARC file": ("x.warc", b"word " * 9999, []),
    "another kind": ("x.zip", b"PK\3\4" + bytes(5000), []),
    "cut record": ("x.warc", good_record(1) + good_record(5)[:-600], ["1"]),
    "cut head of a record": ("x.warc", good_record(1) + good_record(5)[:40], ["1"]),
    "cut WARC of gzip": ("x.warc.gz", PACKED_RECORDS[:-200], ["1"]),
    "damaged gzip": ("x.warc.gz", PACKED_RECORDS[:9] + b"\xff" * 99, []),
}


@pytest.mark.parametrize(("name", "content", "before"), BROKEN_OFF.values(), ids=BROKEN_OFF)
def test_the_rest_of_a_broken_archive_is_one_bad_entry(
    tmp_path: Path, name: str, content: bytes, before: list[str]
) -> None:
    names, [bad] = read(tmp_path / name, content)
    assert names == before
    assert "cannot be read any further: " in bad


def test_a_broken_archive_costs_its_rest_and_not_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("fastwarc")
    monkeypatch.undo()  # in a worker process, as everybody reads them
    content = good_record(3) + good_record(1) + (good_record(5) + good_record(7))[:-600]
    names, bad = run(tmp_path, "x.warc", content)
    assert names == ["3", "1", "5"]
    assert bad == ["cannot be read any further: it ends in the middle of a record"]


@pytest.mark.parametrize("version", [b"WARC/0.18", b"WARC/1.0"])  # the first is that of ClueWeb
@pytest.mark.parametrize("tail", [b"\n\n", b"\n", b"\n\n\n"])
def test_records_whose_lines_end_in_lf_only_are_read(
    tmp_path: Path, version: bytes, tail: bytes
) -> None:
    records = []
    for number in range(4):
        head, _, block = good_record(number).partition(b"\r\n\r\n")
        block = block.removesuffix(b"\r\n\r\n").replace(b"\r\n", b"\n")
        length = len(block) + 50 * (number == 1)
        head = re.sub(rb"(?<=Content-Length: )\d+", b"%d" % length, head)
        records.append(b"%s\n\n%s%s" % (head.replace(b"\r\n", b"\n"), block, tail))
    content = b"".join(records).replace(b"WARC/1.0", version)
    for name, packed in (("x.warc", content), ("x.warc.gz", gzip.compress(content))):
        names, [bad] = read(tmp_path / name, packed)
        assert names == ["0", "2", "3"]
        assert "a broken record (its length is wrong)" in bad


def deflated(raw: bytes) -> bytes:
    """Pack as servers do that leave out the header of zlib."""
    packer = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return packer.compress(raw) + packer.flush()


def chunked(raw: bytes, end: bytes = b"\r\n", last: bytes = b"0\r\n\r\n") -> bytes:
    pieces = [raw[at : at + 200] for at in range(0, len(raw), 200)]
    return b"".join(b"%x%s%s%s" % (len(one), end, one, end) for one in pieces) + last


ENDLESS = b"HTTP/1.1 200 OK\r\nX: " + b"x" * 90_000
GZIP, TWICE = http(b"Content-Encoding: gzip"), http(b"Content-Encoding: gzip, gzip")
CHUNKED = http(b"Transfer-Encoding: chunked")
DEFLATE, UNKNOWN = http(b"Content-Encoding: deflate"), http(b"Content-Encoding: dcb")
LARGE = b"<html>" + bytes(10**8)
BOMB = gzip.compress(LARGE, 1)
PACKED_TWICE = gzip.compress(gzip.compress(PAGE))
HTML, GZIP_LINE = http(), b"Content-Encoding: gzip"
MANY_TIMES = http(b"Content-Encoding: gzip" + b", gzip" * 999)
BROKEN_RECORDS = {
    "no URL": (warc_record(b"not a URL", PAGE), "not a URL: its URL"),
    "no scheme": (warc_record(b"example.com/5", PAGE), "its URL is not"),
    "brackets": (warc_record(b"http://[::1/5", PAGE), "its URL is not"),
    "port": (warc_record(b"http://a:99999999/5", PAGE), "its URL is not"),
    "no host": (warc_record(b"http:///5", PAGE), "its URL is not"),
    "file": (warc_record(b"file:///etc/passwd", PAGE), "its URL is not"),
    "script": (warc_record(b"javascript:alert(1)", PAGE), "its URL is not"),
    "NUL": (warc_record(b"http://a/\0/5", PAGE), "control characters"),
    "escape": (warc_record(b"http://a/\x1b[2J", PAGE), "control characters"),
    "direction": (warc_record("http://a/\u202e5".encode(), PAGE), "control characters"),
    "URL of 20 kB": (warc_record(b"http://a/" + b"u" * 20_000, PAGE), "longer than 8,192"),
    "no HTTP": (warc_record(HOST, PAGE, http=b""), "HTTP header"),
    "HTTP without end": (warc_record(HOST, b"", http=ENDLESS), "HTTP"),
    "odd status": (warc_record(HOST, PAGE, http=b"HTTP/1.1 99999999999999 OK\r\n\r\n"), "HTTP"),
    "packed twice": (warc_record(HOST, PACKED_TWICE, http=TWICE), "decoded"),
    "bomb": (warc_record(HOST, BOMB, http=GZIP), "too large"),
    "bomb without header": (warc_record(HOST, BOMB), "too large"),
    "bomb in chunks": (warc_record(HOST, chunked(BOMB), http=GZIP), "too large"),
    "bomb of deflate": (warc_record(HOST, deflated(LARGE), http=DEFLATE), "too large"),
    "bomb behind a bomb": (warc_record(HOST, gzip.compress(BOMB), http=GZIP), "decoded"),
    "cut within an undeclared chunk": (
        warc_record(HOST, chunked(gzip.compress(PAGE))[:-50], http=GZIP),
        "decoded",
    ),
    "no coding that is known": (warc_record(HOST, b"\x00\xffdcb", http=UNKNOWN), "decoded"),
    "negative chunk": (warc_record(HOST, b"-5\r\n" + PAGE, http=CHUNKED), "decoded"),
}


@pytest.mark.parametrize(("record", "reason"), BROKEN_RECORDS.values(), ids=BROKEN_RECORDS)
def test_a_broken_response_is_named_and_the_rest_is_read(
    tmp_path: Path, record: bytes, reason: str
) -> None:
    names, [bad] = read(tmp_path / "x.warc", good_record(1) + record + good_record(9))
    assert names == ["1", "9"]
    assert reason in bad


BOTH = http(b"Transfer-Encoding: gzip, chunked"), http(b"Transfer-Encoding: chunked", GZIP_LINE)
ODDLY_CODED = {
    "chunked, but joined": (PAGE, CHUNKED),
    "chunked by LF": (chunked(PAGE, end=b"\n"), CHUNKED),
    "chunked without the last chunk": (chunked(PAGE, last=b""), CHUNKED),
    "chunked without header": (chunked(PAGE), HTML),
    "chunked with extensions": (chunked(PAGE).replace(b"\r\n", b' ;x="y"\r\n', 1), CHUNKED),
    "chunk that claims more": (b"7fffffff\r\n" + PAGE, CHUNKED),
    "gzip header, plain": (PAGE, GZIP),
    "gzip header, chunks": (chunked(PAGE), GZIP),
    "gzip without header": (gzip.compress(PAGE), HTML),
    "gzip called x-gzip": (gzip.compress(PAGE), http(b"Content-Encoding: x-gzip")),
    "gzip called deflate": (gzip.compress(PAGE), DEFLATE),
    "gzip and more bytes": (gzip.compress(PAGE) + b"\r\n", GZIP),
    "gzip and other bytes": (gzip.compress(PAGE) + b"<!-- cached -->", GZIP),
    "gzip without its sum": (gzip.compress(PAGE)[:-8], GZIP),
    "gzip in two members": (gzip.compress(PAGE[:99]) + gzip.compress(PAGE[99:]), GZIP),
    "gzip and chunked, both undone": (PAGE, BOTH[1]),
    "gzip and chunked, one undone": (gzip.compress(PAGE), BOTH[1]),
    "gzip as a coding of the transfer": (chunked(gzip.compress(PAGE)), BOTH[0]),
    "deflate": (zlib.compress(PAGE), DEFLATE),
    "deflate called gzip": (zlib.compress(PAGE), GZIP),
    "deflate without header": (zlib.compress(PAGE), HTML),
    "deflate without header of zlib": (deflated(PAGE), DEFLATE),
    "packed 1000 times": (PAGE, MANY_TIMES),
    "br header, plain": (PAGE, http(b"Content-Encoding: br")),
    "zstd header, plain": (PAGE, http(b"Content-Encoding: zstd")),
    "a charset": (PAGE, http(b"Content-Encoding: utf-8")),
    "none": (PAGE, http(b"Content-Encoding: none")),
}


@pytest.mark.parametrize(("body", "head"), ODDLY_CODED.values(), ids=ODDLY_CODED)
def test_the_bytes_say_how_a_page_is_coded(tmp_path: Path, body: bytes, head: bytes) -> None:
    pytest.importorskip("fastwarc")
    (tmp_path / "x.warc").write_bytes(warc_record(HOST, body, http=head))
    [found] = Archive(tmp_path / "x.warc", MAX_BYTES).entries()
    assert isinstance(found, SavedPage)
    assert found.body == PAGE


BLOCK = len(HTML + PAGE)
BROKEN_LENGTHS = {
    "long header": warc_record(HOST, PAGE, extra=b"X: %s\r\n" % (b"x" * 10**6)),
    "no length": warc_record(HOST, PAGE, length=b""),
    "negative length": warc_record(HOST, PAGE, length=b"-5"),
    "two lengths": warc_record(HOST, PAGE, extra=b"Content-Length: 7\r\n"),
    "words between": b"words\r\n\r\nmore words\r\n\r\n",
    **{
        f"{more:+} bytes": warc_record(HOST, PAGE, length=b"%d" % (BLOCK + more))
        for more in (-400, -7, 5, 7, 400, 10**5)
    },
}


@pytest.mark.parametrize("name", ["x.warc", "x.warc.gz", "one member.warc.gz"])
@pytest.mark.parametrize("kind", BROKEN_LENGTHS)
def test_a_record_of_a_wrong_length_costs_itself_alone(
    tmp_path: Path, kind: str, name: str
) -> None:
    records = [good_record(1), BROKEN_LENGTHS[kind], good_record(7), good_record(9)]
    content = b"".join(map(gzip.compress if name == "x.warc.gz" else bytes, records))
    content = gzip.compress(content) if name.startswith("one") else content
    names, [bad] = read(tmp_path / name, content)
    assert names == ["1", "7", "9"]
    passed = len(BROKEN_LENGTHS[kind])  # and the empty lines of the record before
    assert bad.endswith(
        (f": {passed:,} bytes are passed over", f": {passed + 4:,} bytes are passed over")
    )


def test_the_first_record_may_be_the_broken_one(tmp_path: Path) -> None:
    names, bad = read(tmp_path / "x.warc", BROKEN_LENGTHS["+400 bytes"] * 2 + good_record(7))
    assert names == ["7"]
    assert [line.partition(": ")[0] for line in bad] == [HOST.decode()] * 2


def test_damaged_gzip_costs_the_rest_of_its_archive_which_is_told(tmp_path: Path) -> None:
    good = [gzip.compress(good_record(number)) for number in (1, 5, 9)]
    names, [bad] = read(tmp_path / "x.warc.gz", good[0] + broken_bytes(good[1]) + good[2])
    assert names in (["1"], ["1", "5"])  # a page may be read whole before its sum is found wrong
    assert "cannot be read any further: " in bad


def test_records_that_claim_the_whole_file_are_not_read_again_and_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(records, "_BYTES_READ_AGAIN", 1 << 22)
    given = 0

    class Counted(records.RecordStream):
        def read(self, size: int) -> bytes:
            nonlocal given
            read = super().read(size)
            given += len(read)
            return read

    monkeypatch.setattr(archives, "RecordStream", Counted)
    hostile = warc_record(HOST, b"<html>", length=b"%d" % MAX_BYTES) * 2000
    names, bad = read(tmp_path / "x.warc", hostile)
    assert names == []
    assert "cannot be read any further: " in bad[-1]
    assert len(hostile) < given < len(hostile) + (1 << 23)


@pytest.mark.parametrize(
    "date", [b"", b"9999-99-99T99:99:99Z", b"\xff", b"9999-12-31T23:59:59-23:00"]
)
def test_a_record_of_an_impossible_date_is_kept(tmp_path: Path, date: bytes) -> None:
    assert read(tmp_path / "x.warc", warc_record(HOST, PAGE, date=date)) == (["5"], [])


def test_a_folder_names_its_broken_files_and_reads_the_others(tmp_path: Path) -> None:
    pytest.importorskip("fastwarc")
    folder = tmp_path / "pages"
    folder.mkdir()
    (folder / "a\udce9.html").write_bytes(page(1))
    (folder / "b.warc").write_bytes(good_record(2) + b"words")
    (folder / "c.warc.gz").write_bytes(b"\x1f\x8b\x08" + bytes(99))
    (folder / "d.warc").write_bytes(good_record(4))
    (folder / "leads-out.html").symlink_to("/etc/hostname")
    deduplicate([str(folder)], tmp_path / "out", Options(workers=0))
    names, bad = written(tmp_path / "out")
    assert names == ["a%E9", "2", "4"]
    files = [reason.partition(":")[0] for reason in bad]
    assert files == ["b.warc", "c.warc.gz", "leads-out.html"]


@pytest.mark.crawl
def test_the_spider_reads_what_can_be_read(tmp_path: Path) -> None:
    pytest.importorskip("fastwarc")
    archive, feed = tmp_path / "x.warc", tmp_path / "items.jsonl"
    urls = [b"not a URL", b"http://[", b"https://example.com/\xe9", b'http://<:x"@', b"file:///x"]
    records = [warc_record(url, PAGE) for url in urls]
    records.append(warc_record(b"https://example.com/large", b"<html>" + b" " * MAX_BYTES))
    records += [warc_record(b"not a URL", PAGE)] * 100
    archive.write_bytes(b"".join(records) + b"words")
    done = run_scrapy(
        ROOT,
        *("crawl", "archive", "-a", f"path={archive}", "-O", str(feed), "-s", "DEDUP_WORKERS=0"),
        *("-s", f"DEDUP_STORE_URL=sqlite:///{tmp_path / 'dedup.db'}"),
        *("-s", f"DOWNLOAD_MAXSIZE={MAX_BYTES}"),
    )
    assert [item["url"] for item in read_lines(feed)] == ["https://example.com/%EF%BF%BD"]
    assert "Traceback" not in done.stderr
    assert "not a URL: its URL is not that of a page on the web" in done.stderr
    assert "https://example.com/large: too large" in done.stderr
    assert done.stderr.count("not a URL: ") == 96
    assert "5 more entries cannot be read" in done.stderr
    assert "cannot be read any further" in done.stderr


@pytest.mark.parametrize("name", ["x.jsonl.zst", "x.csv.zst"])
@pytest.mark.parametrize("attack", ["damaged", "window of 1 GB"])
def test_rows_of_broken_zstandard_are_one_bad_row(tmp_path: Path, name: str, attack: str) -> None:
    zstd = pytest.importorskip(
        "backports.zstd" if sys.version_info < (3, 14) else "compression.zstd"
    )
    parameter = zstd.CompressionParameter
    options = {parameter.window_log: 30, parameter.content_size_flag: 0}
    packer = zstd.ZstdCompressor(options=options if attack.startswith("window") else None)
    packed = packer.compress(b"id,text\n" * 99) + packer.flush()
    content = packed if attack.startswith("window") else packed[:12] + b"\xff" * 99
    names, [bad] = run(tmp_path, name, content)
    assert names == []
    assert "cannot be read any further: Unable to decompress Zstandard data" in bad


def test_a_line_of_csv_is_cut_where_it_is_too_long(tmp_path: Path) -> None:
    rows = [b"id,text", b"1," + b"a" * 2_000_000, b"2," + b'"a" ' * 400_000, b"3,"]
    rows += [b"4," + b"x," * 600_000, b"5,many words"]
    names, bad = run(tmp_path, "x.csv", b"\r\n".join(rows))
    assert names == ["3", "5"]
    too_long = "longer than 1,000,000 characters"
    assert bad == [too_long] * 3


def test_an_archive_gives_no_more_than_in_proportion_to_its_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archives, "UNPACKED_BYTES_ALLOWED", 10 * len(PAGE))
    monkeypatch.setattr(archives, "MAX_UNPACKED_RATIO", 1)
    records = b"".join(warc_record(b"https://example.com/%d" % at, PAGE) for at in range(50))
    names, [bad] = read(tmp_path / "x.warc.gz", gzip.compress(records))
    assert len(names) == 10
    assert "it gives more than" in bad


@pytest.mark.parametrize("name", ["x.warc", "x.warc.gz"])
def test_mutated_archives_give_pages_of_their_own_and_no_other_error(
    tmp_path: Path, name: str
) -> None:
    pytest.importorskip("fastwarc")
    path = tmp_path / name
    records = [good_record(number) for number in range(4)]
    records[2] = warc_record(HOST, gzip.compress(PAGE), http=GZIP)
    content = b"".join(map(gzip.compress if name == "x.warc.gz" else bytes, records))
    heads = [at for at in range(len(content)) if content[at : at + 5] == b"WARC/"]
    rnd = random.Random(name)
    for _ in range(150):
        mutated = bytearray(content)
        for _ in range(rnd.choice((1, 1, 4, 40))):
            at = rnd.choice([*heads, 0]) + rnd.randint(-270, 300)
            at = (
                at if rnd.random() < 0.7 and 0 <= at < len(content) else rnd.randrange(len(content))
            )
            mutated[at] = rnd.choice((0, 0x20, 0x30, 0x37, 0x39, 0x80, 0xFF, rnd.randrange(256)))
        start = rnd.randrange(len(content))
        if rnd.random() < 0.3:
            mutated[start : start + rnd.randrange(2000)] = b""
        path.write_bytes(mutated)
        with contextlib.suppress(ArchiveError):
            for found in Archive(path, MAX_BYTES).entries():
                if isinstance(found, SavedPage):
                    assert found.url.startswith(("http://", "https://"))
                else:
                    assert found.message.isprintable()
