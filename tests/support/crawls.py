"""Scrapy projects, and crawls of them in processes of their own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
import uuid
import warnings
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import pytest
from packaging.version import Version

from tests.support.processes import PROCESSES, processes_with, so_within

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

SCRAPY = Version(version("scrapy"))
# How a crawl ends whose store or settings are refused: Scrapy 2.14 says 0 once there is a spider.
REFUSED = 1 if Version("2.15") <= SCRAPY else 0

NEEDS_NO_REACTOR = pytest.mark.skipif(
    Version("2.19") > SCRAPY,
    reason="Scrapy has no such mode before 2.15, and needs httpx for it before 2.19",
)

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


_LONGEST = 400  # seconds


def _scrapy(
    folder: Path,
    arguments: tuple[str, ...],
    environment: Mapping[str, str],
    files: tuple[Path, Path],
    before: Callable[[], None] | None,
) -> None:
    """Run Scrapy in this process, as `python -m scrapy` does, in a group of processes of its own.

    Args:
        folder: in which it runs.
        arguments: of Scrapy.
        environment: is added to that of the tests.
        files: of the standard output, and of the errors.
        before: is called first.
    """
    os.setpgid(0, 0)
    for number, file in enumerate(files, 1):
        os.dup2(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), number)
    os.chdir(folder)
    os.environ.update(environment)
    paths = environment.get("PYTHONPATH", "").split(os.pathsep)
    sys.path[:0] = [str(folder), *(path for path in paths if path)]
    sys.argv = ["scrapy", *arguments]
    warnings.simplefilter("error", ResourceWarning)
    if before is not None:
        before()

    from scrapy.cmdline import execute

    execute()


class Fork:
    """Scrapy in a process that is forked from one that has imported it, used as a `Popen` is."""

    def __init__(
        self,
        folder: Path,
        arguments: tuple[str, ...],
        environment: Mapping[str, str],
        files: tuple[Path, Path],
        before: Callable[[], None] | None = None,
    ) -> None:
        # The process that it is forked from may have been started with another environment.
        environment = {**os.environ, **environment}
        self._process = PROCESSES.Process(
            target=_scrapy, args=(folder, arguments, environment, files, before)
        )
        self._process.start()
        assert self._process.pid is not None
        self.pid = self._process.pid

    @property
    def returncode(self) -> int | None:
        """Exit status, once the process has ended."""
        return self._process.exitcode

    def poll(self) -> int | None:
        """Exit status; None while the process lives."""
        return self.returncode

    def send_signal(self, number: int) -> None:
        """Send a signal, if the process lives."""
        if self.returncode is None:
            os.kill(self.pid, number)

    def wait(self, timeout: float | None = None) -> int:
        """Wait for the end of the process, and return its exit status."""
        self._process.join(timeout)
        status = self.returncode
        if status is None:
            raise subprocess.TimeoutExpired("scrapy", timeout or 0)
        return status


def run_scrapy(
    folder: Path, *arguments: str, **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run Scrapy in a folder, in a process of its own."""
    with TemporaryDirectory() as temporary:
        files = Path(temporary, "output"), Path(temporary, "log")
        process = Fork(folder, arguments, environment, files)
        try:
            status = process.wait(_LONGEST)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            raise
        output, log = (file.read_text(encoding="utf-8") for file in files)
        return subprocess.CompletedProcess(arguments, status, output, log)


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

    def crawl(self, *arguments: str, spider: str = "spider", feed: str = "items.jsonl") -> Crawl:
        """Run the spider with a feed, and return what came of it."""
        done = self.run("crawl", spider, "-O", feed, *arguments)
        file = self.folder / feed
        lines = file.read_bytes().splitlines() if file.exists() else []
        items = [json.loads(line) for line in lines] if feed.endswith(".jsonl") else []
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
    lines = (folder / "items.jsonl").read_bytes().splitlines()
    read = [json.loads(line) for line in lines]
    named = {item["name"]: item for item in read}
    assert len(named) == len(read), "a page has more than one item"
    return named


_SCRAPY = ("-m", "scrapy")


class Crawling:
    """A crawl that is under way, whose processes can be found even when it is dead.

    Args:
        folder: in which it runs.
        arguments: are added to the command.
        command: of Python; Scrapy is forked from a process that has imported it.
        before: is called in the new process.
        logs: folder for the log, if it is another one.
        environment: is added to that of the tests.
    """

    def __init__(
        self,
        folder: Path,
        *arguments: str,
        command: tuple[str, ...] = (*_SCRAPY, "crawl", "spider"),
        before: Callable[[], None] | None = None,
        logs: Path | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self._mark = f"FAULTS={uuid.uuid4().hex}"
        name, _, value = self._mark.partition("=")
        self._log = (logs or folder) / f"{value}.log"
        self._log.touch()
        environment = {**(environment or {}), name: value}
        self.process: Fork | subprocess.Popen[bytes]
        if command[: len(_SCRAPY)] == _SCRAPY:
            command = (*command[len(_SCRAPY) :], *arguments)
            self.process = Fork(folder, command, environment, (self._log, self._log), before)
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

    def wait(self, seconds: float = 60) -> int:
        """Return the exit status; kill the crawl if it does not end by itself."""
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.end()
            raise AssertionError(f"the crawl did not end:\n{self.log}") from None

    def wait_for(self, sign: Callable[[], bool], seconds: float = 60) -> None:
        """Wait until something is so; the crawl must not end before."""
        ended = so_within(seconds, lambda: sign() or self.process.poll() is not None)
        if not sign():
            self.end()
            what = "the crawl has ended before" if ended else "it never came to be"
            raise AssertionError(f"{what}:\n{self.log}")

    def all_gone(self, seconds: float = 5) -> bool:
        """Whether every process of the crawl ends within some seconds."""
        return so_within(seconds, lambda: not self.processes())

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
