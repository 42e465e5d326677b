"""Every command of the pages for users of other systems prints what the page says."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from tests.repository.docs.console import Shell, commands
from tests.repository.docs.pages import DOCS, blocks, read

if TYPE_CHECKING:
    from pathlib import Path

PAGES = sorted(page.name for page in (DOCS / "coming-from").glob("*.md"))


def test_the_index_names_every_page() -> None:
    index = read("coming-from/index.md")
    assert all(f"]({name})" in index for name in PAGES if name != "index.md")


@pytest.mark.skipif(sys.platform == "win32", reason="the pages are for a POSIX shell")
@pytest.mark.parametrize("name", [name for name in PAGES if name != "index.md"])
def test_every_command_of_a_page_prints_what_the_page_says(name: str, tmp_path: Path) -> None:
    shell = Shell(tmp_path)
    for block in blocks(read(f"coming-from/{name}")):
        if block.caption is not None:
            shell.write(block)
        elif block.language == "console":
            assert commands(block)
            shell.check(block)
