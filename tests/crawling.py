"""Real Scrapy projects and real crawls for tests, each in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
import warnings
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.metadata import version
from mimetypes import guess_type
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock, Thread
from typing import TYPE_CHECKING, Any

import pytest
from packaging.version import Version

from tests.forked import PROCESSES

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

SCRAPY = Version(version("scrapy"))
# How a crawl ends whose store or settings are refused: Scrapy 2.14 says 0 once there is a spider.
REFUSED = 1 if Version("2.15") <= SCRAPY else 0

NEEDS_NO_REACTOR = pytest.mark.skipif(
    Version("2.19") > SCRAPY,
    reason="Scrapy has no such mode before 2.15, and needs httpx for it before 2.19",
)

WORDS = [f"{a}{b}{c}" for a in "bdfgklmnprst" for b in "aeiou" for c in ("n", "r", "sta", "lo")]


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


def article(seed: int, words: int = 300) -> str:
    """Return a text of its own for each seed."""
    state, chosen = seed * 7919 + 1, []
    for _ in range(words):
        state = (state * 1103515245 + 12345) % (1 << 31)
        chosen.append(WORDS[(state >> 8) % len(WORDS)])
    return " ".join(chosen)


def html(text: str, title: str = "A page", navigation: str = "") -> str:
    """Return an article as a page."""
    paragraphs = "".join(f"<p>{line}.</p>" for line in textwrap.wrap(text, 400))
    return (
        f'<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>{title}</title></head>'
        f"<body><nav>{navigation}</nav><article><h1>{title}</h1>{paragraphs}</article></body></html>"
    )


@contextmanager
def serving(pages: Mapping[str, str]) -> Iterator[tuple[str, list[str]]]:
    """Serve pages by path on loopback; yield the address and the list of paths asked for."""
    asked: list[str] = []
    lock = Lock()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            with lock:
                asked.append(self.path)
            page = pages.get(self.path)
            if page is not None and self.headers["If-None-Match"] == '"tag"':
                self.send_response(304)
                self.end_headers()
                return
            self.send_response(404 if page is None else 200)
            kind = guess_type(self.path)[0] or "text/html; charset=utf-8"
            self.send_header("Content-Type", kind)
            self.end_headers()
            self.wfile.write((page or "").encode())

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 (as inherited)
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", asked
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@dataclass
class Crawl:
    """What a crawl left: exit status, log and items."""

    status: int
    log: str
    items: list[dict[str, Any]]

    def stat(self, name: str) -> str | None:
        """Return a value of the dumped stats as it is printed."""
        for line in self.log.splitlines():
            key, found, value = line.strip(" {").partition(f"'{name}': ")
            if found and not key:
                return value.rstrip(",}")
        return None


_LONGEST = 400  # seconds


def _scrapy(
    folder: Path, arguments: tuple[str, ...], environment: dict[str, str], said: Path
) -> None:
    """Run Scrapy in this process, as `python -m scrapy` does."""
    for number in (1, 2):
        os.dup2(os.open(said / str(number), os.O_WRONLY | os.O_CREAT), number)
    os.chdir(folder)
    os.environ.update(environment)
    sys.path.insert(0, str(folder))
    sys.argv = ["scrapy", *arguments]
    warnings.simplefilter("error", ResourceWarning)

    from scrapy.cmdline import execute

    execute()


def run_scrapy(
    folder: Path, *arguments: str, **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run Scrapy in a folder, in a process of its own."""
    with TemporaryDirectory() as temporary:
        said = Path(temporary)
        process = PROCESSES.Process(
            target=_scrapy, args=(folder, arguments, {**os.environ, **environment}, said)
        )
        process.start()
        process.join(_LONGEST)
        if process.exitcode is None:
            process.kill()
            raise TimeoutError(f"scrapy {' '.join(arguments)}")
        output, log = ((said / name).read_text(encoding="utf-8") for name in "12")
        return subprocess.CompletedProcess(arguments, process.exitcode, output, log)


class Project:
    """A user's own Scrapy project in a folder."""

    def __init__(self, folder: Path) -> None:
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
