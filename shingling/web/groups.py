"""Pages of groups, pairs and reviews, and which pair comes next."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from shingling.store import Store
from shingling.web.decisions import version
from shingling.web.lists import groups, members
from shingling.web.pairs import read_pair, stored_page
from shingling.web.requests import asked_of, needed, whole_number
from shingling.web.shown import link

if TYPE_CHECKING:
    from collections.abc import Mapping

    from shingling.store import StoredPage
    from shingling.store.session import Session
    from shingling.web.requests import Asked
    from shingling.web.threshold import ThresholdPage

GROUPS_SHOWN = 50
MEMBERS_SHOWN = 100
REVIEWS_SHOWN = 200
_MAX_TEMPLATE_BLOCKS = 200


def show_groups(session: Session, query: Mapping[str, str]) -> dict[str, Any]:
    """List of groups."""
    asked, after = asked_of(query), query.get("after") or None
    with session.reading() as connection:
        return {"found": groups(connection, asked.filter, after, GROUPS_SHOWN)}


def show_group(session: Session, query: Mapping[str, str]) -> dict[str, Any]:
    """Duplicates of one original."""
    asked = asked_of(query)
    original = stored_page(Store(session), needed(query, "url"))
    after = whole_number(query, "after") or 0
    with session.reading() as connection:
        found = members(connection, original.id, asked.filter, after, MEMBERS_SHOWN + 1)
    shown = found[:MEMBERS_SHOWN]
    return {
        "original": original,
        "members": shown,
        "next": shown[-1].page.id if len(found) > MEMBERS_SHOWN else None,
        "at": query.get("at", ""),
    }


def show_pair(
    threshold: ThresholdPage, session: Session, query: Mapping[str, str]
) -> dict[str, Any]:
    """Two pages side by side, and the address of the next pair."""
    asked = asked_of(query)
    pair = read_pair(session, needed(query, "a"), needed(query, "b"))
    left, right = pair.left.page, pair.right.page
    walk = threshold.walk(session, asked.guided)
    return {
        "pair": pair,
        "seen": version([pair.review]),
        "walk": walk,
        "next": walk.after(left.url, right.url)
        if walk
        else _after(session, (left, right), asked, query.get("at", "")),
        "at": query.get("at", ""),
        "MAX_BLOCKS": _MAX_TEMPLATE_BLOCKS,
    }


def show_reviews(session: Session, _: Mapping[str, str]) -> dict[str, Any]:
    """Last reviews."""
    found = Store(session).admin.reviews()
    return {"reviews": found[:REVIEWS_SHOWN], "total": len(found)}


def _after(
    session: Session, pair: tuple[StoredPage, StoredPage], asked: Asked, at: str
) -> str | None:
    """Address of the next duplicate of the group, or of the first of the next group."""
    original, duplicate = pair
    with session.reading() as connection:
        rest = members(connection, original.id, asked.filter, duplicate.id, 1)
        urls = [(original.url, rest[0].page.url, at)] if rest else []
        if not rest and at:
            found = groups(connection, asked.filter, at, 1).groups
            urls = [(one.original.url, one.first.url, one.at) for one in found]
    if not urls:
        return None
    return link("/pair", [*zip(("a", "b", "at"), urls[0], strict=True), *asked.pairs])
