"""What the README and the page of commands show is what the demonstration gives."""

from __future__ import annotations

import html
import json
import re
import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from crawler.picture import shortened
from tests.repository.docs.console import ADDRESS, Shell, commands
from tests.repository.docs.pages import DOCS, Block, blocks, sections
from tests.support.installed import ROOT

if TYPE_CHECKING:
    from pathlib import Path

# Examples on files, databases and stores that are not here.
_ELSEWHERE = (
    "graded",
    "articles",
    "items.jsonl",
    "postgresql",
    "prune",
    "dedup rules",
    "idf",
    "method simhash",
)

EXAMPLES = {
    name: [
        block
        for block in blocks(text)
        if block.language == "console"
        and not any(word in command for command, _ in commands(block) for word in _ELSEWHERE)
    ]
    for name, text in sections("reference/commands.md").items()
}


@dataclass(frozen=True)
class Demo:
    """A folder like the clone after `make demo`, what that printed, and where the site was."""

    folder: Path
    printed: str
    address: str

    def here(self, url: str) -> str:
        """A URL of the documentation in this demonstration, whose port may be another one."""
        return url.replace(ADDRESS, self.address)


def make_project(folder: Path) -> None:
    """Make a folder the project of the clone."""
    shutil.copy(ROOT / "scrapy.cfg", folder)
    (folder / "crawler").symlink_to(ROOT / "crawler")


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Demo:
    folder = tmp_path_factory.mktemp("clone")
    make_project(folder)
    printed = Shell(folder).run("python -m crawler.demo")
    address = re.search(r"url=(http://\S+?)/ ", printed)
    assert address
    return Demo(folder, printed, address[1])


def bare(text: str) -> str:
    """A text without white space and without the port of the sample site."""
    return re.sub(r"\s|(?<=127\.0\.0\.1):\d+", "", text)


def test_the_picture_of_the_readme_shows_what_the_demonstration_prints(demo: Demo) -> None:
    picture = (DOCS / "images" / "demo.svg").read_text(encoding="utf-8")
    assert "@font-face" not in picture, "it must not load anything"
    drawn = "".join(map(html.unescape, re.findall(r"<text[^>]*>(.*?)</text>", picture)))
    assert bare("".join(shortened(demo.printed))) in bare(drawn), "run `make picture`"


def test_the_readme_tells_the_numbers_of_the_demonstration(demo: Demo) -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    counts = dict(re.findall(r"(Kept|Dropped): (\d+) pages", demo.printed))
    assert f"{counts['Kept']} pages kept, {counts['Dropped']} dropped" in readme
    shown = re.search(r'"(http\S+)", "title": "([^"]+)",\n "dedup": ({.+})}', readme)
    assert shown
    [found] = json.loads(
        Shell(demo.folder).run(
            f"scrapy dedup show {demo.here(shown[1])} --json --store sqlite:///demo/dedup.db"
        )
    )
    result = json.loads(shown[3])
    assert found["title"].replace("\xa0", " ") == shown[2]
    assert found["status"] == result["status"]
    assert found["original"] == demo.here(result["original"])
    assert round(found["resemblance"], 4) == result["resemblance"]


@pytest.mark.parametrize(
    "examples", [pytest.param(found, id=name) for name, found in EXAMPLES.items() if found]
)
def test_a_command_prints_what_its_page_says(
    examples: list[Block], demo: Demo, tmp_path: Path
) -> None:
    make_project(tmp_path)
    shutil.copy(demo.folder / "demo" / "dedup.db", tmp_path)
    shell = Shell(tmp_path, demo.address)
    for block in examples:
        shell.check(block)
