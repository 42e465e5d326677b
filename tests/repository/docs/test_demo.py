"""What the README and the page of commands show is what the demonstration gives."""

from __future__ import annotations

import html
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from crawler.picture import shortened
from tests.docs.console import Shell, commands
from tests.docs.pages import DOCS, ROOT, blocks, sections

# Examples on files, databases and stores that are not here.
_ELSEWHERE = ("graded", "articles", "items.jsonl", "postgresql", "prune", "idf", "method simhash")


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A folder like that of the clone after `make demo`, and what it printed."""
    folder = tmp_path_factory.mktemp("clone")
    shutil.copy(ROOT / "scrapy.cfg", folder)
    (folder / "crawler").symlink_to(ROOT / "crawler")
    done = subprocess.run(
        [sys.executable, "-m", "crawler.demo"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )
    return folder, done.stdout


def bare(text: str) -> str:
    """A text without white space and without the port of the sample site."""
    return re.sub(r"\s|(?<=127\.0\.0\.1):\d+", "", text)


def test_the_picture_of_the_readme_shows_what_the_demonstration_prints(
    demo: tuple[Path, str],
) -> None:
    picture = (DOCS / "images" / "demo.svg").read_text(encoding="utf-8")
    assert "@font-face" not in picture, "it must not load anything"
    drawn = "".join(map(html.unescape, re.findall(r"<text[^>]*>(.*?)</text>", picture)))
    assert bare("".join(shortened(demo[1]))) in bare(drawn), "run `make picture`"


def test_the_readme_tells_the_numbers_of_the_demonstration(demo: tuple[Path, str]) -> None:
    folder, printed = demo
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    kept, dropped = (re.search(rf"{word}: (\d+) pages", printed) for word in ("Kept", "Dropped"))
    assert kept
    assert dropped
    assert f"{kept[1]} pages kept, {dropped[1]} dropped" in readme
    shown = re.search(r'"(http\S+)", "title": "([^"]+)",\n "dedup": ({.+})}', readme)
    assert shown
    shell = Shell(folder)
    [found] = json.loads(
        shell.run(f"scrapy dedup show {_there(shown[1], printed)} --json {_STORE}")
    )
    result = json.loads(shown[3])
    assert found["title"].replace("\xa0", " ") == shown[2]
    assert found["status"] == result["status"]
    assert found["original"] == _there(result["original"], printed)
    assert round(found["resemblance"], 4) == result["resemblance"]


_STORE = "--store sqlite:///demo/dedup.db"


def _there(url: str, printed: str) -> str:
    """The URL in the demonstration, whose port may be another one."""
    address = re.search(r"url=(http://\S+?)/ ", printed)
    assert address
    return re.sub(r"http://127\.0\.0\.1:\d+", address[1], url)


@pytest.mark.parametrize("name", sections("reference/commands.md"))
def test_the_commands_print_what_their_page_says(
    name: str, demo: tuple[Path, str], tmp_path: Path
) -> None:
    folder, printed = demo
    examples = [
        block
        for block in blocks(sections("reference/commands.md")[name])
        if block.language == "console"
    ]
    if not examples:
        pytest.skip("no example")
    for file in ("scrapy.cfg", "crawler"):
        shutil.copy(folder / file, tmp_path) if file.endswith("cfg") else (
            tmp_path / file
        ).symlink_to(folder / file)
    shutil.copy(folder / "demo" / "dedup.db", tmp_path)
    shell = Shell(tmp_path, _there("http://127.0.0.1:8765", printed))
    for block in examples:
        if not any(word in command for command, _ in commands(block) for word in _ELSEWHERE):
            shell.check(block)
