"""What the rules on URLs save, what that may lose, and what to write into the settings."""

from __future__ import annotations

from collections import Counter
from itertools import groupby
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

from sqlalchemy import text

from shingling.fetching.learning import UrlLearner
from shingling.fetching.learning.parts import path_to, site_name
from shingling.fetching.stored_rules import read_rules
from shingling.proportions import Proportion
from shingling.store.store import Store

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from shingling.fetching.learning import UrlRule
    from shingling.store.session import Session

_RUNS_LOOKED_AT = 100
_URLS_LOOKED_AT = 10_000
_LAST_URLS = text("SELECT url FROM pages ORDER BY id DESC LIMIT :limit")
_FEW = 0.01  # share of the requests below which little is saved


def known_learner(
    session: Session, of_rooms: Mapping[str, Any], site: str | None = None
) -> UrlLearner:
    """Make a learner that knows what one of a crawl would know that began now.

    Args:
        session: the store.
        of_rooms: settings of the rooms.
        site: host without `www.`, of which it knows; None: of all.
    """
    saved = read_rules(session, site)
    learner = UrlLearner(
        risk=of_rooms["DEDUP_SKIP_RISK"],
        never=of_rooms["DEDUP_FETCH_NEVER"],
        max_sites=len(saved) + 1,
    )
    for name, rows in groupby(saved, attrgetter("site")):
        learner.load_rules(name, rows)
    return learner


def repeated_urls(session: Session, of_rooms: Mapping[str, Any]) -> list[dict[str, Any]]:
    """List the stored URLs that the rules make equal to that of an earlier page, the last first.

    By the rules as they are known now, of the pages that were stored last.

    Returns:
        The `url` of each, the one that it `repeats`, and the `changes` that make both equal.
    """
    learner = known_learner(session, of_rooms)
    with session.reading() as connection:
        urls = connection.scalars(_LAST_URLS, {"limit": _URLS_LOOKED_AT}).all()
    found, first_of_form = [], dict[int | None, str]()
    for url in reversed(urls):
        repeats = first_of_form.setdefault(learner.form(url), url)
        if repeats == url:
            continue
        if changes := learner.acting(url) | learner.acting(repeats):
            found.append({"url": url, "repeats": repeats, "changes": sorted(changes)})
    return found[::-1]


def acting_rules(session: Session, of_rooms: Mapping[str, Any], url: str) -> list[UrlRule]:
    """List the rules that act on a URL, as they are known now."""
    learner, path = known_learner(session, of_rooms, site_name(url)), urlsplit(url).path or "/"
    changes = learner.acting(url)
    return [
        rule
        for rule in outermost(learner.rules())
        if rule.active and rule.change in changes and path.startswith(rule.node)
    ]


def outermost(rules: Iterable[UrlRule]) -> list[UrlRule]:
    """Leave out rules that do not act, and those below a path at which the same one acts."""
    ordered = sorted(rules, key=lambda rule: (rule.site, rule.change, rule.node))
    acting = {(rule.site, rule.change, rule.node) for rule in ordered if rule.active}

    def is_covered(rule: UrlRule) -> bool:
        return any((rule.site, rule.change, node) in acting for node in path_to(rule.node)[:-1])

    return [rule for rule in ordered if rule.saved or (rule.active and not is_covered(rule))]


class SiteSavings(NamedTuple):
    """What is known of the URLs of a site.

    Args:
        site: host, without `www.`.
        requests: that could have been skipped.
        repeats: those of them that a rule has found to repeat a page: skipped, only observed, or
            made as a check.
        rules: that act, or have found some; a request that several have found counts for each.
    """

    site: str
    requests: int
    repeats: int
    rules: list[UrlRule]


class Savings(NamedTuple):
    """What is saved, by the last runs.

    Args:
        requests: that could have been skipped, by runs that have counted them.
        skipped: that were.
        would_skip: that would have been, with `observe`.
        learned_from: pages that the rules were learned from.
        lost: share of them that would have brought another page, of those that were looked at.
        looked_at: how many were.
        sites: those with rules, the one with most repeats first.
        risk: that the settings allow.
    """

    requests: int
    skipped: int
    would_skip: int
    learned_from: int
    lost: Proportion
    looked_at: int
    sites: list[SiteSavings]
    risk: float

    @property
    def settings(self) -> list[str]:
        """Lines to write: `skip` if something is saved and no more is lost than is allowed."""
        if not self.sites:
            return ['DEDUP_FETCH = "observe"']
        is_safe = self.looked_at > 0 and self.lost.high <= self.risk
        fetch = "skip" if is_safe else "observe"
        return [f'DEDUP_FETCH = "{fetch}"', f"DEDUP_SKIP_RISK = {self.risk:g}"]

    @property
    def why(self) -> str:
        """What that means, in words."""
        repeats = self.skipped + self.would_skip
        if not self.requests and not repeats:
            if not self.learned_from and not self.sites:
                return "No crawl has looked at requests yet: DEDUP_FETCH is all."
            return (
                "Crawls have learned from pages, but have made no request that could have been"
                " skipped: start requests, and those with data for an item, are always made."
            )
        if not self.sites:
            return (
                "Little is saved because no change of a URL was seen to repeat pages: their"
                " duplicates are under other paths, or came from other sites."
            )
        if self.requests and repeats < _FEW * self.requests:
            return (
                "Little is saved because few requests differ from others only by such a change:"
                " duplicates that have URLs of their own are found after their download."
            )
        if not self.looked_at:
            return "None was made to see what would be lost: let a crawl observe first."
        best = max(
            (rule for site in self.sites for rule in site.rules), key=lambda rule: rule.saved
        )
        why = f"Most are found by {best.change}, on {best.site}."
        if self.lost.high > self.risk:
            return (
                f"{why} More than {self.risk:.2%} may be lost: observe until the interval is below"
                " that."
            )
        return f"{why} Less than {self.risk:.2%} is lost: they can be skipped."


def counts_of_runs(session: Session) -> Counter[str]:
    """Add up what the last runs have counted, of requests above all."""
    counts = Counter[str]()
    for run in Store(session).runs(_RUNS_LOOKED_AT):
        counts.update(run.counts)
    return counts


def read_savings(session: Session, of_rooms: Mapping[str, Any]) -> Savings:
    """Add up what the last runs have skipped, or would have, and list the rules of all sites."""
    counts = counts_of_runs(session)
    rules = outermost(known_learner(session, of_rooms).rules())
    sites = [
        SiteSavings(
            site,
            counts[f"fetch_requests:{site}"],
            counts[f"fetch_repeats:{site}"],
            [rule for rule in rules if rule.site == site],
        )
        for site in {rule.site: None for rule in rules}
    ]
    sites.sort(key=lambda site: -site.repeats)
    return Savings(
        counts["fetch_requests"],
        counts["fetch_skipped"],
        counts["fetch_would_skip"],
        counts["fetch_learned_from"],
        Proportion.of(counts["fetch_would_lose"], counts["fetch_checked"]),
        counts["fetch_checked"],
        sites,
        of_rooms["DEDUP_SKIP_RISK"],
    )
