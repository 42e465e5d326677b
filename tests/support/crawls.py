"""Scrapy projects, and crawls of them in processes of their own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
import uuid
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from packaging.version import Version

from tests.support.processes import PATIENCE, Fork, processes_with, run_fork, so_within

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

SCRAPY = Version(version("scrapy"))
# How a crawl ends whose store or settings are refused: Scrapy 2.14 says 0 once there is a spider.
REFUSED = 1 if Version("2.15") <= SCRAPY else 0

NEEDS_NO_REACTOR = pytest.mark.skipif(
    Version("2.19") > SCRAPY,
    reason="Scrapy has no such mode before 2.15, and needs httpx for it before 2.19",
)

_SCRAPY = ("-m", "scrapy")

SPIDER = """
import scrapy

class Spider(scrapy.Spider):
    name = "spider"

    async def start(self):
        for path in self.paths.split(","):
            yield scrapy.Request(self.site + path)

    def parse(self, response):
        yield {"url": response.url, "heading": response.css("h1::text").get()}
"""

LIST_SPIDER = '''
import json
from pathlib import Path

import scrapy

class Spider(scrapy.Spider):
    """Yields one dict for each response, of whatever kind, and for each failure."""

    name = "spider"

    async def start(self):
        for name, url in json.loads(Path(self.list).read_text()):
            yield scrapy.Request(
                url,
                dont_filter=True,
                errback=self.failed,
                cb_kwargs={"name": name},
            )

    def parse(self, response, name):
        item = {"name": name, "url": response.url}
        if name.startswith("surrogate field"):
            item["text"] = "\\ud800 " + bytes(response.body).decode()
        if name == "credentials":
            item["url"] = response.url.replace("//", "//user:secret@")
        yield item

    def failed(self, failure):
        yield {"name": failure.request.cb_kwargs["name"], "failure": failure.type.__name__}
'''


@dataclass
class Crawl:
    """What a crawl left: exit status, log and items."""

    status: int
    log: str
    items: list[dict[str, Any]]

    def stat(self, name: str) -> str | None:
        """Return a value of the dumped stats as it is printed, without quotes."""
        return stats(self.log).get(name)


def stats(log: str) -> dict[str, str]:
    """Return the dumped stats as they are printed."""
    dumped = log.rpartition("Dumping Scrapy stats:")[2]
    found = {}
    for line in dumped.splitlines():
        name, colon, value = line.strip(" {").partition("': ")
        if colon and name.startswith("'"):
            found[name[1:]] = value.rstrip(",}").strip("'")
    return found


def read_feed(file: Path) -> list[dict[str, Any]]:
    """Return the items of a feed of JSON lines; none if it is not there."""
    lines = file.read_bytes().splitlines() if file.exists() else []
    return [json.loads(line) for line in lines]


def run_scrapy(
    folder: Path, *arguments: str, **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run Scrapy in a folder, in a process of its own."""
    return run_fork(folder, *_SCRAPY, *arguments, environment=environment)


class Project:
    """A user's own Scrapy project in a folder, with one spider.

    Args:
        folder: where it is made.
        spider: source of the spider's module.
    """

    def __init__(self, folder: Path, spider: str = SPIDER) -> None:
        self.folder = folder
        self.write("scrapy.cfg", "[settings]\ndefault = shop.settings\n")
        self.write("shop/__init__.py", "")
        self.write(
            "shop/settings.py",
            """
            SPIDER_MODULES = ["shop.spiders"]
            ADDONS = {"shingling.Addon": 500}
            TELNETCONSOLE_ENABLED = False
            REMOTE_CONTROL_ENABLED = False
            DEDUP_WORKERS = 0
            CONCURRENT_ITEMS = 10  # Scrapy makes a task for each of the usual 100 at every response
            """,
        )
        self.write("shop/spiders/__init__.py", "")
        self.write("shop/spiders/spider.py", spider)

    def write(self, name: str, text: str) -> None:
        """Write a file of the project."""
        file = self.folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(textwrap.dedent(text), encoding="utf-8")

    def run(self, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        """Run Scrapy in the project."""
        return run_scrapy(self.folder, *arguments, **environment)

    def crawl(
        self, *arguments: str, spider: str = "spider", feed: str = "items.jsonl", status: int = 0
    ) -> Crawl:
        """Run the spider with a feed, see that it ends well, and return what came of it."""
        done = self.run("crawl", spider, "-O", feed, *arguments)
        assert done.returncode == status, done.stderr
        assert status or "Traceback" not in done.stderr, done.stderr
        items = read_feed(self.folder / feed) if feed.endswith(".jsonl") else []
        return Crawl(done.returncode, done.stderr, items)

    def dedup(self, *arguments: str) -> Any:
        """Run `scrapy dedup ... --json` and return what it printed."""
        done = self.run("dedup", *arguments, "--json")
        assert done.returncode in (0, 1), done.stderr
        return json.loads(done.stdout)


def listed(folder: Path, urls: Mapping[str, str]) -> tuple[str, ...]:
    """Return the arguments that have the spider fetch URLs, and write a feed of the items."""
    file = folder / "urls.json"
    file.write_text(json.dumps(list(urls.items())))
    return ("-a", f"list={file}", "-O", "items.jsonl")


def items(folder: Path) -> dict[str, dict[str, Any]]:
    """Return the items of the feed by name; a name may occur only once."""
    read = read_feed(folder / "items.jsonl")
    named = {item["name"]: item for item in read}
    assert len(named) == len(read), "a page has more than one item"
    return named


class Crawling:
    """A crawl that is under way, whose processes can be found even when it is dead.

    Args:
        folder: in which it runs.
        arguments: are added to the command.
        command: of Python.
        before: is called in the new process.
        logs: folder for the log, if it is another one.
        environment: is added to that of the tests.
        forked: whether Scrapy is forked, where nobody measures what a process of its own takes.
    """

    def __init__(
        self,
        folder: Path,
        *arguments: str,
        command: tuple[str, ...] = (*_SCRAPY, "crawl", "spider"),
        before: Callable[[], None] | None = None,
        logs: Path | None = None,
        environment: Mapping[str, str] | None = None,
        forked: bool = True,
    ) -> None:
        self._mark = f"FAULTS={uuid.uuid4().hex}"
        name, _, value = self._mark.partition("=")
        self._log = (logs or folder) / f"{value}.log"
        self._log.touch()
        environment = {**(environment or {}), name: value}
        self.process: Fork | subprocess.Popen[bytes]
        if forked and command[: len(_SCRAPY)] == _SCRAPY:
            files = self._log, self._log
            self.process = Fork(folder, (*command, *arguments), environment, files, before)
            return
        with self._log.open("wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, *command, *arguments],
                cwd=folder,
                env={**os.environ, **environment},
                process_group=0,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                preexec_fn=before,
            )

    @property
    def log(self) -> str:
        """Output of the crawl, and its errors."""
        return self._log.read_text(encoding="utf-8", errors="replace")

    def processes(self) -> list[int]:
        """Return the ids of the crawl's live processes, whoever their parent is now."""
        started = {*processes_with(self._mark)}
        # The environment of a fork is shown as that of the process that it is forked from.
        alive = {self.process.pid} if self.process.poll() is None else set()
        return sorted(started | alive)

    def wait(self, seconds: float = PATIENCE) -> int:
        """Return the exit status; kill the crawl if it does not end by itself."""
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.end()
            raise AssertionError(f"the crawl did not end:\n{self.log}") from None

    def wait_for(self, sign: Callable[[], bool], seconds: float = PATIENCE) -> None:
        """Wait until something is so; the crawl must not end before."""
        ended = so_within(seconds, lambda: sign() or self.process.poll() is not None)
        if not sign():
            self.end()
            what = "the crawl has ended before" if ended else "it never came to be"
            raise AssertionError(f"{what}:\n{self.log}")

    def all_gone(self) -> bool:
        """Whether every process of the crawl ends."""
        return so_within(PATIENCE, lambda: not self.processes())

    def memory(self) -> int:
        """Return the resident bytes of all processes together, at this moment."""
        total = 0
        for number in self.processes():
            try:
                fields = Path(f"/proc/{number}/statm").read_text().split()
            except OSError:
                continue
            if len(fields) > 1:
                total += int(fields[1]) * os.sysconf("SC_PAGE_SIZE")
        return total

    def end(self) -> None:
        """Kill whatever is left of the crawl."""
        for number in self.processes():
            try:
                os.kill(number, 9)
            except ProcessLookupError:
                continue
        self.process.wait()
