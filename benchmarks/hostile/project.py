"""Crawls of these benchmarks: a project in an empty folder, with the plugin as it comes."""

from __future__ import annotations

import json
import os
import time
from collections import defaultdict
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias
from urllib.parse import urlsplit

import psutil

from benchmarks.processes import ROOT
from tests.support.crawls import Crawling

if TYPE_CHECKING:
    from collections.abc import Iterable

_SETTINGS = """
BOT_NAME = "attacked"
SPIDER_MODULES = ["benchmarks.hostile.spider"]
ADDONS = {"shingling.Addon": 500}
TELNETCONSOLE_ENABLED = False
REMOTE_CONTROL_ENABLED = False
"""
_LOOK_SECONDS = 0.1  # between two looks at the memory of processes


Events: TypeAlias = "defaultdict[str, list[dict[str, Any]]]"
"""What the spider of a crawl has noted, by what it is."""


def number_of(url: str) -> int:
    """Return the number of a page, which its path ends with."""
    return int(urlsplit(url).path.rpartition("/")[2])


class Project:
    """A Scrapy project in an empty folder.

    Args:
        folder: where it is made.
        proxy: URL of the server.
    """

    def __init__(self, folder: Path, proxy: str) -> None:
        self.folder = folder
        self._events = folder / "events.jsonl"
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
            *("-a", "urls=urls.jsonl", "-a", f"events={self._events}", "-L", "INFO"),
            *("-s", f"DEDUP_EXTRACTOR={extractor}", "-s", f"DEDUP_ACTION={action}"),
            *("-s", "DEDUP_IGNORE_FIELDS=number"),
            *([] if workers == "auto" else ["-s", f"DEDUP_WORKERS={workers}"]),
            command=("-m", "scrapy", "crawl", "list"),
            environment={
                "PYTHONPATH": os.pathsep.join([str(ROOT), str(self.folder)]),
                "http_proxy": self._proxy,
                "no_proxy": "",
            },
            forked=False,
        )

    def events(self) -> Events:
        """Read what the spider has noted; a killed crawl may have left half a line at its end."""
        events: Events = defaultdict(list)
        for line in self._events.read_bytes().splitlines(True) if self._events.exists() else []:
            if line.endswith(b"\n"):
                event = json.loads(line)
                events[event["what"]].append(event)
        return events


def watched(crawling: Crawling, seconds: float) -> tuple[float, float]:
    """Wait for the end of a crawl, or end it; MB that its process and a worker took at most."""
    crawl = worker = 0.0
    process, end = psutil.Process(crawling.process.pid), time.monotonic() + seconds
    while crawling.process.poll() is None and time.monotonic() < end:
        with suppress(psutil.NoSuchProcess):
            crawl = max(crawl, _peak(process.pid))
            children = process.children(recursive=True)
            worker = max([worker, *(_peak(child.pid) for child in children)])
        time.sleep(_LOOK_SECONDS)
    crawling.end()
    return crawl, worker


def _peak(number: int) -> float:
    """MB that a process has had in memory at most, as the kernel has counted; 0 if it is gone."""
    try:
        status = Path(f"/proc/{number}/status").read_text()
    except OSError:
        return 0.0
    found = [line.split()[1] for line in status.splitlines() if line.startswith("VmHWM:")]
    return int(found[0]) * 1024 / 1e6 if found else 0.0
