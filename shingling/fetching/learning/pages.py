"""What is handed in and out: fetched pages, decisions, rules."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from shingling.sketch import Signature

MAX_LINKS = 200
"""Links of a page that are looked at."""


@dataclass(frozen=True, slots=True)
class FetchedPage:
    """A page that was fetched, and what its callback asked for; only its links if it is an error.

    Args:
        url: final URL of the response.
        requested: URLs of its site that were redirected to it, the first one first.
        signature: of its main text; None if it has none.
        text: the main text; without it, pages are the same only if all their words are.
        links: URLs of the requests that the callback yielded, at most `MAX_LINKS`.
        title: of the page.
        says_more: whether it or its item says what a page that it resembles does not say.
        has_changed: whether it has another text than in an earlier crawl.
        is_new: whether no earlier crawl has met its text.
        is_from_elsewhere: whether another site has had a part in its URL. It may be made up, and
            speaks for no change.
        found_on: URL of the page of its site that has asked for it, if one has.
        shows: URL of the page that its item stands for, its own or its original's; an error page
            shows its status; None if it has no item.
    """

    url: str
    requested: tuple[str, ...] = ()
    signature: Signature | None = None
    text: str | None = None
    links: tuple[str, ...] = ()
    title: str | None = None
    says_more: bool = False
    has_changed: bool = False
    is_new: bool = True
    is_from_elsewhere: bool = False
    found_on: str = ""
    shows: str | None = None


@dataclass(frozen=True, slots=True)
class Skip:
    """A request that would repeat a page.

    Args:
        rules: text forms of the changes that lie between both URLs, or the name of a trap:
            `trap`, and the first URL that was decided.
        page: URL of the page that was fetched.
        risk: probability that something new is lost.
        explore: it is one of those that are fetched anyway, to see whether rules hold.
    """

    rules: tuple[str, ...]
    page: str
    risk: float
    explore: bool = False


class Contradiction(NamedTuple):
    """A change that does not act any more below some path of a site."""

    site: str
    change: str


@dataclass(frozen=True, slots=True)
class UrlRule:
    """A rule, for people.

    Args:
        site: host without `www.`.
        change: text form of what it does to a URL.
        node: path below which it was counted.
        agreed, contradicted: pages, of each path at most 5 for those above it; contradictions
            halve what was counted before them.
        risk: expected share of pages that it would lose there.
        active: it acts there.
        saved, explored: requests that it has skipped, or that were made anyway; of all
            nodes, at the node `/`.
    """

    site: str
    change: str
    node: str
    agreed: float
    contradicted: float
    risk: float
    active: bool
    saved: int = 0
    explored: int = 0


class RuleCounts(NamedTuple):
    """What was counted of a rule, or is to be added to its counts.

    What is added may be negative, because contradictions outweigh what was counted before them; a
    sum below zero is zero.

    Args:
        site: host, without `www.`.
        change: of URLs, in its text form.
        node: path below which it was counted, `/` or such as `/forum/show.php`.
        agreed: pages that were the same with and without the change.
        contradicted: pages that were not.
        saved: requests that were skipped by it; counted at the node `/` alone.
        explored: those that it would have skipped, and that were made anyway.
    """

    site: str
    change: str
    node: str
    agreed: int = 0
    contradicted: int = 0
    saved: int = 0
    explored: int = 0


class AddedCounts(RuleCounts):
    """What a crawl adds to the counts of a rule.

    Attributes:
        known: pages that agreed, which the crawl has read or added before.
    """

    known: int
