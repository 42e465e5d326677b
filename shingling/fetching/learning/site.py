"""What is learned of the URLs of one site.

`decide` reduces a URL by the changes that act on it, and looks for a fetched page whose URL is
reduced to the same. `note` compares a fetched page with those whose URLs one or a few changes make
equal to its own, and counts which changes agreed with that and which did not. If most of two pages
is the same, the earlier one is fetched again (`refetches`): what differs between two fetches of one
URL does not make two pages.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from shingling.fetching.learning.changes import (
    DROP_SEGMENT,
    EXCHANGE_SEGMENT,
    ONE_PAGE,
    Change,
    changes_of,
    differences,
    is_mirror_of_pair,
    read_change,
    value_dropped,
)
from shingling.fetching.learning.comparing import PageComparison
from shingling.fetching.learning.evidence import is_of_content, is_of_mirrors
from shingling.fetching.learning.pages import Contradiction, Skip
from shingling.fetching.learning.parts import Parts, name_of, split
from shingling.fetching.learning.refetches import Refetches
from shingling.fetching.learning.rules import SiteRules, Step
from shingling.fetching.learning.site_pages import (
    MAX_PAGES_OF_SITE,
    MAX_URLS_OF_CONTENT,
    PagesByReducedUrl,
    SitePages,
)
from shingling.fetching.learning.snapshots import Likeness, links_of, take_snapshot
from shingling.fetching.learning.together import ParametersTogether

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from shingling.fetching.learning.comparing import Pair
    from shingling.fetching.learning.pages import FetchedPage
    from shingling.fetching.learning.rules import Reduced
    from shingling.fetching.learning.site_pages import Memory
    from shingling.fetching.learning.snapshots import PageSnapshot

_MAX_COMPARED = 12  # pages that one page is compared with
_MAX_SAME_PAGES = 4  # of these, that teach something because they are the same
_MUCH_RISKIER = 10  # than the others is a change that alone has lost a page
_MANY_NEW_LINKS = 0.5  # of the links of a page, so that it is another one
_MAX_AMBIGUOUS = 256  # sets of changes
_MAX_UNDECIDED = 200  # pages whose links may turn out to lead to others


class SiteUrls:
    """Fetched pages of a site, and evidence about its URLs.

    Args:
        name: host, without `www.`.
        max_risk: a request is skipped up to this probability of losing something.
        memory: that it shares with other sites.
        never: changes that are never made.
    """

    def __init__(
        self, name: str, max_risk: float, memory: Memory, never: frozenset[Change]
    ) -> None:
        self.name = name
        self.rules = SiteRules(max_risk, never, reduced=memory.reduced, counted=memory.counted)
        self._max_risk = max_risk
        self._traps = memory.traps
        self._pages = SitePages(memory)
        self._by_reduced_url = PagesByReducedUrl(self.rules, self._pages)
        self._comparison = PageComparison(self.rules, self._pages, self._by_reduced_url)
        self._refetches = Refetches()
        self._together = ParametersTogether()
        self._ambiguous: set[frozenset[Change]] = set()  # one of them matters, nobody knows which
        self._changed: set[int] = set()  # pages with another text than in an earlier crawl
        self._undecided: list[Pair] = []  # skips whose page has new links

    @property
    def pages(self) -> int:
        """How many fetched pages are remembered; one with a long URL counts as several."""
        return self._pages.counted

    def decide(self, parts: Parts, url: str) -> Skip | None:
        """Page that a URL would repeat, if the risk is small enough."""
        reduced = self.rules.reduce(parts)
        number = self._by_reduced_url.find(reduced.key)
        if number is None or self._pages.urls[number] == url:
            return None
        steps = self._steps_between(reduced, number)
        risk = sum(step.risk for step in steps)
        if not steps or risk > self._max_risk:
            return None
        if number in self._changed and any(is_of_mirrors(step.change) for step in steps):
            return None  # one of the two may have moved since an earlier crawl
        changes = tuple(step.change.text for step in steps)
        return Skip(changes, self._pages.urls[number], risk, explore=False)

    def _steps_between(
        self, reduced: Reduced, number: int, also: Collection[Change] = ()
    ) -> list[Step]:
        """Find the steps between a URL and that of a page; none if they do not become equal."""
        page = self.rules.reduce(self._pages.parts(number), also)
        if page.parts != reduced.parts:
            return []  # found by a rule that does not hold any more
        differing = sorted({*reduced.steps} ^ {*page.steps})
        return [*{step.change: step for step in differing}.values()]

    def note(self, page: FetchedPage, skip: Skip | None) -> list[Contradiction]:
        """Learn from a fetched page, which others may repeat from now on.

        Args:
            page: what was fetched.
            skip: the decision under which it was fetched anyway.
        """
        snapshot = take_snapshot(page)
        contradictions = self._traps.note(self.name, self._shown(page, snapshot), page)
        if snapshot is None:
            return contradictions
        pair = self._predicted(page, snapshot, skip) if skip else None
        if pair:
            contradictions += self._check_prediction(pair, page.is_from_elsewhere)
        if self.pages >= MAX_PAGES_OF_SITE:
            return contradictions
        # A URL that is redirected shows the page as well.
        for url in (page.url, *page.requested):
            if parts := split(url):
                contradictions += self._note_url(url, parts, page, snapshot)
        self._pages.note_links([self._comparison.link_key(link) for link in links_of(snapshot)])
        self._by_reduced_url.renew_some()
        return contradictions

    def would_lose(self, page: FetchedPage, skip: Skip) -> bool:
        """Whether a fetched page is another one than that which it was predicted to repeat."""
        snapshot = take_snapshot(page)
        if skip.rules[0].startswith("trap "):
            return self._traps.is_new(self._shown(page, snapshot))
        pair = snapshot and self._predicted(page, snapshot, skip)
        if not pair:
            return False
        likeness = self._comparison.likeness(pair)
        self._postpone(pair, likeness)
        return likeness is Likeness.OTHER

    def _shown(self, page: FetchedPage, snapshot: PageSnapshot | None) -> int | None:
        """Key of what a page shows on this site; None if it has nothing to be compared."""
        shown: object = page.shows
        if shown is None and snapshot is not None:
            shown = self._comparison.volatile.content(snapshot)
        elif shown is None and page.signature is not None:
            shown = page.signature.text_hash, page.title
        return None if shown is None else hash((self.name, shown))

    def _note_url(
        self, url: str, parts: Parts, page: FetchedPage, snapshot: PageSnapshot
    ) -> list[Contradiction]:
        """Learn that a URL shows a page."""
        number = self._pages.add(url, self._comparison.volatile.content(snapshot), snapshot)
        if page.has_changed:
            self._changed.add(number)
        self._refetches.note_page(number)
        self._together.note(parts)
        found = [] if page.is_from_elsewhere else self._learn(number, parts, snapshot)
        self._by_reduced_url.add(number)
        return found

    def _predicted(self, page: FetchedPage, snapshot: PageSnapshot, skip: Skip) -> Pair | None:
        """Pair a page with the one that it was predicted to repeat; None if that has changed."""
        parts = split(page.requested[0] if page.requested else page.url)
        changes = tuple(filter(None, map(read_change, skip.rules)))
        if parts is None or not changes:
            return None
        number = self._by_reduced_url.find(self.rules.reduce(parts).key)
        if number is None or self._pages.urls[number] != skip.page:
            return None
        return self._comparison.pair(number, parts, snapshot, changes)

    def _check_prediction(self, pair: Pair, is_from_elsewhere: bool) -> list[Contradiction]:
        """Learn from a page that was predicted to repeat the earlier one."""
        likeness = self._comparison.likeness(pair)
        if likeness is Likeness.OTHER:
            return self._record_wrong_skip(pair)
        if is_from_elsewhere:  # it may only speak against a rule
            return []
        if likeness is Likeness.SAME:
            self._record_same(pair)
        self._postpone(pair, likeness, in_any_case=True)
        return []

    def _postpone(self, pair: Pair, likeness: Likeness, in_any_case: bool = False) -> None:
        """Let a pair wait if nobody can tell yet whether its pages are the same."""
        if likeness is Likeness.DOUBTFUL:
            self._refetches.wait_for(self._pages.urls[pair.number], pair, in_any_case)
        elif likeness is Likeness.NEW_LINKS and len(self._undecided) < _MAX_UNDECIDED:
            self._undecided.append(pair)

    def _learn(self, number: int, parts: Parts, snapshot: PageSnapshot) -> list[Contradiction]:
        """Compare a page with those whose URLs differ little from its own."""
        content = self._pages.contents[number]
        one_content = self._pages.has_one_content(parts.segments, content)
        copies = self._pages.with_content(content)
        self._comparison.note_kind(parts, is_new=not copies)
        if len(copies) < MAX_URLS_OF_CONTENT:
            self._pages.add_to_content(number, copies)
        elif not one_content and not parts.query:
            return []
        found = self._neighbours(number, parts)
        found += ((copy, self._differences(copy, parts)) for copy in copies)
        clearest = sorted(dict.fromkeys(found), key=lambda one: len(one[1]))
        agreed: set[Change] = set()
        others: list[Pair] = []
        same_pages = 0
        for other, changes in [one for one in clearest if one[1]][:_MAX_COMPARED]:
            pair = self._comparison.pair(other, parts, snapshot, changes)
            likeness = self._comparison.likeness(pair)
            if likeness is Likeness.SAME and same_pages < _MAX_SAME_PAGES:
                same_pages += 1
                agreed |= self._record_same(pair, agreed, one_content)
            elif likeness is Likeness.OTHER or (
                likeness is Likeness.DOUBTFUL and self._is_never_certain(pair)
            ):
                others.append(pair)
        return [one for pair in others for one in self._record_loss(pair, agreed)]

    def _is_never_certain(self, pair: Pair) -> bool:
        """Whether no page is fetched again from which a doubtful pair could become certain."""
        url = self._pages.urls[pair.number]
        if self._refetches.wait_for(url, pair) or self._refetches:
            return False
        return self._pages.snapshot(pair.number) is not None

    def _differences(self, number: int, parts: Parts) -> tuple[Change, ...]:
        """Find the changes between a page's URL and another; none if nobody knows them."""
        return differences(self._pages.parts(number), parts) or ()

    def _neighbours(self, number: int, parts: Parts) -> list[tuple[int, tuple[Change, ...]]]:
        """Pages whose URLs one more change would make equal, and all changes between both."""
        reduced = self.rules.reduce(parts).parts
        found: list[tuple[int, tuple[Change, ...]]] = []
        keys: dict[int, Change | None] = {
            hash(form): None for form in (reduced, reduced._replace(query=()))
        }
        known = [one for one in self.rules.trees if one.kind in (EXCHANGE_SEGMENT, DROP_SEGMENT)]
        known += self._together.changes(map(name_of, reduced.query))
        for change, changed in changes_of(reduced, known).items():
            keys[self.rules.reduce(changed).key] = change
        for key, one in keys.items():
            others = self._pages.first_and_last(key, number)
            if one is None:
                found += ((other, self._differences(other, parts)) for other in others)
            elif one.kind != ONE_PAGE or self._pages.has_one_content(
                (one.what, one.other), self._pages.contents[number]
            ):
                own = self.rules.reduce(parts, (one,))
                for other in others:
                    steps = self._steps_between(own, other, (one,))
                    changes = tuple(step.change for step in steps)
                    found.append((other, changes or self._differences(other, parts)))
        return found

    def _record_same(
        self, pair: Pair, but: Iterable[Change] = (), one_content: bool = False
    ) -> set[Change]:
        """Count a page that is the same as an earlier one, for each change but some.

        Args:
            pair: both pages.
            but: changes for which the page was counted before.
            one_content: the path has shown no other page.

        Returns:
            The changes for which it was counted.
        """
        if self._untrusted(pair) in self._ambiguous:
            return set()
        earlier = self._pages.parts(pair.number)
        content = self._comparison.volatile.content(pair.snapshot)
        agreed: set[Change] = set()
        has_id = any(map(is_of_content, pair.changes))  # /thread?id=5 and /post?id=51
        for change in (*pair.changes, *self._together.around(pair.changes)):
            if change in but or (has_id and is_of_mirrors(change)):
                continue
            if is_mirror_of_pair(change, earlier, pair.parts):
                continue
            agreed.add(change)
            count_urls = one_content or change.kind == ONE_PAGE
            acts = self.rules.agree(change, pair.nodes, content, count_urls)
            narrower = self._narrower(earlier, pair.parts, change)
            if narrower and narrower not in but:
                agreed.add(narrower)
                acts |= self.rules.agree(narrower, pair.nodes, content)
            if acts:
                self._by_reduced_url.renew_all()
        return agreed

    def _narrower(self, a: Parts, b: Parts, change: Change) -> Change | None:
        """Find a value that may be dropped, of a parameter that may not."""
        tree = self.rules.trees.get(change)
        is_in_doubt = is_of_content(change) or (tree and tree.root.contradicted)
        return value_dropped(a, b, change) if is_in_doubt else None

    def _record_loss(self, pair: Pair, but: Iterable[Change] = ()) -> list[Contradiction]:
        """Count a page that is another one than an earlier one, for each change but some.

        If several of the changes are new or of mirrors, nobody knows which one matters. Then pages
        that are the same say nothing either, or those would count that speak for it alone.
        """
        risks = self._risks(pair)
        untrusted = [one for one in risks if is_of_mirrors(one) or risks[one] > self._max_risk]
        if len(untrusted) > 1:
            together = self._untrusted(pair)
            if len(together) > 1 and len(self._ambiguous) < _MAX_AMBIGUOUS:
                self._ambiguous.add(together)
            return []
        riskiest = untrusted[0] if untrusted else max(risks, key=risks.__getitem__)
        shares = _shares(risks, riskiest)
        if len(shares) == 1:
            narrower = value_dropped(self._pages.parts(pair.number), pair.parts, riskiest)
            if narrower and narrower in self.rules.trees:
                shares[narrower] = 1.0
        return self._contradict(pair, {one: shares[one] for one in shares if one not in but})

    def _record_wrong_skip(self, pair: Pair) -> list[Contradiction]:
        """Count a page that was or would have been skipped for another one."""
        risks = self._risks(pair)
        riskiest = max(risks, key=lambda change: (is_of_mirrors(change), risks[change]))
        return self._contradict(pair, _shares(risks, riskiest))

    def _risks(self, pair: Pair) -> dict[Change, float]:
        """Risk of each change, or of all that come together with it, if that is smaller."""
        return {
            change: min(
                self.rules.risk(one, pair.nodes)
                for one in (change, *self._together.around([change]))
            )
            for change in pair.changes
        }

    def _untrusted(self, pair: Pair) -> frozenset[Change]:
        """Find the changes of a pair that are not trusted yet; one of all that come together."""
        return frozenset(
            next(self._together.around([change]), change)
            for change, risk in self._risks(pair).items()
            if risk > self._max_risk
        )

    def _contradict(self, pair: Pair, shares: dict[Change, float]) -> list[Contradiction]:
        """Count a page for each change, by the probability that this one has lost it."""
        content = self._comparison.volatile.content(pair.snapshot)
        found: list[Contradiction] = []
        for change, share in shares.items():
            if change.kind == ONE_PAGE and change not in self.rules.trees:
                continue
            if self.rules.contradict(change, pair.nodes, content, share):
                self._by_reduced_url.renew_all()
                found.append(Contradiction(self.name, change.text))
        return found

    def refetches(self) -> list[str]:
        """Take the URLs of pages that are to be fetched again."""
        return self._refetches.take_wanted()

    def note_refetch(self, url: str, page: FetchedPage | None) -> list[Contradiction]:
        """Learn from a page that was fetched again; None if it could not be."""
        pairs = self._refetches.take_pairs(url)
        if not pairs:
            return []
        number = pairs[0].number
        before, after = self._pages.snapshot(number), page and take_snapshot(page)
        if before and after and self._comparison.volatile.learn(before, after):
            self._refetches.note_success()
        if after:
            self._pages.keep_snapshot(number, after)
        found: list[Contradiction] = []
        for pair in pairs:
            likeness = self._comparison.likeness(pair)
            if likeness is Likeness.SAME:
                self._record_same(pair)
            elif likeness is not Likeness.NEW_LINKS:
                found += self._record_loss(pair)
        return found

    def settle(self) -> list[Contradiction]:
        """Decide the pairs with new links, now that all is fetched."""
        undecided, self._undecided = self._undecided, []
        found: list[Contradiction] = []
        for pair in undecided:
            if self._comparison.new_links(pair, is_settled=True) >= _MANY_NEW_LINKS:
                found += self._record_wrong_skip(pair)
        return found


def _shares(risks: dict[Change, float], riskiest: Change) -> dict[Change, float]:
    """Probability that a page was lost by a change, for each that is nearly as risky as one."""
    if is_of_mirrors(riskiest):
        return {riskiest: 1.0}
    least = risks[riskiest] / _MUCH_RISKIER
    suspected = {change: risk for change, risk in risks.items() if risk >= least}
    total = sum(suspected.values()) or 1.0
    return {change: risk / total for change, risk in suspected.items()}
