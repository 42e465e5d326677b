"""What the room of URL rules offers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from shingling.plugin.settings import choice, listed, number

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings

    from shingling.plugin.settings import DedupSettings, Setting

DEFAULT_SKIP_RISK = 0.01
"""Probability of losing something new up to which a request is skipped, if any are."""

FETCH_ORDER = 120  # behind those that refuse requests: off-site, robots.txt
NOTING_ORDER = 950  # nearest to the spider: it sees all that a callback asks for


def settings() -> dict[str, Setting]:
    """Declare its settings."""
    return {
        "DEDUP_FETCH": ("all", *choice("all", "observe", "skip")),
        "DEDUP_FETCH_NEVER": (
            (),
            'a list of changes of URLs, such as drop-parameter page,drop-segment amp or ["a", "b"]',
            _read_changes,
        ),
        "DEDUP_SKIP_RISK": (DEFAULT_SKIP_RISK, *number(1)),
    }


def _read_changes(value: Any) -> tuple[str, ...]:
    """Read texts of changes.

    Raises:
        ValueError: one of them is no change.
    """
    if not value:
        return ()
    from shingling.fetching.learning import read_change

    texts = [text.strip() for text in listed(value)]
    if not all(map(read_change, texts)):
        raise ValueError
    return tuple(texts)


def update_settings(settings: BaseSettings, dedup: DedupSettings) -> None:
    """Add the middlewares that skip requests, if the crawl is to fetch fewer pages."""
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
