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
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.fetches.served import Served
from benchmarks.hostile.server import serving

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchmarks.fetches.site import Site

ROOT = Path(__file__).parents[2]
MAX_FETCHES = 15_000
_PLUGIN = ("-s", "ADDONS=" + json.dumps({"shingling.Addon": 500}))
VARIANTS: dict[str, Sequence[str]] = {
    "none": (),
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
    """

    fetches: int
    contents: frozenset[str]
    links: frozenset[str]
    saveable: int
    sent: int
    seconds: float
    stats: dict[str, float]


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
    began = time.monotonic()
    with serving(served.answer) as proxy:
        done = subprocess.run(
            [
                *(sys.executable, "-m", "scrapy", "crawl", "fetches", "-L", "INFO"),
                *("-a", f"start={site.start}"),
                *("-s", f"CLOSESPIDER_PAGECOUNT={MAX_FETCHES}"),
                *("-s", f"DEDUP_STORE_URL=sqlite:///{store}"),
                *VARIANTS[variant],
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
    return Crawled(
        len(served.urls),
        frozenset(served.contents),
        frozenset(served.links),
        served.saveable(),
        served.sent,
        time.monotonic() - began,
        stats,
    )
