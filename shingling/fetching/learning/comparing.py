"""Whether a page shows anything that an earlier page of its site does not."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from shingling.fetching.learning.changes import kind_of
from shingling.fetching.learning.evidence import path_nodes
from shingling.fetching.learning.parts import split
from shingling.fetching.learning.recent import RecentValues
from shingling.fetching.learning.snapshots import Likeness, VolatileSentences, links_of

if TYPE_CHECKING:
    from shingling.fetching.learning.changes import UrlChange
    from shingling.fetching.learning.evidence import NodePath
    from shingling.fetching.learning.parts import Parts
    from shingling.fetching.learning.rules import SiteRules
    from shingling.fetching.learning.site_pages import SitePages
    from shingling.fetching.learning.snapshots import PageSnapshot

_MAX_NEW_LINKS = 0.1  # of the links of a page, so that it is the same
_WEIGHT_OF_LAST = 1 / 32  # of the last page of a kind, in the share of new ones
_MAX_KINDS = 4096  # of URLs of a site


class ComparedPage(NamedTuple):
    """A page that is compared with an earlier one.

    Args:
        number: of the earlier one.
        parts: of the later one's URL.
        snapshot: of the later one.
        changes: that make both URLs equal.
        nodes: of the path to which both URLs are reduced.
    """

    number: int
    parts: Parts
    snapshot: PageSnapshot
    changes: tuple[UrlChange, ...]
    nodes: NodePath


class PageComparison:
    """Compares the pages of a site.

    Args:
        rules: of the site.
        pages: of the site.

    Attributes:
        volatile: what is known to change with each fetch.
    """

    def __init__(self, rules: SiteRules, pages: SitePages) -> None:
        self._rules = rules
        self._pages = pages
        self.volatile = VolatileSentences()
        self._new_of_kind = RecentValues[int, float](_MAX_KINDS)

    def note_kind(self, parts: Parts, is_new: bool) -> None:
        """Note whether a page showed what no earlier one has shown, for the kind of its URL."""
        kind = kind_of(parts)
        before = self._new_of_kind.get(kind)
        share = 1.0 if before is None else before
        self._new_of_kind.put(kind, share + _WEIGHT_OF_LAST * (is_new - share))

    def _new_share(self, link: str) -> float:
        """Share of new pages among the last ones of the kind of a link; 1 if it is not known."""
        parts = split(link)
        share = None if parts is None else self._new_of_kind.get(kind_of(parts))
        return 1.0 if share is None else share

    def pair(
        self, number: int, parts: Parts, snapshot: PageSnapshot, changes: tuple[UrlChange, ...]
    ) -> ComparedPage:
        """Pair a page with an earlier one."""
        nodes = path_nodes(self._rules.reduce(parts, changes).parts.segments)
        return ComparedPage(number, parts, snapshot, changes, nodes)

    def likeness(self, pair: ComparedPage) -> Likeness:
        """Compare both pages of a pair, and where they lead to."""
        earlier = self._pages.snapshot(pair.number)
        if earlier is not None:
            likeness = self.volatile.compare(earlier, pair.snapshot)
        elif self._pages.contents[pair.number] == self.volatile.content(pair.snapshot):
            likeness = Likeness.SAME
        else:
            likeness = Likeness.DOUBTFUL if self.volatile.kinds else Likeness.OTHER
        if likeness is Likeness.SAME and self.new_links(pair) > _MAX_NEW_LINKS:
            return Likeness.NEW_LINKS
        return likeness

    def new_links(self, pair: ComparedPage, is_settled: bool = False) -> float:
        """Share of the links of a page that lead to pages to which the earlier one does not lead.

        A link that no page has had, because it has an id of its own for instance, counts by what
        links of its kind have led to. If the changes are right, it leads where the link leads that
        they make of it: that one may be known from any page.

        Args:
            pair: both pages.
            is_settled: all links are fetched: those count whose page has no other URL.
        """
        earlier = self._pages.snapshot(pair.number)
        links = links_of(pair.snapshot)
        if not links or (earlier and earlier.links == pair.snapshot.links):
            return 0.0
        there = set(links_of(earlier)) if earlier else set()
        new = [link for link in links if link not in there and self._is_new(link, is_settled)]
        if len(new) > _MAX_NEW_LINKS * len(links):
            known = {self.link_key(link, pair.changes) for link in there}
            new = [
                link
                for link in new
                if (key := self.link_key(link, pair.changes)) not in known
                and (is_settled or self._pages.is_link_of_several(key) is None)
            ]
        counted = len(new) if is_settled else sum(map(self._new_share, new))
        return counted / len(links)

    def _is_new(self, link: str, is_settled: bool) -> bool:
        """Whether no page has had a link; if all are fetched, or its page has no other URL."""
        key = self.link_key(link)
        is_of_several = self._pages.is_link_of_several(key)
        if is_of_several is None or not is_settled:
            return is_of_several is None
        number = None if is_of_several else self._pages.find(key)
        return number is not None and not self._pages.has_copy(number)

    def link_key(self, link: str, changes: tuple[UrlChange, ...] = ()) -> int:
        """Key of what a link is reduced to, by the rules and some other changes."""
        parts = split(link)
        return hash(link) if parts is None else self._rules.reduce(parts, changes).key
