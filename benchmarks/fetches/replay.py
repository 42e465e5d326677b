"""Crawls of a simulated site in memory, in many orders of arrival: the worst one counts.

Nothing is extracted and nothing goes over HTTP, so that a hundred crawls take minutes. Each order
has its own number of requests under way, its own way to choose the next request, and answers that
arrive one before another by chance; it is repeated by its number.
"""

from __future__ import annotations

import random
import statistics
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from scrapy import Request
from scrapy.utils.request import fingerprint

from benchmarks.fetches.site import Visit
from shingling import Scheme, sign
from shingling.fetching.learning import FetchedPage, UrlLearner, site_name
from shingling.proportions import Proportion

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchmarks.fetches.site import Shown, Site
    from shingling.fetching.learning import Contradiction, RuleCounts, Skip
    from shingling.sketch import Signature

MAX_FETCHES = 15_000
_SCHEME = Scheme()
_MAX_SIGNATURES = 50_000
_signatures: dict[str, Signature] = {}


def signature_of(text: str) -> Signature:
    """Sign a text, once."""
    if text not in _signatures:
        if len(_signatures) > _MAX_SIGNATURES:
            _signatures.clear()
        _signatures[text] = sign(text, _SCHEME)
    return _signatures[text]


@dataclass
class Replay(Visit):
    """One crawl in memory.

    Args:
        order: number of the order of arrival.
        mode: `none`, `skip` or `observe`.
        saved: what a former crawl has saved.
    """

    order: int
    mode: str = "skip"
    saved: Sequence[RuleCounts] = ()
    counts: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self.learner = UrlLearner(salt=str(self.order).encode())
        for name in {row.site for row in self.saved}:
            self.learner.load_rules(name, [row for row in self.saved if row.site == name])
        self._dice = random.Random(self.order)
        self._skipped: dict[str, Skip] = {}
        self._decided: dict[str, Skip] = {}
        self._todo: list[tuple[str, bool]] = []
        self._seen: set[bytes] = set()
        self._found_on: dict[str, str] = {}
        self._forms: dict[str, int] = {}
        self._waiting: dict[int | None, list[str]] = {}
        self._refetches: list[tuple[str, FetchedPage]] = []  # under way

    def run(self) -> Replay:
        """Crawl the site."""
        most = self._dice.choice((1, 4, 16, 16, 64))
        first_in = self._dice.random()  # share of requests that are made in the order of links
        under_way: list[tuple[str, tuple[str, ...], Shown]] = []
        self._follow(self.site.start)
        while len(self.urls) < MAX_FETCHES:
            if not self._todo and not under_way and not self._refetches:
                self._unlearn(self.learner.settle())
                if not self._todo:
                    break
            if self._todo and len(under_way) < most:
                url, forced = self._todo.pop(0 if self._dice.random() < first_in else -1)
                if forced or not (self._waits(url) or self._skips(url)):
                    under_way.append(self._fetch(url))
                continue
            at = self._dice.randrange(len(under_way) + len(self._refetches))
            if at >= len(under_way):
                self._unlearn(self.learner.note_refetch(*self._refetches.pop(at - len(under_way))))
                continue
            url, requested, shown = under_way.pop(at)
            self._note(url, requested, shown)
            form = self._forms.pop((*requested, url)[0], None)
            self._todo[:0] = [(one, False) for one in self._waiting.pop(form, ())]
            self.links.update(shown.links)  # not those of pages that are fetched a second time
            for link in shown.links:
                self._follow(link, url)
        return self

    def _follow(self, url: str, page: str = "") -> None:
        key = fingerprint(Request(url))
        if key not in self._seen:
            self._seen.add(key)
            if site_name(url) == site_name(page):
                self._found_on[url] = page
            self._todo.append((url, False))

    def _waits(self, url: str) -> bool:
        """Whether a request waits for one of the same form that is under way."""
        form = None if self.mode != "skip" else self.learner.form(url)
        if form is None:
            return False
        if form in self._waiting:
            self._waiting[form].append(url)
            return True
        self._waiting[form] = []
        self._forms[url] = form
        return False

    def _skips(self, url: str) -> bool:
        if self.mode == "none" or url == self.site.start:
            return False
        skip = self.learner.decide_request(url, self._found_on.get(url, ""))
        if skip is None:
            return False
        if self.mode == "skip" and not skip.explore:
            self._waiting.pop(self._forms.pop(url, None), None)
        if self.mode == "observe" or skip.explore:
            self._decided[url] = skip
            return False
        self._skipped[url] = skip
        return True

    def _fetch(self, url: str) -> tuple[str, tuple[str, ...], Shown]:
        requested: list[str] = []
        while True:
            shown = self.fetch(url)
            if shown.location is None:
                return url, tuple(requested), shown
            requested.append(url)
            url = shown.location

    def _note(self, url: str, requested: tuple[str, ...], shown: Shown) -> None:
        if self.mode == "none":
            return
        asked = requested[0] if requested else url
        page = replace(
            _page(url, requested, shown),
            found_on=self._found_on.get(asked, ""),
            is_new=not self.saved,
        )
        skip = self._decided.pop(asked, None)
        if skip is not None:
            self.counts["tried"] += 1
            self.counts["would_lose"] += self.learner.check(page, skip)
        if skip is None or skip.explore:
            self._unlearn(self.learner.note_page(page))
        for again in self.learner.refetches():
            self._refetches.append((again, _page(*self._fetch(again))))

    def _unlearn(self, gone: Sequence[Contradiction]) -> None:
        if not gone:
            return
        changes = {one.change for one in gone}
        for url, skip in [*self._skipped.items()]:
            if changes.isdisjoint(skip.rules):
                continue
            other = self.learner.decide_request(url, self._found_on.get(url, ""), counted=False)
            if other is None:
                del self._skipped[url]
                self._todo.append((url, True))
            else:
                self._skipped[url] = other

    @property
    def estimate(self) -> tuple[float, float]:
        """Interval of the share of skipped requests that would have been lost."""
        return Proportion.of(self.counts["would_lose"], self.counts["tried"])[1:]

    def share_lost(self, plain: Replay) -> float:
        """Share of the skipped requests without which a page was not seen."""
        lost = len(plain.contents - self.contents)
        return lost / len(self._skipped) if self._skipped else 0.0

    def rules(self) -> list[RuleCounts]:
        """Take what the crawl would save."""
        return self.learner.take_changes()


def _page(url: str, requested: tuple[str, ...], shown: Shown) -> FetchedPage:
    return FetchedPage(
        url=url,
        requested=requested,
        signature=signature_of(shown.text),
        text=shown.text,
        title=shown.title,
        links=shown.links,
    )


def replayed(site: Site, orders: int) -> dict[str, Any]:
    """Crawl a site twice in many orders: figures of the worst one, and of the median.

    The second crawl of each order begins with what the first one has saved, and has another order.
    """
    plain = Replay(site, 0, "none").run()
    saveable = plain.saveable
    shares: dict[str, list[float]] = {"first": [], "second": []}
    lost: dict[str, list[int]] = {"first": [], "second": []}
    missed = 0
    for order in range(orders):
        first = Replay(site, order).run()
        second = Replay(site, orders + order, saved=first.rules()).run()
        observed = Replay(site, 2 * orders + order, "observe").run()
        for name, crawl in (("first", first), ("second", second)):
            shares[name].append((len(plain.urls) - len(crawl.urls)) / saveable)
            lost[name].append(crawl.lost(plain)[0])
        low, high = observed.estimate
        missed += not low <= first.share_lost(plain) <= high
    return {
        "site": site.name,
        "seed": site.seed,
        "requests": len(plain.urls),
        "saveable": saveable,
        "contents": len(plain.contents),
        **{f"{name}_worst": min(found) for name, found in shares.items()},
        **{f"{name}_median": statistics.median(found) for name, found in shares.items()},
        **{f"{name}_lost": max(found) for name, found in lost.items()},
        "intervals_missed": missed,
    }
