"""All sites of a crawl: which requests would repeat a page that was fetched."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import replace
from hashlib import blake2b
from typing import TYPE_CHECKING

from shingling.fetching.learning.changes import read_change
from shingling.fetching.learning.memory import Memory
from shingling.fetching.learning.parts import site_name, split
from shingling.fetching.learning.rules import SiteRules
from shingling.fetching.learning.site import SiteUrls

if TYPE_CHECKING:
    from collections.abc import Iterable

    from shingling.fetching.learning.changes import Reduced
    from shingling.fetching.learning.pages import (
        Contradiction,
        FetchedPage,
        RuleCounts,
        Skip,
        UrlRule,
    )

_MAX_SITES = 1_000  # that are remembered; the one that was met longest ago is forgotten
_MAX_PAGES = 200_000  # that are remembered of all sites, before whole sites are forgotten
_EXPLORED_AT_FIRST = 8  # times as many, if the risk is just small enough
_MAX_CHANGES_KEPT = 100_000  # of forgotten sites, until they are taken


class UrlLearner:
    """Learns which URLs of a site would repeat a page, and decides requests.

    It keeps fetched pages of this crawl alone: in each crawl, the first URL of a class is
    fetched, so that nothing grows stale. What former crawls have taught is loaded by `load_rules`.

    Args:
        risk: a request is skipped up to this probability of losing something new.
        explore_share: share of skipped requests that is fetched anyway.
        salt: of the crawl: decides which ones are.
        never: texts of changes that are never made.
        max_sites, max_pages: bounds.
    """

    def __init__(
        self,
        *,
        risk: float = 0.01,
        explore_share: float = 0.025,
        salt: bytes = b"",
        never: Iterable[str] = (),
        max_sites: int = _MAX_SITES,
        max_pages: int = _MAX_PAGES,
    ) -> None:
        self._risk = risk
        self._explore_below = round(explore_share * 2**32)
        self._salt = blake2b(salt, digest_size=32).digest()
        self._never = frozenset(filter(None, map(read_change, never)))
        self._max_sites = max_sites
        self._max_pages = max_pages
        self._memory = Memory()
        self._sites = OrderedDict[str, SiteUrls]()
        self._changes: list[RuleCounts] = []

    def is_known(self, site: str) -> bool:
        """Whether something was loaded or noted of a site, and is still remembered."""
        return site in self._sites

    def load_rules(self, site: str, saved: Iterable[RuleCounts]) -> None:
        """Add what was saved of a site, without rows that make no sense."""
        self._site(site).rules.load_counts(saved)

    def decide_request(self, url: str, found_on: str = "", *, counted: bool = True) -> Skip | None:
        """Say whether a request would repeat a page; None if it is to be fetched.

        Args:
            url: of the request.
            found_on: URL of the page of its site that has asked for it, if one has.
            counted: it is a request that is made or skipped now, not only a question.
        """
        parts, site = split(url), self._sites.get(site_name(url))
        skip = site.find_repeated(parts, url) if parts and site else None
        if site is None or skip is None:
            return self._memory.traps.find_trap(url, found_on, self._risk, counted=counted)
        digest = blake2b(url.encode("utf-8", "replace"), digest_size=4, key=self._salt).digest()
        below = self._explore_below * max(1.0, _EXPLORED_AT_FIRST * skip.risk / self._risk)
        # Where ids are new at each request, the links of such pages would never end.
        is_of_check = bool(self._memory.checks.get(hash(found_on)))
        explore = int.from_bytes(digest, "big") < below and not is_of_check
        skip = replace(skip, explore=explore)
        if counted:
            site.rules.count(skip)
        return skip

    def form(self, url: str) -> int | None:
        """Key that a URL shares with those that the rules make equal to it.

        None if nothing is known of its site.
        """
        reduced = self._reduced(url)
        return reduced and reduced.key

    def acting(self, url: str) -> set[str]:
        """List the changes that make no difference to a URL, by their texts."""
        reduced = self._reduced(url)
        return {step.change.text for step in reduced.steps} if reduced else set()

    def _reduced(self, url: str) -> Reduced | None:
        """Reduce a URL by the rules of its site; None if nothing is known of that."""
        parts, site = split(url), self._sites.get(site_name(url))
        return site.rules.reduce(parts) if parts and site else None

    def note_page(self, page: FetchedPage) -> list[Contradiction]:
        """Learn from a fetched page.

        Args:
            page: what was fetched, with status 200.

        Returns:
            Rules that do not hold any more: what they have skipped is to be decided again.
        """
        contradictions = self._site(site_name(page.url)).learn_from(page)
        while len(self._sites) > 1 and self._max_pages < sum(
            site.pages.counted for site in self._sites.values()
        ):
            self._forget()
        return contradictions

    def check(self, page: FetchedPage, skip: Skip) -> bool:
        """Whether a decision would have lost a page that was fetched anyway.

        Rules learn from it if it was explored, before the page itself is noted.
        """
        if skip.explore and not page.requested:
            self._memory.checks.put(hash(page.url), 1)
        return self._site(site_name(page.url)).check(page, skip)

    def refetches(self) -> list[str]:
        """Take the URLs of pages that are to be fetched again, for `note_refetch`."""
        return [url for site in self._sites.values() for url in site.refetches.take_wanted()]

    def note_refetch(self, url: str, page: FetchedPage | None) -> list[Contradiction]:
        """Learn from a page that was fetched again; None if it could not be."""
        site = self._sites.get(site_name(url))
        return site.note_refetch(url, page) if site else []

    def settle(self) -> list[Contradiction]:
        """Decide what could not be decided before all was fetched."""
        return [contradiction for site in self._sites.values() for contradiction in site.settle()]

    def take_changes(self) -> list[RuleCounts]:
        """Take what has been learned since the last call, to be added to what is saved."""
        changes, self._changes = self._changes, []
        for site in self._sites.values():
            changes += site.rules.take_changes(site.name)
        return changes

    def rules(self) -> list[UrlRule]:
        """All that is known of all sites, for people."""
        return [rule for site in self._sites.values() for rule in site.rules.for_people(site.name)]

    def _site(self, name: str) -> SiteUrls:
        site = self._sites.get(name)
        if site is None:
            site = SiteUrls(name, SiteRules(self._risk, self._never, self._memory))
            self._sites[name] = site
            if len(self._sites) > self._max_sites:
                self._forget()
        else:
            self._sites.move_to_end(name)
        return site

    def _forget(self) -> None:
        """Forget the site that was met longest ago, but not what is still to be saved of it."""
        name, forgotten = self._sites.popitem(last=False)
        self._changes += forgotten.rules.take_changes(name)
        del self._changes[:-_MAX_CHANGES_KEPT]
