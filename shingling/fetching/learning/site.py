"""What is learned of the URLs of one site.

`decide` reduces a URL by the changes that hold where it is, and looks whether a page was fetched
whose URL is reduced to the same. `note` compares a fetched page with those of which one or a few
changes make its URL equal, and counts what agreed and what contradicted. Where most of two pages is
the same, the earlier one is wanted once more (`second_looks`): what differs between two fetches of
one URL makes no two pages of it.
"""

from __future__ import annotations

from array import array
from itertools import count
from typing import TYPE_CHECKING, NamedTuple

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
from shingling.fetching.learning.evidence import chain_of, is_of_content, is_of_mirrors
from shingling.fetching.learning.looks import Likeness, Noise, links_of, look_of
from shingling.fetching.learning.pages import Contradiction, Skip
from shingling.fetching.learning.parts import Parts, split
from shingling.fetching.learning.recent import Recent, Table
from shingling.fetching.learning.rules import SiteRules, Step

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from shingling.fetching.learning.looks import Look
    from shingling.fetching.learning.pages import FetchedPage
    from shingling.fetching.learning.rules import Reduced

MAX_PAGES_OF_SITE = 100_000
"""Fetched pages of a site that are remembered; later ones are never skipped to."""

MAX_LOOKS_BYTES = 24_000_000
"""Of the pages of all sites that others can be compared with; the oldest are forgotten."""

_MAX_URLS_OF_CONTENT = 12  # after reduction; with more it is an error page or a login
_NONE = -1
_SEVERAL_CONTENTS = -1
_MAX_COMPARED = 12  # pages that one page is compared with
_MAX_SAME_PAGES = 4  # of them, those that are the same, whose links are compared as well
_MAX_REDUCED_AT_ONCE = 20  # pages whose keys are made anew with one note
_MUCH_RISKIER = 10  # than the others is a change that is blamed alone
_MAX_LOST_LINKS = 0.1  # of the links of a page, so that it is the same
_MANY_LOST_LINKS = 0.5  # so that it is another one
_MAX_WITH_NEW_LINKS = 200  # pages whose links may turn out to lead to others

_FIRST_LOOKS = 8  # second ones, of a site that has shown nothing that changes anyway
_MORE_LOOKS = 3  # for each one that has taught something
_PAGES_A_LOOK = 50  # and for so many pages, where something changes anyway
_MAX_LOOKS_AGAIN = 120  # of a site
_MAX_DOUBTS = 20  # pages that wait for a second look at one

_ids = count()


class _Pair(NamedTuple):
    """A page that is compared with an earlier one.

    Args:
        number: of the earlier one.
        parts: of the later one's URL.
        look: of the later one.
        changes: that make both URLs equal.
        chain: nodes of what they are equal to.
    """

    number: int
    parts: Parts
    look: Look
    changes: tuple[Change, ...]
    chain: tuple[str, ...]


class Memory:
    """What is remembered of the fetched pages of all sites, besides their URLs and contents.

    It never grows beyond 50 MB. The keys of a site are its own.
    """

    def __init__(self) -> None:
        self.looks: Recent[int, Look] = Recent(MAX_LOOKS_BYTES)
        self.last_of_content = Table(18)  # last page with a content
        self.of_reduced = Table(19)  # first and last page that one more change leads to a URL
        self.links = Table(19)  # whether two pages have had a link
        self.content_of_place = Table(16)  # the only content of a path or value


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
        self._memory = memory
        self._id = next(_ids)  # a site that is met again after it was forgotten is another one
        self.rules = SiteRules(max_risk, never)
        self._max_risk = max_risk
        self._urls: list[str] = []
        self._contents = array("q")
        self._changed: set[int] = set()  # pages with another text than in an earlier crawl
        self._before = array("i")  # the page before each one that has its content, or none
        self._by_url: dict[int, int] = {}
        self._with_new_links: list[_Pair] = []
        self._noise = Noise()
        self._wanted: list[str] = []
        self._doubts: dict[int, list[_Pair]] = {}
        self._looks_left, self._looks_taken = _FIRST_LOOKS, 0
        self._next_to_reduce = 0
        self._left_to_reduce = 0

    @property
    def pages(self) -> int:
        """How many fetched pages are remembered."""
        return len(self._urls)

    def decide(self, parts: Parts, url: str) -> Skip | None:
        """Page that a URL would repeat, if the risk is small enough."""
        reduced = self.rules.reduce(parts)
        number = self._by_url.get(reduced.key)
        if number is None or self._urls[number] == url:
            return None
        steps = self._between(reduced, number)
        risk = sum(step.risk for step in steps)
        if not steps or risk > self._max_risk:
            return None
        if number in self._changed and any(is_of_mirrors(step.change) for step in steps):
            return None  # one of the two may have moved since an earlier crawl
        return Skip(
            tuple(step.change.text for step in steps),
            self._urls[number],
            risk,
            False,
        )

    def _between(self, reduced: Reduced, number: int, also: Collection[Change] = ()) -> list[Step]:
        """Find the steps between a URL and the one of a page; none where they stay apart."""
        page = split(self._urls[number])
        other = page and self.rules.reduce(page, also)
        if other is None or other.parts != reduced.parts:
            return []  # found by a rule that does not hold any more
        differing = sorted({*reduced.steps} ^ {*other.steps})
        return [*{step.change: step for step in differing}.values()]

    def note(self, page: FetchedPage, skip: Skip | None, counts: bool) -> list[Contradiction]:
        """Learn from a fetched page.

        Args:
            page: what was fetched.
            skip: the decision under which it was fetched anyway.
            counts: it becomes evidence, and a page that others may repeat.
        """
        parts, look = split(page.url), look_of(page)
        asked = split(page.requested[0]) if page.requested else parts
        if parts is None or look is None:
            return []
        found = self._judge(skip, asked, look, counts) if skip and asked else []
        if not counts or len(self._urls) >= MAX_PAGES_OF_SITE:
            return found
        # A URL that is redirected shows the page as well.
        for url in (page.url, *page.requested):
            if one := split(url):
                found += self._note_url(url, one, page, look)
        links = self._memory.links
        for key in [self._own(self._key(link)) for link in links_of(look)]:
            links.put(key, links.get(key) is not None)
        self._renew_keys()
        return found

    def _note_url(
        self, url: str, parts: Parts, page: FetchedPage, look: Look
    ) -> list[Contradiction]:
        """Learn that a URL shows a page."""
        number = len(self._urls)
        if page.has_changed:
            self._changed.add(number)
        self._urls.append(url)
        self._contents.append(self._noise.content(look))
        self._before.append(_NONE)
        self._put_look(number, look)
        if number % _PAGES_A_LOOK == 0 and self._noise:
            self._looks_left += 1
        found = [] if page.is_from_elsewhere else self._compare(number, parts, look)
        self._put_key(number, parts)
        return found

    def _judge(self, skip: Skip, parts: Parts, look: Look, counts: bool) -> list[Contradiction]:
        """Compare a page with the one that it was said to repeat."""
        number = self._by_url.get(self.rules.reduce(parts).key)
        changes = tuple(filter(None, map(read_change, skip.rules)))
        if number is None or self._urls[number] != skip.page or not changes:
            return []
        pair = self._pair(number, parts, look, changes)
        same = self._is_same(pair)
        if same is None:
            if self._likeness(pair) is Likeness.DOUBTFUL:
                self._look_again(pair, in_any_case=counts)
            elif len(self._with_new_links) < _MAX_WITH_NEW_LINKS:
                self._with_new_links.append(pair)
            return []
        if not same:
            return self._blame_riskiest(pair, counts)
        if counts:
            self._agree(pair)
        return []

    def _compare(self, number: int, parts: Parts, look: Look) -> list[Contradiction]:
        """Compare a page with those whose URLs differ little from its own."""
        content = self._contents[number]
        one_content = self._has_one_content(parts.segments, content)
        same_content = self._with_content(content)
        if len(same_content) >= _MAX_URLS_OF_CONTENT:
            if not one_content and not parts.query:
                return []
        else:
            self._before[number] = same_content[-1] if same_content else _NONE
            self._memory.last_of_content.put(self._own(content), number)
        found = self._neighbours(number, parts)
        found += ((one, self._differences(one, parts)) for one in same_content)
        agreed: set[Change] = set()
        against: list[_Pair] = []
        same_pages = 0
        clearest = sorted(dict.fromkeys(found), key=lambda one: len(one[1]))
        for other, changes in [one for one in clearest if one[1]][:_MAX_COMPARED]:
            pair = self._pair(other, parts, look, changes)
            same = self._is_same(pair)
            is_doubtful = same is None and self._likeness(pair) is Likeness.DOUBTFUL
            is_awaited = is_doubtful and (self._look_again(pair) or bool(self._doubts))
            if is_doubtful and not is_awaited and self._look(pair.number):
                same = False
            if same and same_pages < _MAX_SAME_PAGES:
                same_pages += 1
                agreed |= self._agree(pair, agreed, one_content)
            elif same is False:
                against.append(pair)
        return [one for pair in against for one in self._blame(pair, agreed)]

    def _pair(self, number: int, parts: Parts, look: Look, changes: tuple[Change, ...]) -> _Pair:
        chain = chain_of(self.rules.reduce(parts, changes).parts.segments)
        return _Pair(number, parts, look, changes, chain)

    def _differences(self, number: int, parts: Parts) -> tuple[Change, ...]:
        """Find the changes between a page's URL and another; none where nobody knows them."""
        page = split(self._urls[number])
        return (page and differences(page, parts)) or ()

    def _neighbours(self, number: int, parts: Parts) -> list[tuple[int, tuple[Change, ...]]]:
        """Pages whose URLs one more change would make equal, and all changes between both."""
        reduced = self.rules.reduce(parts).parts
        found: list[tuple[int, tuple[Change, ...]]] = []
        keys: dict[int, Change | None] = dict.fromkeys(
            map(hash, (reduced, reduced._replace(query=())))
        )
        known = [one for one in self.rules.trees if one.kind in (EXCHANGE_SEGMENT, DROP_SEGMENT)]
        for one, changed in changes_of(reduced, known).items():
            keys[self.rules.reduce(changed).key] = one
        for key, change in keys.items():
            others = self._first_and_last(key, number)
            if change and change.kind == ONE_PAGE:
                value = change.what, change.other
                if not self._has_one_content(value, self._contents[number]):
                    continue
            if change is None:
                found += ((other, self._differences(other, parts)) for other in others)
            elif others:
                own = self.rules.reduce(parts, (change,))
                for other in others:
                    steps = self._between(own, other, (change,))
                    found.append((other, tuple(step.change for step in steps)))
        return found

    def _own(self, key: object) -> int:
        """Key of this site in what all sites share."""
        return hash((self._id, key))

    def _look(self, number: int) -> Look | None:
        return self._memory.looks.get(self._own(number))

    def _put_look(self, number: int, look: Look) -> None:
        self._memory.looks.put(self._own(number), look, look.size)

    def _with_content(self, content: int) -> list[int]:
        """Pages that have a content, at most `_MAX_URLS_OF_CONTENT`: the earliest first."""
        found: list[int] = []
        number = self._memory.last_of_content.get(self._own(content))
        while number is not None and number != _NONE:
            found.append(number)
            number = self._before[number]
        return found[::-1]

    def _first_and_last(self, key: int, number: int) -> tuple[int, ...]:
        """Earlier pages that one more change leads to a URL; note another one."""
        key, pages = self._own(key), self._memory.of_reduced
        found = pages.get(key)
        first, last = (number, number) if found is None else divmod(found, MAX_PAGES_OF_SITE)
        pages.put(key, first * MAX_PAGES_OF_SITE + number)
        return () if found is None else tuple(dict.fromkeys((first, last)))

    def _has_one_content(self, place: object, content: int) -> bool:
        """Note a content of a path or value; whether it has had no other, and several URLs."""
        key, places = self._own(place), self._memory.content_of_place
        before = places.get(key)
        if before is None:
            places.put(key, content)
        elif before != content:
            places.put(key, _SEVERAL_CONTENTS)
        return before == content

    def _likeness(self, pair: _Pair) -> Likeness:
        before = self._look(pair.number)
        if before is not None:
            return self._noise.compare(before, pair.look)
        if self._contents[pair.number] == self._noise.content(pair.look):
            return Likeness.SAME
        return Likeness.DOUBTFUL if self._noise else Likeness.OTHER

    def _is_same(self, pair: _Pair) -> bool | None:
        """Whether a page adds nothing to the earlier one; None where nobody can tell yet."""
        likeness = self._likeness(pair)
        if likeness is Likeness.SAME:
            return True if self._lost_links(pair) <= _MAX_LOST_LINKS else None
        return False if likeness is Likeness.OTHER else None

    def _lost_links(self, pair: _Pair, is_settled: bool = False) -> float:
        """Share of the links of a page that lead to pages which the earlier one does not lead to.

        Args:
            pair: both pages.
            is_settled: all links are fetched: only those are lost whose page has no other URL.
        """
        before = self._look(pair.number)
        links = links_of(pair.look)
        if not links or (before and before.links == pair.look.links):
            return 0.0
        there = set(links_of(before)) if before else set()
        unknown = [link for link in links if link not in there and self._is_new(link, is_settled)]
        if len(unknown) > _MAX_LOST_LINKS * len(links):
            keys = {self._key(link, pair.changes) for link in there}
            unknown = [link for link in unknown if self._key(link, pair.changes) not in keys]
        return len(unknown) / len(links)

    def _is_new(self, link: str, is_settled: bool) -> bool:
        """Whether no page has shown a link; of one that was shown, whether its page is unique."""
        key = self._key(link)
        is_of_several = self._memory.links.get(self._own(key))
        if not is_settled or is_of_several is None or is_of_several:
            return is_of_several is None
        number = self._by_url.get(key)
        return number is not None and len(self._with_content(self._contents[number])) < 2

    def _key(self, link: str, changes: tuple[Change, ...] = ()) -> int:
        parts = split(link)
        return hash(link) if parts is None else self.rules.reduce(parts, changes).key

    def _agree(
        self, pair: _Pair, but: Iterable[Change] = (), one_content: bool = False
    ) -> set[Change]:
        """Count a page that is the same as an earlier one, for each change but some."""
        other = split(self._urls[pair.number])
        content = self._noise.content(pair.look)
        agreed: set[Change] = set()
        is_of_two_ids = any(map(is_of_content, pair.changes))  # /thread?id=5 and /post?id=51
        for change in pair.changes:
            if change in but or (is_of_two_ids and is_of_mirrors(change)):
                continue
            if other and is_mirror_of_pair(change, other, pair.parts):
                continue
            agreed.add(change)
            by_urls = one_content or change.kind == ONE_PAGE
            acts = self.rules.agree(change, pair.chain, content, by_urls)
            narrower = other and self._narrower(other, pair.parts, change)
            if narrower and narrower not in but:
                agreed.add(narrower)
                acts |= self.rules.agree(narrower, pair.chain, content)
            if acts:
                self._left_to_reduce = len(self._urls)
        return agreed

    def _narrower(self, a: Parts, b: Parts, change: Change) -> Change | None:
        """Find a value that may be dropped, of a parameter that may not."""
        tree = self.rules.trees.get(change)
        is_in_doubt = is_of_content(change) or (tree and tree.root.contradicted)
        return value_dropped(a, b, change) if is_in_doubt else None

    def _blame(self, pair: _Pair, but: Iterable[Change] = ()) -> list[Contradiction]:
        """Hold a page against the change that may have lost it: none where several are new.

        Where others are nearly as risky, it may have been each of them: each needs more evidence,
        by its share of the risk.
        """
        risks = self._risks(pair)
        doubtful = [one for one in risks if is_of_mirrors(one) or risks[one] > self._max_risk]
        if len(doubtful) > 1:
            return []
        blamed = doubtful[0] if doubtful else max(risks, key=risks.__getitem__)
        shares = _shares(risks, blamed)
        if len(shares) == 1:
            other = split(self._urls[pair.number])
            narrower = other and value_dropped(other, pair.parts, blamed)
            if narrower and narrower in self.rules.trees:
                shares[narrower] = 1.0
        found: list[Contradiction] = []
        for change, share in shares.items():
            if change not in but:
                found += self._contradict(pair, change, share)
        return found

    def _blame_riskiest(self, pair: _Pair, counts: bool = True) -> list[Contradiction]:
        """Hold a page that was or would have been skipped against the riskiest of its changes."""
        risks = self._risks(pair)
        blamed = max(risks, key=lambda change: (is_of_mirrors(change), risks[change]))
        if not counts:
            return [Contradiction(self.name, blamed.text, pair.chain[-1])]
        found: list[Contradiction] = []
        for change, share in _shares(risks, blamed).items():
            found += self._contradict(pair, change, share)
        return found

    def _risks(self, pair: _Pair) -> dict[Change, float]:
        return {change: self.rules.risk(change, pair.chain) for change in pair.changes}

    def _contradict(self, pair: _Pair, change: Change, share: float) -> list[Contradiction]:
        """Count a page that a change would have lost with this probability."""
        if change.kind == ONE_PAGE and change not in self.rules.trees:
            return []
        content = self._noise.content(pair.look)
        node = self.rules.contradict(change, pair.chain, content, share)
        if node is None:
            return []
        self._left_to_reduce = len(self._urls)
        return [Contradiction(self.name, change.text, node)]

    def _look_again(self, pair: _Pair, in_any_case: bool = False) -> bool:
        """Let a page wait for a second look at the earlier one; False where there is none."""
        waiting = self._doubts.get(pair.number)
        if waiting is None:
            is_allowed = self._looks_left > 0 or in_any_case
            if not is_allowed or self._looks_taken >= _MAX_LOOKS_AGAIN:
                return False
            self._looks_left -= 1
            self._looks_taken += 1
            waiting = self._doubts[pair.number] = []
            self._wanted.append(self._urls[pair.number])
        if len(waiting) < _MAX_DOUBTS:
            waiting.append(pair)
        return True

    def second_looks(self) -> list[str]:
        """Take the URLs of pages that are to be fetched once more."""
        wanted, self._wanted = self._wanted, []
        return wanted

    def note_again(self, url: str, page: FetchedPage | None) -> list[Contradiction]:
        """Learn from a second look at a page; None where it could not be fetched."""
        number = next((one for one in self._doubts if self._urls[one] == url), None)
        if number is None:
            return []
        before, after = self._look(number), page and look_of(page)
        if before and after and self._noise.learn(before, after):
            self._looks_left += _MORE_LOOKS
        if after:
            self._put_look(number, after)
        found: list[Contradiction] = []
        for pair in self._doubts.pop(number):
            same = self._is_same(pair)
            if same:
                self._agree(pair)
            elif self._likeness(pair) is not Likeness.SAME:
                found += self._blame(pair)
        return found

    def settle(self) -> list[Contradiction]:
        """Judge what could not be before all was fetched: pages whose links were new."""
        waiting, self._with_new_links = self._with_new_links, []
        found: list[Contradiction] = []
        for pair in waiting:
            if self._lost_links(pair, is_settled=True) >= _MANY_LOST_LINKS:
                found += self._blame_riskiest(pair)
        return found

    def _put_key(self, number: int, parts: Parts) -> None:
        """Let a page be found by what its URL is reduced to, if no earlier one is."""
        key = self.rules.reduce(parts).key
        other = self._by_url.get(key)
        earlier = None if other is None else split(self._urls[other])
        if earlier is None or self.rules.reduce(earlier).key != key:  # by rules that were unlearned
            self._by_url[key] = number

    def _renew_keys(self) -> None:
        """Make the keys of some pages anew, after rules have changed."""
        if (
            self._left_to_reduce == len(self._urls)
            and len(self._by_url) > 2 * len(self._urls) + 1000
        ):
            self._by_url = {}  # most are of rules that do not hold any more
        for _ in range(min(_MAX_REDUCED_AT_ONCE, self._left_to_reduce)):
            number = self._next_to_reduce
            if parts := split(self._urls[number]):
                self._put_key(number, parts)
            self._next_to_reduce = (number + 1) % len(self._urls)
            self._left_to_reduce -= 1


def _shares(risks: dict[Change, float], blamed: Change) -> dict[Change, float]:
    """Probability, for each change that may have lost a page, that it was this one."""
    if is_of_mirrors(blamed):
        return {blamed: 1.0}
    least = risks[blamed] / _MUCH_RISKIER
    suspected = {change: risk for change, risk in risks.items() if risk >= least}
    total = sum(suspected.values()) or 1.0
    return {change: risk / total for change, risk in suspected.items()}
