"""What is learned of the URLs of one site.

`find_repeated` reduces a URL by the changes that act on it, and looks for a fetched page whose URL
is reduced to the same. `learn_from` learns from a fetched page in three steps. It looks for the
earlier pages beside it (`looking`), it judges whether each of them is the same page (`judging`),
and it counts that for or against the changes between both URLs (`pair_evidence`). If most of two
pages is the same, the earlier one is fetched again (`refetches`), because what differs between two
fetches of one URL does not make two pages.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from shingling.fetching.learning.changes import UrlChange, read_change
from shingling.fetching.learning.evidence import is_of_mirrors
from shingling.fetching.learning.judging import Likeness, judge
from shingling.fetching.learning.looking import (
    MAX_NEW_LINKS,
    ComparedPage,
    SeenPage,
    new_links,
    pages_beside,
)
from shingling.fetching.learning.pages import Skip
from shingling.fetching.learning.pair_evidence import PairEvidence
from shingling.fetching.learning.parts import split
from shingling.fetching.learning.refetches import Refetches
from shingling.fetching.learning.site_pages import MAX_PAGES_OF_SITE, SitePages
from shingling.fetching.learning.snapshots import VolatileSentences, links_of, take_snapshot

if TYPE_CHECKING:
    from shingling.fetching.learning.looking import PagesBeside
    from shingling.fetching.learning.pages import Contradiction, FetchedPage
    from shingling.fetching.learning.parts import Parts
    from shingling.fetching.learning.rules import SiteRules
    from shingling.fetching.learning.snapshots import PageSnapshot

_MAX_COUNTED_SAME = 4  # earlier pages that are the same as a page, and count
_MAX_SETTLED = 200  # pairs that `settle` decides
_LOST_LINKS = 0.5  # share of links with pages of their own by which a skip has lost a page


class SiteUrls:
    """Fetched pages of a site, and evidence about its URLs.

    Args:
        name: of the site.
        rules: evidence about changes of its URLs.

    Attributes:
        pages: that were fetched.
        refetches: pages that are to be fetched again, for `note_refetch`.
    """

    def __init__(self, name: str, rules: SiteRules) -> None:
        self.name = name
        self.rules = rules
        self.pages = SitePages(rules)
        self._volatile = VolatileSentences()
        self._evidence = PairEvidence(self.pages)
        self.refetches = Refetches()
        self._changed_pages = set[int]()  # with another text than in an earlier crawl
        # Pages that were to repeat an earlier one, and have its words but new links: whether these
        # lead to new pages is known when all is fetched, and `settle` decides it.
        self._pairs_with_new_links: list[ComparedPage] = []

    def find_repeated(self, parts: Parts, url: str) -> Skip | None:
        """Find the page that a URL would repeat; None if there is none, or too much risk."""
        number = self.pages.find(self.rules.key(url))
        if number is None or self.pages.urls[number] == url:
            return None
        # There are none if the page was found by a rule that does not hold any more.
        steps = self.rules.steps_between(parts, self.pages.parts(number))
        risk = sum(step.risk for step in steps)
        if not steps or risk > self.rules.max_risk:
            return None
        if number in self._changed_pages and any(is_of_mirrors(step.change) for step in steps):
            return None  # one of the two may have moved since an earlier crawl
        changes = tuple(step.change.text for step in steps)
        return Skip(changes, self.pages.urls[number], risk)

    def learn_from(self, page: FetchedPage) -> list[Contradiction]:
        """Learn from a fetched page, which others may repeat from now on."""
        snapshot = take_snapshot(page)
        content = snapshot and self._volatile.content(snapshot)
        contradictions = self.rules.memory.traps.note_shown(self.name, page, content)
        if snapshot and content is not None and self.pages.counted < MAX_PAGES_OF_SITE:
            links = links_of(snapshot)
            # A URL that is redirected shows the page as well.
            for url in (page.url, *page.requested):
                if parts := split(url):
                    self._learn_url(url, page, SeenPage(parts, snapshot, content))
            self.pages.note_links(map(self.rules.key, links))
            self.pages.renew_some_keys()
        return contradictions + self.rules.take_stopped(self.name)

    def _learn_url(self, url: str, page: FetchedPage, seen: SeenPage) -> None:
        """Learn that a URL shows a page."""
        number = self.pages.add_page(url, seen.content, seen.snapshot, page.is_new)
        if page.has_changed:
            self._changed_pages.add(number)
        self.refetches.note_page(number)
        if not page.is_from_elsewhere:
            is_only_content = self.pages.has_one_content(seen.parts.segments, seen.content)
            copies = self.pages.copies(number)
            self.pages.note_kind(seen.parts, is_new=not copies)
            beside = pages_beside(self.pages, seen, number, copies)
            self._compare(seen, beside, is_only_content)
        self.pages.add_key(number)

    def _compare(self, page: SeenPage, beside: PagesBeside, is_only_content: bool) -> None:
        """Judge a page and each earlier one beside it, and count what that says of the changes.

        What one pair teaches already holds for the next one.
        """
        counted = set[UrlChange]()
        number_same = 0
        other_pairs: list[ComparedPage] = []
        for earlier, changes in beside:
            nodes = self.rules.reduce(page.parts, changes).parts.nodes
            pair = ComparedPage(earlier, page, changes, nodes)
            likeness = self._likeness(pair)
            if likeness is Likeness.SAME and number_same < _MAX_COUNTED_SAME:
                number_same += 1
                counted |= self._evidence.count_same(pair, counted, is_only_content=is_only_content)
            elif likeness is Likeness.OTHER or (
                likeness is Likeness.DOUBTFUL and self._counts_as_other(pair)
            ):
                other_pairs.append(pair)
        for pair in other_pairs:
            self._evidence.count_other(pair, counted)

    def _likeness(self, pair: ComparedPage) -> Likeness:
        """Judge a pair by what is seen of it now, and by where its pages lead to."""
        earlier = self.pages.snapshot(pair.number) or self.pages.contents[pair.number]
        likeness = judge(pair.page, earlier, self._volatile)
        if likeness is Likeness.SAME and new_links(self.pages, pair) > MAX_NEW_LINKS:
            return Likeness.NEW_LINKS
        return likeness

    def _counts_as_other(self, pair: ComparedPage) -> bool:
        """Whether a doubtful pair counts as two pages at once.

        It does not while a page is fetched again that may tell what changes with each fetch, nor if
        what the earlier page showed is forgotten.
        """
        url = self.pages.urls[pair.number]
        if self.refetches.wait_for(url, pair) or self.refetches.waiting:
            return False
        return self.pages.snapshot(pair.number) is not None

    def check(self, page: FetchedPage, skip: Skip) -> bool:
        """Whether a page is another one than that which it was predicted to repeat.

        Rules learn from this if the page was explored; what has stopped to act, `learn_from` tells.
        """
        snapshot = take_snapshot(page)
        if skip.rules[0].startswith("trap "):
            return self.rules.memory.traps.is_new(
                self.name, page, snapshot and self._volatile.content(snapshot)
            )
        pair = snapshot and self._predicted_pair(page, snapshot, skip)
        if not pair:
            return False
        likeness = self._likeness(pair)
        if likeness is Likeness.OTHER:
            if skip.explore:
                self._evidence.count_wrong_skip(pair)
            return True
        if page.is_from_elsewhere:
            return False  # it may only speak against a rule
        if likeness is Likeness.SAME and skip.explore:
            self._evidence.count_same(pair)
        elif likeness is Likeness.DOUBTFUL:
            self.refetches.wait_for(self.pages.urls[pair.number], pair, skip.explore)
        elif likeness is Likeness.NEW_LINKS and len(self._pairs_with_new_links) < _MAX_SETTLED:
            self._pairs_with_new_links.append(pair)
        return False

    def _predicted_pair(
        self, page: FetchedPage, snapshot: PageSnapshot, skip: Skip
    ) -> ComparedPage | None:
        """Pair a page with the one that it was predicted to repeat.

        None if its URL leads to another one by now.
        """
        parts = split(page.requested[0] if page.requested else page.url)
        changes = tuple(filter(None, map(read_change, skip.rules)))
        if parts is None or not changes:
            return None
        number = self.pages.find(self.rules.reduce(parts).key)
        if number is None or self.pages.urls[number] != skip.page:
            return None
        seen = SeenPage(parts, snapshot, self._volatile.content(snapshot))
        return ComparedPage(number, seen, changes, self.rules.reduce(parts, changes).parts.nodes)

    def note_refetch(self, url: str, page: FetchedPage | None) -> list[Contradiction]:
        """Learn from a page that was fetched again; None if it could not be."""
        pairs = self.refetches.waiting.pop(url, [])
        if not pairs:
            return []
        number = pairs[0].number
        before = self.pages.snapshot(number)
        after = page and take_snapshot(page)
        if before and after and self._volatile.learn(before, after):
            self.refetches.note_success()
        if after:
            self.pages.keep_snapshot(number, after)
        for pair in map(self._seen_now, pairs):
            likeness = self._likeness(pair)
            if likeness is Likeness.SAME:
                self._evidence.count_same(pair)
            elif likeness is not Likeness.NEW_LINKS:
                self._evidence.count_other(pair)
        return self.rules.take_stopped(self.name)

    def settle(self) -> list[Contradiction]:
        """Decide the pairs with new links, now that all is fetched."""
        pairs, self._pairs_with_new_links = self._pairs_with_new_links, []
        for pair in map(self._seen_now, pairs):
            if new_links(self.pages, pair, is_settled=True) >= _LOST_LINKS:
                self._evidence.count_wrong_skip(pair)
        return self.rules.take_stopped(self.name)

    def _seen_now(self, pair: ComparedPage) -> ComparedPage:
        """See a pair again that has waited: what changes with each fetch may be known since."""
        content = self._volatile.content(pair.page.snapshot)
        return pair._replace(page=pair.page._replace(content=content))
