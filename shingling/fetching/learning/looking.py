"""What is seen of a fetched page: the earlier ones beside it, and where both lead to.

Nothing is counted here. Only the keys of the page are noted, so that later pages find it.
"""

from __future__ import annotations

from operator import itemgetter
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from shingling.fetching.learning.changes import ONE_PAGE, differences
from shingling.fetching.learning.snapshots import links_of

if TYPE_CHECKING:
    from shingling.fetching.learning.changes import UrlChange
    from shingling.fetching.learning.parts import NodePath, Parts
    from shingling.fetching.learning.site_pages import SitePages
    from shingling.fetching.learning.snapshots import PageSnapshot

MAX_NEW_LINKS = 0.1
"""Share of the links of a page that may be new, so that it is the same as another one."""

_MAX_COMPARED = 12  # earlier pages with which a page is compared


PagesBeside: TypeAlias = "list[tuple[int, tuple[UrlChange, ...]]]"
"""Earlier pages, by their numbers, and changes of their URLs or of another one."""


class SeenPage(NamedTuple):
    """What is compared of a fetched page.

    Args:
        parts: of a URL that shows it.
        snapshot: of what it shows.
        content: hash of what stays of that with each fetch.
    """

    parts: Parts
    snapshot: PageSnapshot
    content: int


class ComparedPage(NamedTuple):
    """A page that is compared with an earlier one.

    Args:
        number: of the earlier one.
        page: the later one.
        changes: that make both URLs equal.
        nodes: of the path to which both URLs are reduced.
    """

    number: int
    page: SeenPage
    changes: tuple[UrlChange, ...]
    nodes: NodePath


def pages_beside(
    pages: SitePages, page: SeenPage, number: int, copies: tuple[int, ...]
) -> PagesBeside:
    """Find earlier pages, and the changes between their URLs and that of a page: fewest first.

    Of all pages that the same change makes equal, these are the first and the last.

    Args:
        pages: of the site.
        page: the later one.
        number: of the page, which is the last one from now on.
        copies: the first and the last earlier page with the same content.
    """
    beside: PagesBeside = []
    for key, further in pages.rules.forms(page.parts).items():
        earlier_pages = pages.first_and_last(key, number)
        for also in further:
            if all(
                pages.has_one_content((change.what, change.other), page.content)
                for change in also
                if change.kind == ONE_PAGE
            ):
                beside += [(earlier, also) for earlier in earlier_pages]
    found: dict[tuple[int, tuple[UrlChange, ...]], None] = {}
    for earlier, also in (*beside, *((copy, ()) for copy in copies)):
        theirs = pages.parts(earlier)
        steps = pages.rules.steps_between(page.parts, theirs, also) if also else ()
        changes = tuple(step.change for step in steps) or differences(theirs, page.parts)
        found[earlier, changes] = None
    return sorted(filter(itemgetter(1), found), key=lambda pair: len(pair[1]))[:_MAX_COMPARED]


def new_links(pages: SitePages, pair: ComparedPage, is_settled: bool = False) -> float:
    """Share of the links of a page that lead to pages to which the earlier one does not lead.

    A link that no page has had, because it has an id of its own for instance, counts by what
    links of its kind have led to. If the changes are right, it leads where the link leads that
    they make of it: that one may be known from any page.

    Args:
        pages: of the site.
        pair: both pages.
        is_settled: all links are fetched: those count whose page has no other URL.
    """
    earlier = pages.snapshot(pair.number)
    links = links_of(pair.page.snapshot)
    if not links or (earlier and earlier.links == pair.page.snapshot.links):
        return 0.0
    there = set(links_of(earlier)) if earlier else set()
    new = [link for link in links if link not in there and _is_new(pages, link, is_settled)]
    if len(new) > MAX_NEW_LINKS * len(links):
        known = {pages.rules.key(link, pair.changes) for link in there}
        new = [
            link
            for link in new
            if (key := pages.rules.key(link, pair.changes)) not in known
            and (is_settled or pages.is_link_of_several(key) is None)
        ]
    counted = len(new) if is_settled else sum(map(pages.new_share, new))
    return counted / len(links)


def _is_new(pages: SitePages, link: str, is_settled: bool) -> bool:
    """Whether no page has had a link; if all are fetched, or its page has no other URL."""
    key = pages.rules.key(link)
    is_of_several = pages.is_link_of_several(key)
    if is_of_several is None or not is_settled:
        return is_of_several is None
    number = None if is_of_several else pages.find(key)
    return number is not None and not pages.has_copy(number)
