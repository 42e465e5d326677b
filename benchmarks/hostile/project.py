"""Crawls of these benchmarks: a project in an empty folder, with the plugin as it comes."""

from __future__ import annotations

import json
import os
import threading
from collections import defaultdict
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil

from benchmarks.processes import ROOT
from tests.support.crawls import Crawling

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Self

_SETTINGS = """
BOT_NAME = "attacked"
SPIDER_MODULES = ["benchmarks.hostile.spider"]
ADDONS = {"shingling.Addon": 500}
EXTENSIONS = {"benchmarks.hostile.spider.Watch": 0}
TELNETCONSOLE_ENABLED = False
REMOTE_CONTROL_ENABLED = False
"""
_LOOK_SECONDS = 0.1  # between two looks at the memory of processes


@dataclass
class Events:
    """What the watch of a crawl has written, by what it is."""

    by_kind: dict[str, list[dict[str, Any]]] = field(default_factory=lambda: defaultdict(list))

    @classmethod
    def read(cls, file: Path) -> Self:
        """Read a file; a killed crawl may have left half a line at its end."""
        events = cls()
        for line in file.read_bytes().splitlines(True) if file.exists() else []:
            if line.endswith(b"\n"):
                event = json.loads(line)
                events.by_kind[event["what"]].append(event)
        return events

    def __getitem__(self, kind: str) -> list[dict[str, Any]]:
        return self.by_kind[kind]


class Project:
    """A Scrapy project in an empty folder.

    Args:
        folder: where it is made.
        proxy: URL of the server.
    """

    def __init__(self, folder: Path, proxy: str) -> None:
        self.folder = folder
        self.events = folder / "events.jsonl"
        self.store = folder / "dedup.db"
        self._proxy = proxy
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "scrapy.cfg").write_text("[settings]\ndefault = attacked\n", "utf-8")
        (folder / "attacked.py").write_text(_SETTINGS, "utf-8")

    def list_urls(self, pages: Iterable[tuple[int, str, str]]) -> None:
        """Write the list that the spider crawls: number, URL and use of each page."""
        with (self.folder / "urls.jsonl").open("w", encoding="utf-8") as file:
            for page in pages:
                file.write(json.dumps(page) + "\n")

    def crawl(self, extractor: str, workers: str, action: str = "drop") -> Crawling:
        """Start a crawl of the list."""
        return Crawling(
            self.folder,
            *("-a", "urls=urls.jsonl", "-s", f"WATCH_FILE={self.events}", "-L", "INFO"),
            *("-s", f"DEDUP_EXTRACTOR={extractor}", "-s", f"DEDUP_ACTION={action}"),
            *([] if workers == "auto" else ["-s", f"DEDUP_WORKERS={workers}"]),
            command=("-m", "scrapy", "crawl", "list"),
            environment={
                "PYTHONPATH": os.pathsep.join([str(ROOT), str(self.folder)]),
                "http_proxy": self._proxy,
                "no_proxy": "",
            },
            forked=False,
        )


@dataclass
class Peaks:
    """MB that processes have taken at most."""

    crawl: float = 0
    worker: float = 0


@contextmanager
def peaks_of(crawling: Crawling) -> Iterator[Peaks]:
    """Watch the memory of a crawl's process and of the largest of its workers."""
    peaks, done = Peaks(), threading.Event()
    crawl = psutil.Process(crawling.process.pid)

    def look() -> None:
        while not done.wait(_LOOK_SECONDS):
            try:
                peaks.crawl = max(peaks.crawl, _peak(crawl.pid))
                children = crawl.children(recursive=True)
            except psutil.NoSuchProcess:
                return
            peaks.worker = max([peaks.worker, *(_peak(child.pid) for child in children)])

    thread = threading.Thread(target=look)
    thread.start()
    try:
        yield peaks
    finally:
        done.set()
        thread.join()


def _peak(number: int) -> float:
    """MB that a process has had in memory at most, as the kernel has counted; 0 if it is gone."""
    try:
        status = Path(f"/proc/{number}/status").read_text()
    except OSError:
        return 0.0
    found = [line.split()[1] for line in status.splitlines() if line.startswith("VmHWM:")]
    return int(found[0]) * 1024 / 1e6 if found else 0.0
