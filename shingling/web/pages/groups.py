"""Pages of groups, pairs and reviews, and which pair comes next."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from shingling.store import Store
from shingling.store.admin.looking.groups import groups, members
from shingling.web.decisions import version
from shingling.web.pages.guided import guided_sample
from shingling.web.pairs import Pair, read_pair, stored_page
from shingling.web.requests import asked_of, needed, whole_number
from shingling.web.shown import link

if TYPE_CHECKING:
    from collections.abc import Mapping

    from shingling.store.session import Session
    from shingling.web.requests import Asked

GROUPS_SHOWN = 50
MEMBERS_SHOWN = 100
REVIEWS_SHOWN = 200
_MAX_TEMPLATE_BLOCKS = 200


def show_groups(session: Session, query: Mapping[str, str]) -> dict[str, Any]:
    """List of groups."""
    asked = asked_of(query)
    with session.reading() as connection:
        found = groups(connection, asked.filter, query.get("after") or None, GROUPS_SHOWN)
    return {"found": found}


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


def show_pair(session: Session, query: Mapping[str, str]) -> dict[str, Any]:
    """Two pages side by side, and the address of the next pair."""
    asked = asked_of(query)
    pair = read_pair(session, needed(query, "a"), needed(query, "b"))
    guided = guided_sample(session, asked.guided)
    return {
        "pair": pair,
        "seen": version(pair.review),
        "guided": guided,
        "next": guided.after(pair.left.page.url, pair.right.page.url)
        if guided
        else _next_pair(session, pair, asked, query.get("at", "")),
        "at": query.get("at", ""),
        "MAX_BLOCKS": _MAX_TEMPLATE_BLOCKS,
    }


def show_reviews(session: Session, _: Mapping[str, str]) -> dict[str, Any]:
    """Last reviews."""
    found = Store(session).admin.reviews()
    return {"reviews": found[:REVIEWS_SHOWN], "total": len(found)}


def next_pair(session: Session, query: Mapping[str, str]) -> str | None:
    """Address of the pair after the one of a query; None behind the last one."""
    guided = guided_sample(session, asked_of(query).guided)
    if guided:
        return guided.after(needed(query, "a"), needed(query, "b"))
    store = Store(session)
    left, right = (stored_page(store, needed(query, name)) for name in ("a", "b"))
    return _after(session, left.id, left.url, right.id, asked_of(query), query.get("at", ""))


def _next_pair(session: Session, pair: Pair, asked: Asked, at: str) -> str | None:
    left, right = pair.left.page, pair.right.page
    return _after(session, left.id, left.url, right.id, asked, at)


def _after(
    session: Session, original_id: int, original: str, duplicate_id: int, asked: Asked, at: str
) -> str | None:
    """Address of the next duplicate of the group, or of the first of the next group."""
    kept = [*asked.pairs]
    with session.reading() as connection:
        rest = members(connection, original_id, asked.filter, duplicate_id, 1)
        if rest:
            return link("/pair", [("a", original), ("b", rest[0].page.url), ("at", at), *kept])
        if not at:
            return None
        following = groups(connection, asked.filter, at, 1).groups
    if not following:
        return None
    group = following[0]
    shown = [("a", group.original.url), ("b", group.first.url), ("at", group.at)]
    return link("/pair", [*shown, *kept])
