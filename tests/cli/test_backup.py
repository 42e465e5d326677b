"""`scrapy dedup backup`, the write-ahead log, and commands that are interrupted."""

from __future__ import annotations

import io
import json
import shutil
import signal
import subprocess
import sys
import threading
from contextlib import closing
from http.client import HTTPConnection
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest
from rich.text import Text

from shingling import Page, Store
from shingling.admin.store_admin import StoreAdmin
from shingling.console.output import terminal
from tests.support.invariants import verify
from tests.support.pages import article
from tests.support.processes import PATIENCE, so_within

if TYPE_CHECKING:
    from pathlib import Path


def page(number: int) -> Page:
    return Page(f"https://a.example/{number}", article(number))


def number_of(file: Path) -> int:
    with Store.open(file) as store:
        return store.status().pages


def test_a_store_is_backed_up_while_another_process_writes(
    dedup: Any, url: str, tmp_path: Path
) -> None:
    copy, ends = tmp_path / "copy.db", threading.Event()
    written = [0]

    def write() -> None:
        with Store.open(url) as store:
            while not ends.is_set():
                store.check([page(written[0])])
                written[0] += 1

    writer = threading.Thread(target=write)
    writer.start()
    try:
        assert so_within(PATIENCE, lambda: written[0] > 10)
        before = written[0]
        done = dedup("backup", str(copy), "--json").json()
        assert done == {"file": str(copy), "bytes": copy.stat().st_size}
        assert so_within(PATIENCE, lambda: written[0] > before + 10), "it still writes"
    finally:
        ends.set()
        writer.join()
    verify(copy)
    assert before <= number_of(copy) < written[0]
    refused = dedup("backup", str(copy))
    assert (refused.code, refused.err) == (
        2,
        f"scrapy dedup backup: {copy}: the file is there; --force replaces it\n",
    )
    assert dedup("backup", str(copy), "--force").out == (
        f"{copy}: {copy.stat().st_size / 1e6:,.1f} MB\n"
    )
    assert number_of(copy) == written[0]
    assert [one.name for one in tmp_path.iterdir() if "part" in one.name] == []


def test_a_folder_that_is_not_there_is_named(dedup: Any, url: str, tmp_path: Path) -> None:
    with Store.open(url) as store:
        store.check([page(1)])
    device = dedup("backup", "/dev/null", "--force")
    assert (device.code, device.err) == (2, "scrapy dedup backup: /dev/null: it is no file\n")
    done = dedup("backup", str(tmp_path / "no" / "copy.db"))
    assert (done.code, done.err.count("\n")) == (2, 1)
    assert "No such file or directory" in done.err


def test_what_a_crawl_has_written_is_in_the_file_while_a_reader_has_the_store_open(
    url: str, tmp_path: Path
) -> None:
    with Store.open(url) as writer:
        writer.check([page(1)])
    file, copy = tmp_path / "dedup.db", tmp_path / "copy.db"
    with Store.open(url, create=False) as reader:
        assert reader.status().pages == 1
        with Store.open(url) as writer:
            writer.check([page(number) for number in range(2, 20)])
        assert (tmp_path / "dedup.db-wal").stat().st_size == 0
        shutil.copy(file, copy)
        assert number_of(copy) == reader.status().pages == 19


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_serve_ends_by_either_signal_with_its_store_closed(
    url: str, tmp_path: Path, number: signal.Signals
) -> None:
    with Store.open(url) as store:
        store.check([page(1), page(2)])
    command = (sys.executable, "-m", "scrapy", "dedup", "serve", "--port", "0", "--json")
    with (
        closing((tmp_path / "printed").open("wb")) as printed,
        subprocess.Popen(
            [*command, "--store", url],
            cwd=tmp_path,
            stdout=printed,
            stderr=subprocess.PIPE,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
        ) as process,
    ):
        assert so_within(PATIENCE, lambda: b"}" in (tmp_path / "printed").read_bytes())
        address = urlsplit(json.loads((tmp_path / "printed").read_bytes())["url"])
        with closing(HTTPConnection("127.0.0.1", address.port or 0, timeout=PATIENCE)) as served:
            served.request("GET", "/overview")
            status = served.getresponse().status
        process.send_signal(number)
        _, errors = process.communicate(timeout=PATIENCE)
    assert (process.returncode, errors) == (0, b"")
    assert (address.hostname, status) == ("127.0.0.1", 200)
    assert not (tmp_path / "dedup.db-wal").exists()


def test_a_command_that_is_interrupted_ends_in_one_line(
    dedup: Any, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Store.open(url) as store:
        store.check([page(1)])

    def interrupt(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(StoreAdmin, "redecide", interrupt)
    done = dedup("rebuild", "--decide", "--yes")
    assert (done.code, done.out, done.err) == (2, "", "scrapy dedup rebuild: interrupted\n")
    monkeypatch.setattr("tests.support.commands._Terminal.readline", interrupt, raising=False)
    asked = dedup("forget", "https://a.example/1", stdin=None)
    assert asked.code == 2
    assert asked.err == "Remove 1 page from the store? [y/N] \nscrapy dedup forget: interrupted\n"
    assert dedup("status", "--json").json()["pages"] == 1


@pytest.mark.parametrize(("value", "has_escapes"), [("", True), ("1", False)])
def test_no_color_leaves_no_escapes(
    monkeypatch: pytest.MonkeyPatch, value: str, has_escapes: bool
) -> None:
    monkeypatch.setenv("NO_COLOR", value)
    monkeypatch.setenv("TERM", "xterm-256color")
    printed = io.StringIO()
    terminal(file=printed, force_terminal=True).print(Text("a word", style="bold red"))
    assert ("\x1b" in printed.getvalue()) == has_escapes
