"""What the room of URL rules offers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shingling.plugin.settings import choice, positive

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings

    from shingling.fetching.kept_rules import KeptRules
    from shingling.plugin.settings import DedupSettings, Setting

DEFAULT_SKIP_RISK = 0.01
"""Probability of losing something new up to which a request is skipped, where any are."""

FETCH_ORDER = 120  # behind those that refuse requests: off-site, robots.txt
NOTING_ORDER = 950  # nearest to the spider: it sees all that a callback asks for


def settings() -> dict[str, Setting]:
    """Declare its settings."""
    return {
        "DEDUP_FETCH": ("all", *choice("all", "observe", "skip")),
        "DEDUP_SKIP_RISK": (DEFAULT_SKIP_RISK, *positive(1)),
    }


def update_settings(settings: BaseSettings, dedup: DedupSettings) -> None:
    """Add the middlewares that skip requests, where the crawl is to fetch fewer pages."""
    if dedup.of_rooms["DEDUP_FETCH"] == "all":
        return
    from shingling.fetching.middleware import FetchMiddleware
    from shingling.fetching.noting import NotingMiddleware

    settings.setdefault_in_component_priority_dict(
        "DOWNLOADER_MIDDLEWARES", FetchMiddleware, FETCH_ORDER
    )
    settings.setdefault_in_component_priority_dict(
        "SPIDER_MIDDLEWARES", NotingMiddleware, NOTING_ORDER
    )


def kept_rows() -> KeptRules:
    """Make what the administration handles its rows in a store by."""
    from shingling.fetching.kept_rules import KeptRules

    return KeptRules()
