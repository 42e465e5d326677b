"""What commands print on a terminal of 80 columns."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from shingling import Page, Store
from tests.support.pages import article

if TYPE_CHECKING:
    from pathlib import Path

LONG = f"https://www.example.com/{'a-folder/' * 12}"


@pytest.fixture
def store(tmp_path: Path) -> str:
    file = tmp_path / "dedup.db"
    with Store.open(file) as store:
        store.check([Page(f"{LONG}{name}", article(1), title="A") for name in ("one", "two")])
    return str(file)


def on_a_terminal(*arguments: str) -> str:
    """Run `scrapy dedup` with a terminal as its output."""
    reading, writing = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "scrapy", "dedup", *arguments],
        stdout=writing,
        env={**os.environ, "COLUMNS": "80", "TERM": "xterm", "NO_COLOR": "1"},
    )
    os.close(writing)
    printed = b""
    try:
        while read := os.read(reading, 4096):
            printed += read
    except OSError:  # the other end is closed
        pass
    os.close(reading)
    assert process.wait() == 0
    return printed.decode()


@pytest.mark.parametrize("command", ["groups", "list", "show"])
def test_urls_are_cut_in_the_middle_never_broken(store: str, command: str) -> None:
    arguments = [f"{LONG}two"] if command == "show" else []
    printed = on_a_terminal(command, *arguments, "--store", store)
    lines = printed.splitlines()
    assert max(map(len, lines)) <= 80
    assert "\x1b" not in printed
    assert sum("…" in line for line in lines) >= 2
    assert any("two" in line for line in lines)
