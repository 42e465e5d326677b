"""What is learned of the URLs of one site.

`find_repeated` reduces a URL by the changes that act on it, and looks for a fetched page whose URL
is reduced to the same. `learn_from` compares a fetched page with earlier ones whose URLs differ
little from its own: each such pair is evidence for or against the changes between both
(`pair_evidence`). If most of two pages is the same, the earlier one is fetched again (`refetches`):
what differs between two fetches of one URL does not make two pages.
"""

from __future__ import annotations

from operator import itemgetter
from typing import TYPE_CHECKING

from shingling.fetching.learning.changes import (
    DROP_SEGMENT,
    EXCHANGE_SEGMENT,
    ONE_PAGE,
    UrlChange,
    changes_of,
    differences,
    read_change,
)
from shingling.fetching.learning.comparing import PageComparison
from shingling.fetching.learning.evidence import is_of_mirrors
from shingling.fetching.learning.pages import Skip
from shingling.fetching.learning.pair_evidence import PairEvidence
from shingling.fetching.learning.parts import Parts, split
from shingling.fetching.learning.refetches import Refetches
from shingling.fetching.learning.site_pages import MAX_PAGES_OF_SITE, SitePages
from shingling.fetching.learning.snapshots import Likeness, links_of, take_snapshot

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from shingling.fetching.learning.changes import AppliedChange, Reduced
    from shingling.fetching.learning.comparing import ComparedPage
    from shingling.fetching.learning.pages import Contradiction, FetchedPage
    from shingling.fetching.learning.rules import SiteRules
    from shingling.fetching.learning.snapshots import PageSnapshot

_MAX_COMPARED = 12  # earlier pages with which a page is compared
_MAX_COUNTED_SAME = 4  # of these: that are the same, and count
_MAX_SETTLED = 200  # pairs that `settle` decides
_LOST_LINKS = 0.5  # share of links with pages of their own by which a skip has lost a page


class SiteUrls:
    """Fetched pages of a site, and evidence about its URLs.

    Args:
        rules: evidence about changes of its URLs.

    Attributes:
        pages: that were fetched.
        refetches: pages that are to be fetched again, for `note_refetch`.
    """

    def __init__(self, rules: SiteRules) -> None:
        self.rules = rules
        self._traps = rules.memory.traps
        self.pages = SitePages(rules)
        self._comparison = PageComparison(rules, self.pages)
        self._evidence = PairEvidence(rules, self.pages, self._comparison.volatile)
        self.refetches = Refetches()
        self._changed_pages = set[int]()  # with another text than in an earlier crawl
        # Pages that were to repeat an earlier one, and have its words but new links: whether these
        # lead to new pages is known when all is fetched, and `settle` decides it.
        self._pairs_with_new_links: list[ComparedPage] = []

    def find_repeated(self, parts: Parts, url: str) -> Skip | None:
        """Find the page that a URL would repeat; None if there is none, or too much risk."""
        reduced = self.rules.reduce(parts)
        number = self.pages.find(reduced.key)
        if number is None or self.pages.urls[number] == url:
            return None
        steps = self._steps_between(reduced, number)
        risk = sum(step.risk for step in steps)
        if not steps or risk > self.rules.max_risk:
            return None
        if number in self._changed_pages and any(is_of_mirrors(step.change) for step in steps):
            return None  # one of the two may have moved since an earlier crawl
        changes = tuple(step.change.text for step in steps)
        return Skip(changes, self.pages.urls[number], risk)

    def _steps_between(
        self, reduced: Reduced, number: int, also: Collection[UrlChange] = ()
    ) -> list[AppliedChange]:
        """Find the steps that make a URL and that of a page equal; none if they do not.

        Args:
            reduced: the URL, by the same changes.
            number: of the page.
            also: changes that are made in any case.
        """
        page = self.rules.reduce(self.pages.parts(number), also)
        if page.parts != reduced.parts:
            return []  # the page was found by a rule that does not hold any more
        differing = sorted({*reduced.steps} ^ {*page.steps})
        return [*{step.change: step for step in differing}.values()]

    def check(self, page: FetchedPage, skip: Skip) -> bool:
        """Whether a page is another one than that which it was predicted to repeat.

        Rules learn from this if the page was explored; what has stopped to act, `learn_from` tells.
        """
        snapshot = take_snapshot(page)
        if skip.rules[0].startswith("trap "):
            return self._traps.is_new(self._shown_key(page, snapshot))
        pair = snapshot and self._predicted_pair(page, snapshot, skip)
        if not pair:
            return False
        likeness = self._comparison.likeness(pair)
        if likeness is Likeness.OTHER:
            if skip.explore:
                self._evidence.count_wrong_skip(pair)
            return True
        if page.is_from_elsewhere:
            return False  # it may only speak against a rule
        if likeness is Likeness.SAME and skip.explore:
            self._evidence.count_same(pair)
        self._postpone(pair, likeness, in_any_case=skip.explore)
        return False

    def learn_from(self, page: FetchedPage) -> list[Contradiction]:
        """Learn from a fetched page, which others may repeat from now on."""
        snapshot = take_snapshot(page)
        contradictions = self._traps.note_shown(
            self.rules.site, self._shown_key(page, snapshot), page
        )
        if snapshot is not None:
            self._learn(page, snapshot)
        return contradictions + self.rules.take_stopped()

    def _shown_key(self, page: FetchedPage, snapshot: PageSnapshot | None) -> int | None:
        """Key of what a page shows on this site, for traps; None if nothing can be compared."""
        shown: object = page.shows
        if shown is None and snapshot is not None:
            shown = self._comparison.volatile.content(snapshot)
        elif shown is None and page.signature is not None:
            shown = page.signature.text_hash, page.title
        return None if shown is None else hash((self.rules.site, shown))

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
        return self._comparison.pair(number, parts, snapshot, changes)

    def _postpone(self, pair: ComparedPage, likeness: Likeness, in_any_case: bool) -> None:
        """Let a pair wait if nobody can tell yet whether its pages are the same."""
        if likeness is Likeness.DOUBTFUL:
            self.refetches.wait_for(self.pages.urls[pair.number], pair, in_any_case)
        elif likeness is Likeness.NEW_LINKS and len(self._pairs_with_new_links) < _MAX_SETTLED:
            self._pairs_with_new_links.append(pair)

    def _learn(self, page: FetchedPage, snapshot: PageSnapshot) -> None:
        """Learn from a page that can be compared."""
        if self.pages.counted >= MAX_PAGES_OF_SITE:
            return
        # A URL that is redirected shows the page as well.
        for url in (page.url, *page.requested):
            if parts := split(url):
                self._note_url(url, parts, page, snapshot)
        self.pages.note_links([self._comparison.link_key(link) for link in links_of(snapshot)])
        self.pages.renew_some_keys()

    def _note_url(self, url: str, parts: Parts, page: FetchedPage, snapshot: PageSnapshot) -> None:
        """Learn that a URL shows a page."""
        number = self.pages.add_page(url, self._comparison.volatile.content(snapshot), snapshot)
        if page.has_changed:
            self._changed_pages.add(number)
        self.pages.new.append(page.is_new)
        self.refetches.note_page(number)
        if not page.is_from_elsewhere:
            self._compare(number, parts, snapshot)
        self.pages.add_key(number)

    def _compare(self, number: int, parts: Parts, snapshot: PageSnapshot) -> None:
        """Compare a page with earlier ones whose URLs differ little from its own, and count it."""
        content = self.pages.contents[number]
        is_only_content = self.pages.has_one_content(parts.segments, content)
        copies = self.pages.copies(number)
        self._comparison.note_kind(parts, is_new=not copies)
        counted = set[UrlChange]()
        number_same = 0
        other_pairs: list[ComparedPage] = []
        for earlier, changes in self._similar(number, parts, copies)[:_MAX_COMPARED]:
            pair = self._comparison.pair(earlier, parts, snapshot, changes)
            likeness = self._comparison.likeness(pair)
            if likeness is Likeness.SAME and number_same < _MAX_COUNTED_SAME:
                number_same += 1
                counted |= self._evidence.count_same(pair, counted, is_only_content=is_only_content)
            elif likeness is Likeness.OTHER or (
                likeness is Likeness.DOUBTFUL and self._counts_as_other(pair)
            ):
                other_pairs.append(pair)
        for pair in other_pairs:
            self._evidence.count_other(pair, counted)

    def _similar(
        self, number: int, parts: Parts, copies: tuple[int, ...]
    ) -> list[tuple[int, tuple[UrlChange, ...]]]:
        """Find earlier pages, and the changes between their URLs and that of a page: fewest first.

        Args:
            number: of the page.
            parts: of its URL.
            copies: the first and the last earlier page with the same content.
        """
        candidates = (*self._neighbours(number, parts), *((copy, ()) for copy in copies))
        similar = {
            (earlier, changes or differences(self.pages.parts(earlier), parts)): None
            for earlier, changes in candidates
        }
        return sorted(filter(itemgetter(1), similar), key=lambda pair: len(pair[1]))

    def _neighbours(self, number: int, parts: Parts) -> Iterator[tuple[int, tuple[UrlChange, ...]]]:
        """Yield earlier pages whose URLs become equal to that of a page by one more change.

        Of all pages that the same change makes equal, these are the first and the last. The rules
        that act are applied in any case. A URL without its query leads to pages with other
        parameters, of which `differences` finds the changes.

        Args:
            number: of the page, which is the last one from now on.
            parts: of its URL.

        Yields:
            An earlier page, and all changes between both URLs; none if they are not known yet.
        """
        reduced = self.rules.reduce(parts).parts
        changes_by_key: dict[int, list[UrlChange | None]] = {}
        for form in (reduced, reduced._replace(query=())):
            changes_by_key[hash(form)] = [None]
        # Which segments may be exchanged or dropped, no URL tells by itself: other pairs have.
        by_others = [
            change for change in self.rules.trees if change.kind in (EXCHANGE_SEGMENT, DROP_SEGMENT)
        ]
        for change, changed in changes_of(reduced, by_others).items():
            changes_by_key.setdefault(self.rules.reduce(changed).key, []).append(change)
        for key, changes in changes_by_key.items():
            earlier_pages = self.pages.first_and_last(key, number)
            for one_more in changes:
                if one_more is None:
                    yield from ((earlier, ()) for earlier in earlier_pages)
                elif one_more.kind != ONE_PAGE or self.pages.has_one_content(
                    (one_more.what, one_more.other), self.pages.contents[number]
                ):
                    own = self.rules.reduce(parts, (one_more,))
                    for earlier in earlier_pages:
                        steps = self._steps_between(own, earlier, (one_more,))
                        yield earlier, tuple(step.change for step in steps)

    def _counts_as_other(self, pair: ComparedPage) -> bool:
        """Whether a doubtful pair counts as two pages at once.

        It does not while a page is fetched again that may tell what changes with each fetch, nor if
        what the earlier page showed is forgotten.
        """
        url = self.pages.urls[pair.number]
        is_told_later = self.refetches.wait_for(url, pair) or bool(self.refetches.waiting)
        return not is_told_later and self.pages.snapshot(pair.number) is not None

    def note_refetch(self, url: str, page: FetchedPage | None) -> list[Contradiction]:
        """Learn from a page that was fetched again; None if it could not be."""
        pairs = self.refetches.take_pairs(url)
        if not pairs:
            return []
        number = pairs[0].number
        before, after = self.pages.snapshot(number), page and take_snapshot(page)
        if before and after and self._comparison.volatile.learn(before, after):
            self.refetches.note_success()
        if after:
            self.pages.keep_snapshot(number, after)
        for pair in pairs:
            likeness = self._comparison.likeness(pair)
            if likeness is Likeness.SAME:
                self._evidence.count_same(pair)
            elif likeness is not Likeness.NEW_LINKS:
                self._evidence.count_other(pair)
        return self.rules.take_stopped()

    def settle(self) -> list[Contradiction]:
        """Decide the pairs with new links, now that all is fetched."""
        pairs, self._pairs_with_new_links = self._pairs_with_new_links, []
        for pair in pairs:
            if self._comparison.new_links(pair, is_settled=True) >= _LOST_LINKS:
                self._evidence.count_wrong_skip(pair)
        return self.rules.take_stopped()
