"""Archives made to end a run, to fill its memory, to take its time, or to name other places."""

from __future__ import annotations

import bz2
import contextlib
import gzip
import lzma
import random
import sys
from typing import TYPE_CHECKING, Any

import pytest

from shingling.bulk import Options, deduplicate
from shingling.bulk.files import archives
from shingling.bulk.files.archives import read_archive
from shingling.bulk.files.pages import ArchiveError, SavedPage
from tests.bulk.collections import read_lines
from tests.support.crawls import run_scrapy
from tests.support.installed import ROOT

from .archives import (
    TAR_END,
    broken_sparse,
    good,
    good_record,
    http,
    octal,
    page,
    pax,
    tar_entry,
    tar_header,
    warc_record,
)

if TYPE_CHECKING:
    from collections.abc import Callable
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
    path.write_bytes(content)
    names, bad = [], []
    try:
        for found in read_archive(path, max_bytes=MAX_BYTES, **options):
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
    """Deduplicate a file and an archive behind it: last parts of kept ids, bad rows."""
    archive, after = tmp_path / name, tmp_path / "after.tar"
    archive.write_bytes(content)
    after.write_bytes(tar_entry(b"after", page(20)) + TAR_END)
    inputs = [str(archive), str(after)]
    deduplicate(inputs, tmp_path / "out", Options(workers=0, max_bytes=MAX_BYTES))
    (*names, last), bad = written(tmp_path / "out")
    assert last == "after"
    return names, bad


GOOD_TIMES = {
    "largest binary": tar_entry(b"5.html", PAGE, mtime=b"\x80" + b"\xff" * 11),
    "nan": pax([(b"mtime", b"nan")]) + tar_entry(b"5.html", PAGE),
    "word": pax([(b"mtime", b"\xff")]) + tar_entry(b"5.html", PAGE),
}


@pytest.mark.parametrize("entry", GOOD_TIMES.values(), ids=GOOD_TIMES)
def test_a_page_of_an_impossible_time_is_kept(tmp_path: Path, entry: bytes) -> None:
    path = tmp_path / "x.tar"
    path.write_bytes(good(1) + entry + good(9) + TAR_END)
    _, own, _ = read_archive(path, max_bytes=MAX_BYTES)
    assert isinstance(own, SavedPage)
    assert own.fetched.year == 1970


GOOD_NAMES = {
    "Latin-1": (b"5-\xe9.html", "5-%E9"),
    "line break": (b"5\n.html", "5%0A"),
    "escape": (b"5\x1b[2J", "5%1B%5B2J"),
    "URL": (b"http:5", "http%3A5"),
    "backslash": (b"..\\..\\5", "..%5C..%5C5"),
}


@pytest.mark.parametrize(("name", "shown"), GOOD_NAMES.values(), ids=GOOD_NAMES)
def test_an_odd_file_name_is_escaped(tmp_path: Path, name: bytes, shown: str) -> None:
    assert read(tmp_path / "x.tar", tar_entry(name, PAGE) + TAR_END) == ([shown], [])


SKIPPED_ENTRIES = {
    "PAX length beyond": (tar_entry(b"p", b"99 path=x\n", kind=b"x") + good(5), "NUL"),
    "name of 1 MB": (tar_entry(b"L", b"n" * 1_000_000, kind=b"L") + good(5), "4,096 characters"),
    "absolute name": (tar_entry(b"/etc/passwd", PAGE), "leaves the archive"),
    "host": (tar_entry(b"//evil.example/x", PAGE), "leaves the archive"),
    "parent": (tar_entry(b"a/../../b", PAGE), "a/../../b: its name leaves the archive"),
    "parent by prefix": (tar_entry(b"x", PAGE, prefix=b".."), "leaves the archive"),
    "NUL": (pax([(b"path", b"5\0.html")]) + tar_entry(b"5", PAGE), "NUL"),
    "no name": (tar_entry(b"", PAGE), "no name"),
    "page of 2 MB": (tar_entry(b"5.html", b"<html>" + bytes(2_000_000)), "too large"),
}


@pytest.mark.parametrize(("entry", "reason"), SKIPPED_ENTRIES.values(), ids=SKIPPED_ENTRIES)
def test_an_entry_that_cannot_be_a_page_is_named_and_the_rest_is_read(
    tmp_path: Path, entry: bytes, reason: str
) -> None:
    names, [bad] = read(tmp_path / "x.tar", good(1) + entry + good(9) + TAR_END)
    assert names == ["1", "9"]
    assert reason in bad


@pytest.mark.parametrize("kind", [b"1", b"2", b"3", b"4", b"5", b"6", b"V", b"\xff"])
def test_links_devices_and_folders_are_no_pages(tmp_path: Path, kind: bytes) -> None:
    size = octal(10**9) if kind in b"123456" else octal(0)
    entry = tar_header(b"5.html", size, kind=kind, link=b"/etc/passwd")
    archive = good(1) + entry + good(9) + TAR_END
    assert read(tmp_path / "x.tar", archive) == (["1", "9"], [])


@pytest.mark.parametrize(
    "base", ["https://example.com/docs/", "https://example.com/docs/index.html", "file:///srv/"]
)
def test_no_name_leaves_the_folder_of_the_base(tmp_path: Path, base: str) -> None:
    names = [b"//evil.example/x", b"/x", b"../x", b"a/../../x", b"http://evil.example/x", b"c:x"]
    names += [b"\\\\evil.example\\x", b"javascript:x", b"?x", b"#x", b".", b"..", b"%2e%2e/x"]
    archive = tmp_path / "x.tar"
    archive.write_bytes(b"".join(tar_entry(name, page(5)) for name in names) + TAR_END)
    found = list(read_archive(archive, base=base, max_bytes=MAX_BYTES))
    urls = [one.url for one in found if isinstance(one, SavedPage)]
    folder = base.rpartition("/")[0] + "/"
    assert all(url.startswith(folder) and url != folder for url in urls)
    assert len(urls) == 7
    assert len(found) == len(names)


def broken_bytes(packed: bytes) -> bytes:
    """Damage the middle of packed bytes."""
    middle = len(packed) // 2
    return packed[:middle] + bytes(32) + packed[middle + 32 :]


WHOLE = good(1) + good(5) + good(9) + TAR_END
PACKED_RECORDS = gzip.compress(good_record(1)) + gzip.compress(good_record(5))
UNSORTED = good(9) + good(1) + good(5) + TAR_END
BROKEN_OFF = {
    "empty": ("x.tar", b"", []),
    "cut in a page": ("x.tar", (good(1) + good(5))[:-600], ["1"]),
    "cut in a PAX header": ("x.tar", good(1) + pax([(b"a", b"b" * 999)])[:-900], ["1"]),
    "size beyond the end": ("x.tar", good(1) + tar_header(b"5", octal(10**9)) + page(5), ["1"]),
    "cut gzip": ("x.tgz", gzip.compress(UNSORTED)[:-500], ["9", "1"]),
    "damaged gzip": ("x.tar.gz", gzip.compress(good(1) * 9)[:9] + b"\xff" * 99, []),
    "damaged xz": ("x.tar.xz", broken_bytes(lzma.compress(WHOLE)), []),
    "nothing in gzip": ("x.warc.gz", b"\x1f\x8b", []),
    "no WARC file": ("x.warc", b"word " * 9999, []),
    "cut record": ("x.warc", good_record(1) + good_record(5)[:-600], ["1"]),
    "cut head of a record": ("x.warc", good_record(1) + good_record(5)[:40], ["1"]),
    "cut WARC of gzip": ("x.warc.gz", PACKED_RECORDS[:-200], ["1"]),
}
# Between a good entry and another one, which is not read any more.
BROKEN_ENTRIES = {
    "sparse map of words": broken_sparse(b"x\n"),
    "sparse size": pax([(b"GNU.sparse.size", b"x")]) + tar_entry(b"5", PAGE),
    "PAX size of 5000 digits": pax([(b"size", b"9" * 5000)]) + tar_entry(b"5", PAGE),
    "negative size": tar_entry(b"5", PAGE, size=b"\xff" * 11 + b"\0"),
    "PAX length of 0": tar_entry(b"p", b"0 path=x\n", kind=b"x") + good(5),
    "checksum": tar_entry(b"5", PAGE, checksum=b"0000001\0"),
    "headers without an entry": pax([(b"a", b"b")]) * 17 + TAR_END,
}
BROKEN_OFF |= {
    name: ("x.tgz", gzip.compress(good(1) + entry + good(9) + TAR_END), ["1"])
    for name, entry in BROKEN_ENTRIES.items()
}


@pytest.mark.parametrize(("name", "content", "before"), BROKEN_OFF.values(), ids=BROKEN_OFF)
def test_the_rest_of_a_broken_archive_is_one_bad_entry(
    tmp_path: Path, name: str, content: bytes, before: list[str]
) -> None:
    if "warc" in name:
        pytest.importorskip("fastwarc")
    names, [bad] = read(tmp_path / name, content)
    assert names == before
    assert "cannot be read any further: " in bad


def test_a_broken_archive_costs_its_rest_and_not_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.undo()  # in a worker process, as everybody reads them
    names, bad = run(tmp_path, "x.tar", good(3) + good(1) + (good(5) * 2)[:-600])
    assert names == ["3", "1", "5"]
    assert bad == ["cannot be read any further: unexpected end of data"]


ENDLESS = b"HTTP/1.1 200 OK\r\nX: " + b"x" * 90_000
GZIP, TWICE = http(b"Content-Encoding: gzip"), http(b"Content-Encoding: gzip, gzip")
CHUNKED = http(b"Transfer-Encoding: chunked")
BOMB = gzip.compress(b"<html>" + bytes(10**8), 1)
PACKED_TWICE = gzip.compress(gzip.compress(PAGE))
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
    "unpacked": (warc_record(HOST, PAGE, http=GZIP), "decoded"),
    "packed twice": (warc_record(HOST, PACKED_TWICE, http=TWICE), "decoded"),
    "packed 1000 times": (warc_record(HOST, PAGE, http=MANY_TIMES), "decoded"),
    "bomb": (warc_record(HOST, BOMB, http=GZIP), "too large"),
    "huge chunk": (warc_record(HOST, b"7fffffffffffffff\r\n" + PAGE, http=CHUNKED), "decoded"),
    "negative chunk": (warc_record(HOST, b"-5\r\n" + PAGE, http=CHUNKED), "decoded"),
}


@pytest.mark.parametrize(("record", "reason"), BROKEN_RECORDS.values(), ids=BROKEN_RECORDS)
def test_a_broken_response_is_named_and_the_rest_is_read(
    tmp_path: Path, record: bytes, reason: str
) -> None:
    pytest.importorskip("fastwarc")
    names, [bad] = read(tmp_path / "x.warc", good_record(1) + record + good_record(9))
    assert names == ["1", "9"]
    assert reason in bad


RECORDS_WITHOUT_END = {
    "long header": warc_record(HOST, PAGE, extra=b"X: %s\r\n" % (b"x" * 10**6)),
    "no length": warc_record(HOST, PAGE, length=b""),
    "negative length": warc_record(HOST, PAGE, length=b"-5"),
    "two lengths": warc_record(HOST, PAGE, extra=b"Content-Length: 7\r\n"),
    "words between": b"words\r\n\r\nmore words\r\n\r\n",
    "damaged member": broken_bytes(gzip.compress(good_record(5))),
}


@pytest.mark.parametrize("record", RECORDS_WITHOUT_END.values(), ids=RECORDS_WITHOUT_END)
def test_a_broken_record_costs_the_rest_of_its_archive_which_is_told(
    tmp_path: Path, record: bytes
) -> None:
    pytest.importorskip("fastwarc")
    if not record.startswith(b"\x1f\x8b"):
        record = gzip.compress(record)
    records = gzip.compress(good_record(1)) + record + gzip.compress(good_record(9))
    names, bad = read(tmp_path / "x.warc.gz", records)
    assert names in (["1"], ["1", "5"])  # a page may be read whole before its sum is found wrong
    assert "cannot be read any further: " in bad[-1]


@pytest.mark.parametrize(
    "date", [b"", b"9999-99-99T99:99:99Z", b"\xff", b"9999-12-31T23:59:59-23:00"]
)
def test_a_record_of_an_impossible_date_is_kept(tmp_path: Path, date: bytes) -> None:
    pytest.importorskip("fastwarc")
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
    assert names == ["5"]
    too_long = "longer than 1,000,000 characters"
    assert bad == [too_long, too_long, "text is empty", too_long]


def test_an_archive_gives_no_more_than_in_proportion_to_its_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archives, "UNPACKED_BYTES_ALLOWED", 10 * len(PAGE))
    monkeypatch.setattr(archives, "MAX_UNPACKED_RATIO", 1)
    entries = b"".join(tar_entry(b"%03d" % at, PAGE) for at in range(50))
    names, [bad] = read(tmp_path / "x.tgz", gzip.compress(entries + TAR_END))
    assert len(names) == 10
    assert "it gives more than" in bad


@pytest.mark.parametrize("name", ["x.tar", "x.tgz", "x.tar.bz2", "x.tar.xz", "x.warc", "x.warc.gz"])
def test_mutated_archives_give_pages_of_their_own_and_no_other_error(
    tmp_path: Path, name: str
) -> None:
    pytest.importorskip("fastwarc")
    path, base = tmp_path / name, "https://example.com/"
    if "warc" in name:
        entries = [good_record(number) for number in range(4)]
        entries[2] = warc_record(HOST, gzip.compress(PAGE), http=GZIP)
    else:
        entries = [good(0), pax([(b"path", b"x.html"), (b"mtime", b"1.5")]) + good(1), good(2)]
        entries += [tar_entry(b"L", b"n" * 200, kind=b"L") + good(3), broken_sparse(b"1\n0\n9\n")]
    if name == "x.warc.gz":
        content = b"".join(map(gzip.compress, entries))
    else:
        packs: dict[str, Callable[[bytes], bytes]]
        packs = {"tgz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress}
        content = packs.get(name.rpartition(".")[2], bytes)(b"".join(entries) + TAR_END)
    heads = [at for at in range(len(content)) if content[at : at + 5] in (b"WARC/", b"ustar")]
    rnd = random.Random(name)
    for _ in range(150):
        mutated = bytearray(content)
        for _ in range(rnd.choice((1, 1, 4, 40))):
            at = rnd.choice([*heads, 0]) + rnd.randint(-270, 300)
            at = (
                at if rnd.random() < 0.7 and 0 <= at < len(content) else rnd.randrange(len(content))
            )
            mutated[at] = rnd.choice((0, 0x20, 0x30, 0x37, 0x39, 0x80, 0xFF, rnd.randrange(256)))
        for at in heads if name == "x.tar" and rnd.random() < 0.8 else []:
            block = mutated[at - 257 : at + 255]
            mutated[at - 109 : at - 101] = b"%06o\0 " % (sum(block) - sum(block[148:156]) + 256)
        start = rnd.randrange(len(content))
        if rnd.random() < 0.3:
            mutated[start : start + rnd.randrange(2000)] = b""
        path.write_bytes(mutated)
        with contextlib.suppress(ArchiveError):
            for found in read_archive(path, base=base, max_bytes=MAX_BYTES):
                if isinstance(found, SavedPage):
                    assert found.url.startswith(("http://", "https://"))
                    assert "warc" in name or found.url.startswith(base)
                else:
                    assert found.message.isprintable()
