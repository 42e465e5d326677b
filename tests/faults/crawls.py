"""A server of any bytes, and crawls that can be killed, limited and looked at while they run."""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
import subprocess
import sys
import time
import uuid
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any

from tests.crawling import Project, html

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

SPIDER = '''
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


@dataclass(frozen=True)
class Answer:
    """What the server sends for a path."""

    body: bytes
    kind: str | None = "text/html; charset=utf-8"
    headers: Mapping[str, str] = field(default_factory=dict)


def page(text: str, title: str = "A page") -> Answer:
    """Return an article as an answer."""
    return Answer(html(text, title).encode())


class Server:
    """Answers by path on loopback; `asked` are the paths in the order of the requests."""

    def __init__(self) -> None:
        self.answers: dict[str, Answer] = {}
        self.asked: list[str] = []
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                server.asked.append(self.path)
                answer = server.answers.get(self.path)
                self.send_response(404 if answer is None else 200)
                if answer is not None:
                    if answer.kind is not None:
                        self.send_header("Content-Type", answer.kind)
                    self.send_header("Content-Length", str(len(answer.body)))
                    for name, value in answer.headers.items():
                        self.send_header(name, value)
                self.end_headers()
                # Where the crawler has had enough, or is dead.
                with contextlib.suppress(ConnectionError):
                    self.wfile.write(b"" if answer is None else answer.body)

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002 (as inherited)
                pass

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._http.server_port}"
        self._thread = Thread(target=self._http.serve_forever)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._http.shutdown()
        self._thread.join()
        self._http.server_close()


@contextmanager
def serving(answers: Mapping[str, Answer]) -> Iterator[Server]:
    """Serve answers by path."""
    server = Server()
    server.answers.update(answers)
    server.start()
    try:
        yield server
    finally:
        server.stop()


class Crawling:
    """A crawl that is under way, whose processes can be found even when it is dead."""

    def __init__(
        self,
        folder: Path,
        *arguments: str,
        command: tuple[str, ...] = ("-m", "scrapy", "crawl", "spider"),
        before: Callable[[], None] | None = None,
        logs: Path | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self._mark = f"FAULTS={uuid.uuid4().hex}"
        name, _, value = self._mark.partition("=")
        self._log = (logs or folder) / f"{value}.log"
        with self._log.open("wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, *command, *arguments],
                cwd=folder,
                env={**os.environ, **(environment or {}), name: value},
                process_group=0,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                preexec_fn=before,
            )

    @property
    def log(self) -> str:
        """Return what the crawl has written on its standard output and error."""
        return self._log.read_text(encoding="utf-8", errors="replace")

    def processes(self) -> list[int]:
        """Return the ids of the crawl's live processes, whoever their parent is now."""
        return processes_with(self._mark)

    def wait(self, seconds: float = 60) -> int:
        """Return the exit status; kill the crawl if it does not end by itself."""
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.end()
            raise AssertionError(f"the crawl did not end:\n{self.log}") from None

    def wait_for(self, sign: Callable[[], bool], seconds: float = 60) -> None:
        """Wait until something is so."""
        if not so_within(seconds, sign):
            self.end()
            raise AssertionError(f"it never came to be:\n{self.log}")

    def all_gone(self, seconds: float = 5) -> bool:
        """Return whether every process of the crawl ends within some seconds."""
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


def processes_with(mark: str) -> list[int]:
    """Return the ids of the live processes that were started with this in their environment."""
    found = []
    for folder in Path("/proc").iterdir():
        try:
            if folder.name.isdecimal() and mark.encode() in (
                (folder / "environ").read_bytes().split(b"\0")
            ):
                found.append(int(folder.name))
        except OSError:  # it has ended, or is not ours
            continue
    return found


def so_within(seconds: float, sign: Callable[[], bool]) -> bool:
    """Return whether something comes to be so within some seconds."""
    end = time.monotonic() + seconds
    while not sign():
        if time.monotonic() > end:
            return False
        time.sleep(0.05)
    return True


def project(folder: Path) -> Project:
    """Return a project with the spider above."""
    made = Project(folder)
    made.write("shop/spiders/__init__.py", "")
    made.write("shop/spiders/spider.py", SPIDER)
    return made


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


def stats(log: str) -> dict[str, str]:
    """Return the dumped stats as they are printed."""
    dumped = log.rpartition("Dumping Scrapy stats:")[2]
    found = {}
    for line in dumped.splitlines():
        name, colon, value = line.strip(" {").partition("': ")
        if colon and name.startswith("'"):
            found[name[1:]] = value.rstrip(",}").strip("'")
    return found


def query(store: Path, statement: str) -> list[tuple[Any, ...]]:
    """Return what a statement finds in a store."""
    with closing(sqlite3.connect(store)) as db:
        return db.execute(statement).fetchall()


def is_whole(store: Path) -> bool:
    """Return whether SQLite finds nothing wrong with a store."""
    return query(store, "PRAGMA integrity_check") == [("ok",)] and not query(
        store, "PRAGMA foreign_key_check"
    )
