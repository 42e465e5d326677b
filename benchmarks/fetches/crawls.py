"""Crawls of a simulated site over HTTP: real `scrapy crawl`, each in a process of its own.

What rules could save of a site is the number of fetches of a crawl that skips nothing, minus the
fewest that a crawl needs which knows all right rules from the start: one for each form of the
URLs that it fetched (`Site.form`). Traps without end are bounded by `MAX_FETCHES`, for all alike.
A page is lost when the crawl that skips nothing has seen its content and another has not.

The server is the proxy of the crawl, so it answers for every host. It counts what is fetched, so
that no figure depends on what the crawl says of itself.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from benchmarks.fetches.replay import MAX_FETCHES
from benchmarks.fetches.site import Visit
from benchmarks.hostile.server import Reply, serving
from benchmarks.processes import run_scrapy, stats_of

if TYPE_CHECKING:
    from pathlib import Path

    from benchmarks.fetches.site import Site

_PLUGIN = ("-s", "ADDONS=" + json.dumps({"shingling.Addon": 500}), "-s", "DEDUP_FETCH=skip")
VARIANTS = {"none": (), "skip": _PLUGIN, "again": _PLUGIN, "changed": _PLUGIN}
STORES = {"again": "skip", "changed": "skip"}
"""Variants that begin with the store which another has left."""


@dataclass
class Crawled(Visit):
    """A crawl over HTTP; `stats` are Scrapy's."""

    stats: dict[str, float] = field(default_factory=dict)

    def answer(self, url: str) -> Reply:
        """Answer a request."""
        if url.endswith("/robots.txt"):
            return Reply(b"", status=404)
        shown = self.fetch(url)
        self.links.update(shown.links)
        if shown.location is not None:
            return Reply(b"", (("Location", shown.location),), 302)
        return Reply(shown.html().encode())


def crawl(site: Site, variant: str, folder: Path, store: Path) -> Crawled:
    """Crawl a site once.

    Args:
        site: that is served.
        variant: of `VARIANTS`.
        folder: in which the crawl runs.
        store: SQLite file of the plugin.

    Raises:
        SystemExit: the crawl has failed; the message is the end of its log.
    """
    crawled = Crawled(site)
    with serving(crawled.answer) as proxy:
        log = run_scrapy(
            *("fetches", "-a", f"start={site.start}"),
            *("-s", f"CLOSESPIDER_PAGECOUNT={MAX_FETCHES}"),
            *("-s", f"DEDUP_STORE_URL=sqlite:///{store}", *VARIANTS[variant]),
            folder=folder,
            http_proxy=proxy,  # not by metadata: a proxy there may be a secret
            no_proxy="",
            SCRAPY_SETTINGS_MODULE="benchmarks.fetches.settings",
        )
    crawled.stats = stats_of(log)
    failed = [
        name for name in crawled.stats if name.startswith(("fetches/failed", "spider_exceptions"))
    ]
    if failed or not crawled.urls or "finish_reason" not in log:
        raise SystemExit(f"{site.name}, {variant}: {failed}\n{log[-3000:]}")
    return crawled
