"""The duplicates of a store that are wrong if any are: those that a person looks at first."""

from __future__ import annotations

from heapq import nlargest
from itertools import chain, pairwise
from typing import TYPE_CHECKING, NamedTuple

from sqlalchemy import text

from shingling.admin.reviews import find_reviews
from shingling.rules.own_fields import changed_fields
from shingling.store.known import read_texts
from shingling.store.queries import stored_pages
from shingling.store.schema.tables import select_in
from shingling.store.templates import SiteCache, Templates
from shingling.store.urls import server_of
from shingling.text import has_same_headline, headline_keys, title_parts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection

    from shingling.store.indexing import Steps
    from shingling.store.model import StoredPage
    from shingling.store.session import Session

MAX_DROPS = 1000
"""Duplicates that are listed, the riskiest ones."""

_PAGES_AT_ONCE = 500
_CLOSE = 0.1  # resemblance above the threshold up to which it is near: twice the standard error
_UNITS = (
    " b kb mb gb tb bit kbit mbit gbit hz khz mhz ghz w kw mw gw v mv a ma ah mah wh kwh"
    " mg g kg t oz lb lbs ml cl l gal mm cm m km in ft yd mi ms s sec min h hr hrs d px dpi"
    " usd eur gbp chf jpy cny inr rub pln sek k c f "
)

_DROPS = text(
    "SELECT id FROM pages WHERE original_id IS NOT NULL AND coalesce(reason, '') <> 'review'"
    " ORDER BY original_id, id"
)
_PAIRS = "SELECT id, original_id FROM pages WHERE id {}"


class Drop(NamedTuple):
    """A duplicate, with what speaks against it.

    Args:
        url: of the page.
        title: of the page.
        other: URL of its original.
        other_title: of that.
        resemblance: by which it was decided.
        signs: why it may be wrong.
    """

    url: str
    title: str | None
    other: str
    other_title: str | None
    resemblance: float | None
    signs: tuple[str, ...]


class Drops(NamedTuple):
    """The riskiest duplicates of a store, and the number of all that no review has decided."""

    number: int
    riskiest: Sequence[Drop]


def riskiest_drops(session: Session, show: Steps) -> Drops:
    """Find the duplicates that most speaks against, and of equals those that are least alike.

    Signs are another title, other numbers or units in the text, a resemblance near the threshold,
    a twin of the original that decided, and another site with other data in the item. Every
    duplicate is looked at, a few hundred in a transaction; of near-duplicates the texts are read.

    Args:
        session: of the store.
        show: is told how many duplicates of how many are done.
    """
    with session.reading() as connection:
        ids = connection.scalars(_DROPS).all()
        reviewed = {frozenset((review.a, review.b)) for review in find_reviews(connection, None)}
    riskiest: list[Drop] = []
    number = 0
    cache = SiteCache()
    for start in range(0, len(ids), _PAGES_AT_ONCE):
        show(start, len(ids))
        with session.reading() as connection:
            drops = _drops(session, connection, ids[start : start + _PAGES_AT_ONCE], cache)
        drops = [drop for drop in drops if frozenset((drop.url, drop.other)) not in reviewed]
        number += len(drops)
        riskiest = nlargest(MAX_DROPS, chain(riskiest, drops), _risk)
    show(len(ids), len(ids))
    return Drops(number, riskiest)


def _risk(drop: Drop) -> tuple[int, float]:
    return len(drop.signs), -1.0 if drop.resemblance is None else -drop.resemblance


def _drops(
    session: Session, connection: Connection, ids: Sequence[int], cache: SiteCache
) -> list[Drop]:
    pairs = [*select_in(connection, _PAIRS, ids)]
    known = stored_pages(connection, chain.from_iterable(pairs))
    near = {page for pair in pairs if known[pair[0]].status == "near" for page in pair}
    templates = Templates(connection, cache)
    numbers = {}
    for page_id, kept in read_texts(connection, near).items():
        server = server_of(known[page_id].site, known[page_id].url)
        compared = templates.site(server).split(kept).compared
        numbers[page_id] = _numbers(session.scheme.canonical.words(compared))
    drops = []
    for page_id, head_id in pairs:
        page, head = known[page_id], known[head_id]
        signs = _signs(page, head)
        if page.status == "near" and numbers.get(page_id) != numbers.get(head_id):
            signs.append("other numbers or units")
        if page.site != head.site and changed_fields(page.packed_fields, head.packed_fields):
            signs.append("another site with other data")
        value = page.resemblance and round(page.resemblance, 4)
        drops.append(Drop(page.url, page.title, head.url, head.title, value, tuple(signs)))
    return drops


def _numbers(words: Sequence[str]) -> frozenset[tuple[str, str]]:
    """Numbers of a text, each with its unit, if it has one."""
    return frozenset(
        (word, following if f" {following} " in _UNITS else "")
        for word, following in pairwise((*words, ""))
        if any(map(str.isdigit, word))
    )


def _signs(page: StoredPage, head: StoredPage) -> list[str]:
    """Signs that are stored with two pages."""
    titles = [side.title for side in (page, head) if side.title]
    have_one = len(titles) < 2 or has_same_headline(*map(title_parts, titles))
    if page.site != head.site:  # the texts have told that they are about it
        have_one = have_one or not headline_keys(titles[0]).isdisjoint(headline_keys(titles[1]))
    value, least = page.resemblance, page.threshold
    signs = {
        "another title": not have_one,
        "near the threshold": None not in (value, least) and value < least + _CLOSE,  # type: ignore[operator]
        "decided by a twin of the original": page.compared_with not in (None, head.url),
    }
    return [sign for sign, holds in signs.items() if holds]
