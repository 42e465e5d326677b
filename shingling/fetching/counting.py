"""What is counted of requests: in the stats, in the log, and as an estimate of what is lost."""

from __future__ import annotations

import logging
from collections import Counter
from typing import TYPE_CHECKING

from shingling.errors import printable
from shingling.proportions import Proportion

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

    from shingling.fetching.learning import UrlRule

_MAX_SITES_OF_RUN = 50  # whose requests are kept with it: those with the most
_MAX_SITES_COUNTED = 10_000

logger = logging.getLogger(__name__)


class FetchCounts:
    """Counts requests and pages of one crawl.

    Args:
        crawler: whose stats and log.
    """

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._counts = Counter[str]()
        self._sites = Counter[str]()  # requests by site
        self._repeats = Counter[str]()

    def count_up(self, name: str, number: int = 1) -> None:
        """Count, in the stats as well."""
        self._counts[name] += number
        self._crawler.stats.inc_value(f"dedup/fetch/{name}", number)

    def add_request(self, site: str, *, repeats: bool) -> None:
        """Count a request that could be skipped, and whether it would repeat a page."""
        self.count_up("requests")
        if site in self._sites or len(self._sites) < _MAX_SITES_COUNTED:
            self._sites[site] += 1
            self._repeats[site] += repeats

    def log_trap(self, url: str, page: str) -> None:
        """Name a trap, when a request is skipped or checked for the first time because of it."""
        logger.warning(
            "Dedup: %s: their links have long led to nothing new, and few of them are followed from"
            " now on; DEPTH_LIMIT ends such a crawl sooner",
            printable(f"{url[:500]} is in a trap, as {page[:500]} is"),
            extra={"spider": self._crawler.spider},
        )

    def log_row(self, url: str) -> None:
        """Name the last of many pages in a row that are like others of their kind."""
        logger.warning(
            "Dedup: many pages in a row, up to %s, say little that others of their kind do not say;"
            " if they never end, as the months of a calendar, DEPTH_LIMIT ends the crawl",
            printable(url[:500]),
            extra={"spider": self._crawler.spider},
        )

    def of_run(self) -> dict[str, int]:
        """Take the counts that the store keeps with the run."""
        names = (
            *("requests", "skipped", "would_skip", "explored", "checked", "would_lose"),
            "learned_from",
        )
        found = {f"fetch_{name}": self._counts[name] for name in names if self._counts[name]}
        for site, number in self._sites.most_common(_MAX_SITES_OF_RUN):
            found[f"fetch_requests:{site}"] = number
            found[f"fetch_repeats:{site}"] = self._repeats[site]
        return found

    def end(self, rules: list[UrlRule], *, skips: bool) -> None:
        """Log what became of the requests.

        Args:
            rules: that are known.
            skips: whether requests were skipped; else it was only observed which ones would be.
        """
        active = sum(rule.active for rule in rules)
        self._crawler.stats.set_value("dedup/fetch/rules", active)
        counts = self._counts
        number = counts["skipped"] if skips else counts["would_skip"]
        done = "were skipped" if skips else "would have been skipped"
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
    share = Proportion.of(hits, tried)
    return (
        f"of {tried:,} such pages that were looked at, {hits:,} would have been lost"
        f" ({share.low:.2%} to {share.high:.2%})"
    )
