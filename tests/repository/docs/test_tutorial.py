"""Every command of the tutorial prints what the page says."""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING

import pytest

from crawler.demo import SAMPLE, serve
from tests.repository.docs.console import Shell, commands
from tests.repository.docs.pages import blocks, read

if TYPE_CHECKING:
    from pathlib import Path

# What a reader has to install or start once.
_SET_UP = ("git ", "python3 ", ". ", "pip ")


@pytest.mark.skipif(sys.platform == "win32", reason="the tutorial is for a POSIX shell")
def test_every_command_of_the_tutorial_prints_what_the_page_says(tmp_path: Path) -> None:
    ran = 0
    with serve(SAMPLE) as address:
        shell = Shell(tmp_path, address.rstrip("/"))
        for block in blocks(read("tutorial.md")):
            if block.caption is not None:
                shell.write(block)
            elif not commands(block)[0][0].startswith(_SET_UP):
                shell.check(block)
                ran += len(commands(block))
    assert ran > 12


def test_the_tutorial_says_in_words_the_resemblance_that_it_shows() -> None:
    page = read("tutorial.md")
    [share] = re.findall(r"(\d+) % of all 5-word sequences of the two texts are in\sboth", page)
    [resemblance] = re.findall(r'"resemblance": (\S+),', page)
    assert round(100 * float(resemblance)) == int(share)
