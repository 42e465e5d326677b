"""What is counted of requests: in the stats, in the log, and as an estimate of what is lost."""

from __future__ import annotations

import logging
import math
from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

    from shingling.fetching.learning import UrlRule

logger = logging.getLogger(__name__)

_Z = 1.959964  # of an interval of 95%


def interval(hits: int, number: int) -> tuple[float, float]:
    """Interval of a share, at 95%, by Wilson's score.

    Args:
        hits: how many of them.
        number: of how many; with 0, everything is possible.
    """
    if not number:
        return 0.0, 1.0
    share, square = hits / number, _Z * _Z / number
    middle = (share + square / 2) / (1 + square)
    half = _Z / (1 + square) * math.sqrt(share * (1 - share) / number + square / (4 * number))
    low, high = max(0.0, middle - half), min(1.0, middle + half)
    return low if hits else 0.0, high if hits < number else 1.0


class FetchCounts:
    """Counts requests and pages of one crawl.

    Args:
        crawler: whose stats and log.
        skips: whether requests are skipped; else it is only observed which ones would be.
    """

    def __init__(self, crawler: Crawler, *, skips: bool) -> None:
        self._crawler = crawler
        self._skips = skips
        self._counts: Counter[str] = Counter()

    def add(self, name: str, number: int = 1) -> None:
        """Count, in the stats as well."""
        self._counts[name] += number
        self._crawler.stats.inc_value(f"dedup/fetch/{name}", number)

    def of_run(self) -> dict[str, int]:
        """Take the counts that the store keeps with the run."""
        names = ("skipped", "would_skip", "explored", "checked", "would_lose")
        return {f"fetch_{name}": self._counts[name] for name in names if self._counts[name]}

    def end(self, rules: list[UrlRule]) -> None:
        """Log what became of the requests."""
        active = sum(rule.active for rule in rules)
        self._crawler.stats.set_value("dedup/fetch/rules", active)
        counts = self._counts
        number = counts["skipped"] if self._skips else counts["would_skip"]
        done = "were skipped" if self._skips else "would have been skipped"
        logger.info(
            "Dedup: %d requests %s by %d rules, %d were made anyway as a check; %s%s",
            number,
            done,
            active,
            counts["explored"],
            lost(counts["would_lose"], counts["checked"]),
            f"; {counts['refetched']} were made after all" if counts["refetched"] else "",
            extra={"spider": self._crawler.spider},
        )


def lost(hits: int, tried: int) -> str:
    """Say what share of the requests that are skipped would have brought another page."""
    if not tried:
        return "no page was looked at to see how many would have been lost"
    low, high = interval(hits, tried)
    return (
        f"of {tried:,} such pages that were looked at, {hits:,} would have been lost"
        f" ({low:.2%} to {high:.2%})"
    )
