"""Crawls of a simulated site over HTTP: real `scrapy crawl`, each in a process of its own.

What rules could save of a site is the number of fetches of a crawl that skips nothing, minus the
fewest that a crawl needs which knows all right rules from the start: one for each form of the
URLs that it fetched (`Site.form`). Traps without end are bounded by `MAX_FETCHES`, for all alike.
A page is lost when the crawl that skips nothing has seen its content and another has not.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.fetches.offline import MAX_FETCHES
from benchmarks.fetches.served import Served
from benchmarks.hostile.server import serving

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchmarks.fetches.site import Site

ROOT = Path(__file__).parents[2]
_PLUGIN = ("-s", "ADDONS=" + json.dumps({"shingling.Addon": 500}))
_MAYBEDONT = {"maybedont.scrapy_middleware.AvoidDupContentMiddleware": 200}
_FIFO = "scrapy.squeues.FifoMemoryQueue"
VARIANTS: dict[str, Sequence[str]] = {
    "none": (),
    "courlan": (
        "-s",
        "DOWNLOADER_MIDDLEWARES=" + json.dumps({"benchmarks.fetches.spider.CourlanMiddleware": 50}),
    ),
    # The settings of undercrawler: breadth first, the defaults of MaybeDont for all else.
    "maybedont": (
        *("-s", "DOWNLOADER_MIDDLEWARES=" + json.dumps(_MAYBEDONT)),
        *("-s", "AVOID_DUP_CONTENT_ENABLED=1", "-s", "DEPTH_PRIORITY=1"),
        *("-s", f"SCHEDULER_MEMORY_QUEUE={_FIFO}"),
    ),
    "observe": (
        *_PLUGIN,
        *("-s", "DEDUP_FETCH=observe"),
        *(
            "-s",
            "DOWNLOADER_MIDDLEWARES=" + json.dumps({"benchmarks.fetches.spider.WouldSkip": 999}),
        ),
    ),
    "skip": (*_PLUGIN, "-s", "DEDUP_FETCH=skip"),
    "again": (*_PLUGIN, "-s", "DEDUP_FETCH=skip"),
    "changed": (*_PLUGIN, "-s", "DEDUP_FETCH=skip"),
}
STORES = {"again": "skip", "changed": "skip"}
"""Variants that begin with the store which another has left."""


@dataclass(frozen=True)
class Crawled:
    """What one crawl has fetched.

    Args:
        fetches: requests that the server answered.
        contents: unique pages that it sent.
        links: URLs that were on them.
        saveable: see `Served.saveable`.
        sent: bytes.
        seconds: of the whole process, by the clock.
        stats: of Scrapy.
        would_skip: URLs that `observe` would have skipped, with the page that each would repeat.
    """

    fetches: int
    contents: frozenset[str]
    links: frozenset[str]
    saveable: int
    sent: int
    seconds: float
    stats: dict[str, float]
    would_skip: list[tuple[str, str]] = field(default_factory=list)


def crawl(site: Site, variant: str, folder: Path, store: Path, max_seconds: float) -> Crawled:
    """Crawl a site once.

    Args:
        site: that is served.
        variant: of `VARIANTS`.
        folder: for files of this crawl.
        store: SQLite file of the plugin.
        max_seconds: after which the crawl is given up.

    Raises:
        SystemExit: the crawl has failed; the message is the end of its log.
    """
    served = Served(site)
    observed = folder / "would_skip.jsonl"
    observed.unlink(missing_ok=True)
    began = time.monotonic()
    with serving(served.answer) as proxy:
        done = subprocess.run(
            [
                *(sys.executable, "-m", "scrapy", "crawl", "fetches", "-L", "INFO"),
                *("-a", f"start={site.start}"),
                *("-s", f"CLOSESPIDER_PAGECOUNT={MAX_FETCHES}"),
                *("-s", f"DEDUP_STORE_URL=sqlite:///{store}"),
                *("-s", f"FETCHES_WOULD_SKIP={observed}", *VARIANTS[variant]),
            ],
            cwd=folder,
            env={
                **os.environ,
                "http_proxy": proxy,  # not by metadata: a proxy there may be a secret
                "no_proxy": "",
                "SCRAPY_SETTINGS_MODULE": "benchmarks.fetches.settings",
                "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]),
            },
            capture_output=True,
            text=True,
            check=False,
            timeout=max_seconds,
        )
    stats = {
        name: float(value)
        for name, value in re.findall(r"'([\w/]+)': ([\d.]+)(?=[,}]$)", done.stderr, re.MULTILINE)
    }
    failed = [name for name in stats if name.startswith(("fetches/failed", "spider_exceptions"))]
    if done.returncode or not served.urls or failed or "finish_reason" not in done.stderr:
        raise SystemExit(
            f"{site.name}, {variant}: {failed}\n{done.stdout[-500:]}{done.stderr[-3000:]}"
        )
    lines = observed.read_text("utf-8").splitlines() if observed.exists() else []
    return Crawled(
        len(served.urls),
        frozenset(served.contents),
        frozenset(served.links),
        served.saveable(),
        served.sent,
        time.monotonic() - began,
        stats,
        [tuple(json.loads(line)) for line in lines],
    )
