"""The how-to pages, the tutorial and the demo, run as they stand."""

from __future__ import annotations

import html
import json
import os
import re
import shutil
import subprocess
import sys
import textwrap
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest

from crawler.picture import shortened
from crawler.serve import serve
from tests.repository.docs.console import Shell, commands, with_port_of
from tests.repository.docs.pages import DOCS, Block, blocks, read, sections
from tests.support.crawls import SPIDER, Project, read_feed, run_scrapy
from tests.support.installed import ROOT
from tests.support.pages import article, html as html_of, links
from tests.support.serving import serving

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from subprocess import CompletedProcess


YIELDS_ITS_PAGE = """
def parse(self, response):
    yield {"url": response.url}
"""


def words(number: int) -> str:
    """30 words that no other number has."""
    return " ".join(f"word{number}x{place}" for place in range(30))


def product(name: str, text: str) -> str:
    return f'<li class="product"><a href="/{name}.html"><h2>Chair</h2></a><p>{text}</p></li>'


PAGES = {
    "/list1.html": f"<ul>{product('a', words(1))}{product('b', words(2))}</ul>",
    "/list2.html": f"<ul>{product('copy', words(1))}{product('c', words(3))}</ul>",
    "/one.html": f"<nav>{words(8)}</nav><article>{words(4)}</article>",
    "/two.html": f"<nav>{words(9)}</nav><article>{words(4)}</article>",
    "/none.html": f"<p>{words(5)}</p>",
}


def example(name: str, containing: str) -> str:
    """The Python example of a page that contains some text."""
    [found] = [block.text for block in blocks(read(name)) if containing in block.text]
    return found


class Shop(Project):
    """A project with one spider, and the site that it crawls."""

    def __init__(self, folder: Path, site: str, pages: dict[str, str]) -> None:
        super().__init__(folder)
        self.pages = pages
        self._site = site
        self._settings = (folder / "shop" / "settings.py").read_text(encoding="utf-8")

    def names(self, parse: str, settings: str, *names: str) -> list[str]:
        """The names of the pages of the items of a crawl."""
        return [item["url"].rpartition("/")[2] for item in self.items(parse, settings, *names)]

    def items(self, parse: str, settings: str, *names: str) -> list[dict[str, Any]]:
        """The items of a crawl of pages by name."""
        spider = SPIDER.partition("    def parse")[0] + textwrap.indent(parse, "    ")
        self.write("shop/spiders/spider.py", spider)
        self.write("shop/settings.py", self._settings + settings)
        paths = ",".join(f"/{name}" for name in names)
        where = ("-a", f"site={self._site}", "-a", f"paths={paths}")
        return self.crawl(*where, "-s", "CONCURRENT_REQUESTS=1").items


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Shop]:
    pages = {
        path: f"<!DOCTYPE html><title>Chairs</title><body>{body}</body>"
        for path, body in PAGES.items()
    }
    with serving(pages) as site:
        yield Shop(tmp_path, site.url, pages)


def test_of_items_with_their_own_text_only_copies_are_dropped(shop: Shop) -> None:
    parse = example("howto/list-pages.md", "li.product")
    assert shop.names(parse, "", "list1.html", "list2.html") == ["a.html", "b.html", "c.html"]


def test_the_recipe_of_an_incremental_crawl_brings_what_is_new_or_has_changed(
    tmp_path: Path,
) -> None:
    pages = {f"/{number}": html_of(article(number), f"Story {number}") for number in range(40)}

    def brought(feed: str) -> list[str]:
        pages["/"] = "".join(f"<a href={path}>Story</a> " for path in sorted(pages))
        options = ("-O", feed, "-s", "DEDUP_WORKERS=0")
        done = run_scrapy(tmp_path, "runspider", "only_news.py", *options)
        assert done.returncode == 0, done.stderr
        items = {urlsplit(item["url"]).path: item for item in read_feed(tmp_path / feed)}
        items.pop("/", None)
        assert all(item["text"] and item["title"] for item in items.values())
        return sorted(items)

    with serving(pages) as server:
        recipe = example("howto/recrawl.md", "class OnlyNews").replace(
            "https://example.com/", server.url
        )
        (tmp_path / "only_news.py").write_text(recipe.replace("example.com", "127.0.0.1"))
        stories = sorted({*pages} - {"/"})
        assert brought("first.jsonl") == stories
        prices = [f"/{number}" for number in range(3)]
        for path in prices:
            pages[path] += "<p class=price>12</p>"
        texts = [f"/{number}" for number in range(3, 7)]
        for number, path in enumerate(texts):
            pages[path] = html_of(f"{article(300 + number)} {article(3 + number)}", "Story")
        fresh = [f"/{number}" for number in range(40, 43)]
        pages.update({path: html_of(article(int(path[1:])), "New") for path in fresh})
        assert brought("second.jsonl") == sorted([*prices, *texts, *fresh])
        assert brought("third.jsonl") == []


def test_the_script_that_keeps_an_index_up_to_date_has_what_the_site_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pages = {f"/{number}": html_of(article(number), f"Story {number}") for number in range(6)}

    def indexed() -> dict[str, str]:
        pages["/"] = "".join(f"<a href={path}>Story</a> " for path in sorted(pages))
        exec(compile(script, "sync_index.py", "exec"), {})  # noqa: S102 (our documentation)
        index = json.loads((tmp_path / "index.json").read_text())
        return {
            urlsplit(url).path: text for url, text in index.items() if urlsplit(url).path != "/"
        }

    def scrapy(command: list[str], check: bool = False, **_: Any) -> CompletedProcess[str]:
        """Run Scrapy as a fork of a process that has imported it."""
        workers = ["-s", "DEDUP_WORKERS=0"] if command[1] == "runspider" else []
        done = run_scrapy(tmp_path, *command[1:], *workers)
        assert done.returncode == 0 or not check, done.stderr
        return done

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(subprocess, "run", scrapy)
    script = example("howto/recrawl.md", "INDEX = ")
    with serving(pages) as server:
        recipe = example("howto/recrawl.md", "class OnlyNews").replace(
            "https://example.com/", server.url
        )
        (tmp_path / "only_news.py").write_text(recipe.replace("example.com", "127.0.0.1"))
        assert indexed().keys() == {f"/{number}" for number in range(6)}
        gone, pages["/1"] = pages.pop("/0"), html_of(article(2), "Story 2")
        changed = indexed()
        assert changed.keys() == {f"/{number}" for number in range(2, 6)}, "/1 copies /2 now"
        pages["/0"], pages["/1"] = gone, html_of(article(7), "Story 7")
        assert indexed().keys() == {f"/{number}" for number in range(6)}, "both come out again"


def test_the_extractor_of_a_user_decides_what_is_compared(shop: Shop) -> None:
    shop.write("shop/extract.py", example("reference/extractors.md", "def main_text"))
    settings = example("reference/extractors.md", "DEDUP_EXTRACTOR =") + 'DEDUP_ACTION = "tag"\n'
    items = shop.items(YIELDS_ITS_PAGE, settings, "one.html", "two.html", "none.html")
    assert [item["dedup"]["status"] for item in items] == ["new", "exact", "skipped"]
    assert items[2]["dedup"]["reason"] == "no_main_text"


# What a reader has to install or start once.
_SET_UP = ("git ", "cd scrapy-shingling", "python3 ", ". ", "pip ")


@pytest.mark.skipif(sys.platform == "win32", reason="the tutorial is for a POSIX shell")
def test_every_command_of_the_tutorial_prints_what_the_page_says(tmp_path: Path) -> None:
    ran = 0
    with serve() as address:
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


# Examples on files, databases and stores that are not here.
_ELSEWHERE = ("graded", "articles", "items.jsonl", "postgresql", "prune", "dedup rules", "idf")

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
        return with_port_of(self.address, url)


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
    return re.sub(r"\s|(?<=127\.0\.0\.1|localhost):\d+", "", text)


def test_the_picture_of_the_readme_shows_what_the_demonstration_prints(demo: Demo) -> None:
    picture = (DOCS / "images" / "demo.svg").read_text(encoding="utf-8")
    assert "@font-face" not in picture, "it must not load anything"
    drawn = "".join(map(html.unescape, re.findall(r"<text[^>]*>(.*?)</text>", picture)))
    assert bare("".join(shortened(demo.printed))) in bare(drawn), "run `make picture`"


def test_the_script_of_the_readme_drops_duplicates(tmp_path: Path) -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    found = re.findall(r"```python\n(.*?)```", readme, re.DOTALL)
    [script] = [one for one in found if "crawl.py" in one]
    pages = {f"/{name}": html_of(article(1), navigation=name) for name in "ab"}
    pages["/"] = links(pages)
    with serving(pages) as server:
        here = script.replace("https://example.com", server.url).replace("example.com", "127.0.0.1")
        (tmp_path / "crawl.py").write_text(here, encoding="utf-8")
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        done = subprocess.run(
            [sys.executable, "crawl.py"], cwd=tmp_path, env=environment, capture_output=True,
            text=True, check=True,
        )  # fmt: skip
    assert len((tmp_path / "articles.jsonl").read_text().splitlines()) == 2, done.stderr
    assert "3 items: 1 dropped (1 exact), " in done.stderr
    assert (tmp_path / "dedup.db").is_file()


def test_the_readme_tells_the_numbers_of_the_demonstration(demo: Demo) -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    counts = dict(re.findall(r"(Kept|Dropped): (\d+) pages", demo.printed))
    assert f"{counts['Kept']} pages kept, {counts['Dropped']} dropped" in readme
    feed = (demo.folder / "demo" / "pages.jsonl").read_text(encoding="utf-8")
    kept = {item["url"]: item for item in map(json.loads, feed.splitlines())}
    examples = [
        json.JSONDecoder().raw_decode(readme, found.start())[0]
        for found in re.finditer(r'{"url"', readme)
    ]
    tagged = [item for item in examples if "dedup" in item]
    assert len(tagged) == 2
    for item in examples:
        url = demo.here(item["url"])
        show = f"scrapy dedup show {url} --json --store sqlite:///demo/dedup.db"
        [found] = json.loads(Shell(demo.folder).run(show))
        assert found["title"].replace("\xa0", " ") == item["title"]
        dropped = {**found, "duplicate": found["original"] is not None}
        told = kept[url]["dedup"] if url in kept else dropped
        for name, value in item.get("dedup", {"…": ""}).items():
            if name == "resemblance":
                assert round(told[name], 4) == value
            elif name != "…":
                assert told[name] == (demo.here(value) if name == "original" else value)


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
