"""What is learned of the URLs of one site.

`decide` reduces a URL by the changes that hold where it is, and looks whether a page was fetched
whose URL is reduced to the same. `note` compares a fetched page with those of which one or a few
changes make its URL equal, and counts what agreed and what contradicted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from shingling.fetching.learning.changes import (
    DROP_EXTENSION,
    DROP_LAST,
    DROP_PAIR,
    DROP_PARAMETER,
    DROP_PATH_PARAMETER,
    FOLD,
    HTTPS,
    LOWER,
    SLASH,
    SORT,
    WWW,
    Change,
    apply,
    extension,
    is_index,
    is_nameable,
    path_parameters,
)
from shingling.fetching.learning.differences import differences, value_dropped
from shingling.fetching.learning.evidence import chain_of
from shingling.fetching.learning.fetched import FetchedPages, SeenLinks
from shingling.fetching.learning.identity import NEAR, is_same, links_of, look_of, resemblance
from shingling.fetching.learning.known import (
    is_of_content,
    is_of_mirrors,
    is_of_paths,
    is_trusted,
)
from shingling.fetching.learning.pages import Contradiction, Skip
from shingling.fetching.learning.parts import Parts, name_of, split
from shingling.fetching.learning.reduction import Reduced, Step, reduce
from shingling.fetching.learning.site_rules import SiteRules

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from shingling.fetching.learning.identity import Look
    from shingling.fetching.learning.known import Belief
    from shingling.fetching.learning.pages import FetchedPage

_MAX_COMPARED = 12  # pages that one page is compared with
_MAX_SAME_PAGES = 4  # of them, those that are the same, whose links are compared as well
_MAX_REDUCED_AT_ONCE = 100  # pages whose keys are made anew with one note
_MIN_NEAR_PAIRS = 8
_NEAR_TO_EXACT = 4  # pairs that are nearly the same to those that are the same
_ALWAYS_TRIED = (HTTPS, WWW, LOWER, FOLD, SLASH, SORT)


class _Noted(NamedTuple):
    """A page that is being noted."""

    number: int
    parts: Parts
    look: Look


class SiteUrls:
    """Fetched pages of a site, and evidence about its URLs.

    Args:
        name: host, without `www.`.
        max_risk: a request is skipped up to this probability of losing something.
        max_pages: fetched pages that are remembered.
        belief: what other sites have shown of a change.
    """

    def __init__(
        self, name: str, max_risk: float, max_pages: int, belief: Callable[[Change], Belief]
    ) -> None:
        self.name = name
        self.rules = SiteRules(max_risk, belief)
        self.pages = FetchedPages(max_pages)
        self._max_risk = max_risk
        self._links = SeenLinks()
        self._next_to_reduce = 0
        self._left_to_reduce = 0
        self._exact_pairs = 0
        self._near_pairs = 0

    def decide(self, parts: Parts, url: str) -> Skip | None:
        """Page that a URL would repeat, if the risk is small enough."""
        reduced = self._reduce(parts)
        number = self.pages.by_url(reduced.key)
        if number is None or self.pages.urls[number] == url:
            return None
        steps = self._between(reduced, number)
        risk = sum(step.risk for step in steps)
        if not steps or risk > self._max_risk:
            return None
        if self.pages.has_changed(number) and any(is_of_mirrors(step.change) for step in steps):
            return None  # one of the two may have moved since an earlier crawl
        return Skip(
            tuple(step.change.text for step in steps),
            self.pages.urls[number],
            risk,
            False,
            tuple(step.node for step in steps),
        )

    def _between(self, reduced: Reduced, number: int) -> list[Step]:
        """Find the steps between a URL and the one of a page; none where they stay apart."""
        page = split(self.pages.urls[number])
        other = page and self._reduce(page)
        if other is None or other.parts != reduced.parts:
            return []  # found by a rule that does not hold any more
        differing = {*reduced.steps} ^ {*other.steps}
        return sorted({step.change: step for step in differing}.values())

    def _reduce(self, parts: Parts, also: Collection[Change] = ()) -> Reduced:
        return reduce(parts, self.rules, self._max_risk, also)

    def form(self, parts: Parts) -> int:
        """Key of a URL after reduction."""
        return self._reduce(parts).key

    def acting(self, parts: Parts) -> list[Change]:
        """List the changes by which a URL is reduced."""
        return [step.change for step in self._reduce(parts).steps]

    def note(self, page: FetchedPage, skip: Skip | None, counts: bool) -> list[Contradiction]:
        """Learn from a fetched page.

        Args:
            page: what was fetched.
            skip: the decision under which it was fetched all the same.
            counts: it becomes evidence, and a page that others may repeat.
        """
        parts = split(page.url)
        look = look_of(page)
        if parts is None or look is None:
            return []
        contradictions = []
        if skip:
            contradictions = self._judge(skip, parts, look, counts)
        if not counts:
            return contradictions
        number = self.pages.add(page.url, look, has_changed=page.has_changed)
        if number is None:
            return contradictions
        noted = _Noted(number, parts, look)
        if not page.is_from_elsewhere:
            contradictions += self._compare(noted)
            self._believe(page, noted)
        self.pages.set_url(self._reduce(parts).key, number)
        for url in page.requested:
            if before := split(url):
                self.pages.set_url(self._reduce(before).key, number)
        for link in links_of(look):
            if found := split(link):
                self._links.add(self._reduce(found).key)
        self._renew_keys()
        return contradictions

    def _judge(self, skip: Skip, parts: Parts, look: Look, counts: bool) -> list[Contradiction]:
        """Compare a page with the one that it was said to repeat."""
        number = self.pages.by_url(self._reduce(parts).key)
        if number is None or self.pages.urls[number] != skip.page:
            return []
        page = split(skip.page)
        changes = page and differences(parts, page)
        if page is None or not changes:
            return []
        same = self._is_same(number, look, changes)
        if same is None:
            return []
        chain = self._chain(parts, changes)
        if same:
            if counts:
                for change in changes:
                    self._agree(change, chain, look.content)
            return []
        blamed = max(changes, key=lambda change: self.rules.risk(change, chain))
        if not counts:
            return [Contradiction(self.name, blamed.text, chain[-1])]
        return self._contradict(blamed, chain, look.content)

    def _compare(self, noted: _Noted) -> list[Contradiction]:
        """Compare a page with those whose URLs differ little from its own."""
        by_urls = self.pages.has_one_content(noted.parts.segments, noted.look.content)
        if self.pages.is_everywhere(noted.look.content) and not by_urls:
            return []
        numbers = [*self.pages.same_content(noted.look.content), *self._neighbours(noted)]
        self.pages.add_content(noted.look.content, noted.number)
        agreed: set[Change] = set()
        same_pages = 0
        against: list[tuple[Change, tuple[str, ...]]] = []
        for number in list(dict.fromkeys(numbers))[:_MAX_COMPARED]:
            other = split(self.pages.urls[number])
            changes = other and differences(other, noted.parts)
            if other is None or not changes:
                continue
            chain = self._chain(noted.parts, changes)
            same = self._is_same(number, noted.look, changes)
            if same and same_pages < _MAX_SAME_PAGES:
                same_pages += 1
                for change in changes:
                    if change in agreed:
                        continue
                    agreed.add(change)
                    self._agree(change, chain, noted.look.content, by_urls)
                    narrower = self._narrower(other, noted.parts, change)
                    if narrower:
                        agreed.add(narrower)
                        self._agree(narrower, chain, noted.look.content)
            elif same is False:
                doubtful = [
                    change for change in changes if self.rules.risk(change, chain) > self._max_risk
                ]
                if len(doubtful) <= 1:
                    blamed = (doubtful or [*changes])[0]
                    against.append((blamed, chain))
                    narrower = value_dropped(other, noted.parts, blamed)
                    if narrower and narrower in self.rules.trees:
                        against.append((narrower, chain))
        contradictions = []
        for change, chain in against:
            if change not in agreed:
                agreed.add(change)
                contradictions += self._contradict(change, chain, noted.look.content)
        return contradictions

    def _narrower(self, a: Parts, b: Parts, change: Change) -> Change | None:
        """Find a value that may be dropped, of a parameter that may not."""
        tree = self.rules.trees.get(change)
        is_in_doubt = is_of_content(change) or (tree and tree.is_contradicted)
        return value_dropped(a, b, change) if is_in_doubt else None

    def _neighbours(self, noted: _Noted) -> list[int]:
        """Pages whose URLs one more change would make equal."""
        number = noted.number
        reduced = self._reduce(noted.parts).parts
        found = [self.pages.pair(hash(reduced), number)]
        for change in self._applicable(reduced):
            changed = self._reduce(reduced, (change,)).parts
            found.append(self.pages.pair(hash(changed), number))
        found.append(self.pages.pair(hash(reduced._replace(query=())), number))
        return [one for one in found if one is not None]

    def _applicable(self, parts: Parts) -> list[Change]:
        """List the changes that may be tried on a URL."""
        found = [Change(DROP_PARAMETER, name) for name in dict.fromkeys(map(name_of, parts.query))]
        found += [Change(DROP_PATH_PARAMETER, name) for name in path_parameters(parts.segments)]
        if parts.segments and is_index(parts.segments[-1]):
            found.append(Change(DROP_LAST, parts.segments[-1]))
        found += [Change(DROP_PAIR, segment) for segment in parts.segments[:2]]
        if parts.segments and (ending := extension(parts.segments[-1])):
            found.append(Change(DROP_EXTENSION, ending))
        for segment in parts.segments:
            found += self.rules.by_segment.get(segment, ())
        found = [change for change in found if is_nameable(change.what)]
        tried = dict.fromkeys((*found, *_ALWAYS_TRIED))
        return [change for change in tried if apply(change, parts) is not None]

    def _chain(self, parts: Parts, changes: Sequence[Change]) -> tuple[str, ...]:
        """Nodes of a URL to which changes were applied."""
        return chain_of(self._reduce(parts, changes).parts.segments)

    def _is_same(self, number: int, look: Look, changes: Sequence[Change]) -> bool | None:
        before = self.pages.look(number)
        if before is None:
            return True if self.pages.content(number) == look.content else None
        near = self._may_be_near(before, look, changes)

        def key(link: str) -> object:
            parts = split(link)
            return link if parts is None else self._reduce(parts, changes).parts

        def is_known(link: str) -> bool:
            parts = split(link)
            return parts is not None and self._reduce(parts).key in self._links

        return is_same(before, look, near=near, key=key, is_known=is_known)

    def _may_be_near(self, before: Look, look: Look, changes: Sequence[Change]) -> bool:
        """Whether a few words may differ between two pages that are the same.

        So it is for changes that can be trusted; for others only where those have shown that the
        pages of the site are hardly ever the same twice.
        """
        if all(map(is_trusted, changes)):
            if before.content == look.content:
                self._exact_pairs += 1
            elif resemblance(before, look) >= NEAR:
                self._near_pairs += 1
            return True
        if any(is_of_paths(change) or is_of_content(change) for change in changes):
            return False
        return self._near_pairs > _MIN_NEAR_PAIRS + _NEAR_TO_EXACT * self._exact_pairs

    def _believe(self, page: FetchedPage, noted: _Noted) -> None:
        """Learn from redirects, and from the canonical link."""
        for url in page.requested:
            before = split(url)
            for change in (before and differences(before, noted.parts)) or ():
                chain = self._chain(noted.parts, (change,))
                self._agree(change, chain, noted.look.content)
        canonical = split(page.canonical) if page.canonical else None
        changes = canonical and differences(canonical, noted.parts)
        if changes and len(changes) == 1:
            self.rules.claim(changes[0], self._chain(noted.parts, changes))

    def _agree(
        self, change: Change, chain: tuple[str, ...], content: int, by_urls: bool = False
    ) -> None:
        if self.rules.agree(change, chain, content, by_urls):
            self._left_to_reduce = len(self.pages)

    def _contradict(
        self, change: Change, chain: tuple[str, ...], content: int
    ) -> list[Contradiction]:
        node = self.rules.contradict(change, chain, content)
        if node is None:
            return []
        self._left_to_reduce = len(self.pages)
        return [Contradiction(self.name, change.text, node)]

    def _renew_keys(self) -> None:
        """Make the keys of some pages anew, after rules have changed."""
        if self._left_to_reduce == len(self.pages):
            self.pages.forget_old_urls()
        for _ in range(min(_MAX_REDUCED_AT_ONCE, self._left_to_reduce)):
            number = self._next_to_reduce
            if parts := split(self.pages.urls[number]):
                self.pages.set_url(self._reduce(parts).key, number)
            self._next_to_reduce = (number + 1) % len(self.pages)
            self._left_to_reduce -= 1
