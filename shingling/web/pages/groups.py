"""Pages of groups, pairs and reviews, and which pair comes next."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from shingling.store import Store
from shingling.store.admin.looking.groups import groups, members
from shingling.web.decisions import version
from shingling.web.pages.guided import guided_sample
from shingling.web.pairs import read_pair, stored_page
from shingling.web.requests import asked_of, needed, whole_number
from shingling.web.shown import link

if TYPE_CHECKING:
    from collections.abc import Mapping

    from shingling.store import StoredPage
    from shingling.store.admin.looking.kept_pairs import KeptPairs
    from shingling.store.session import Session
    from shingling.web.requests import Asked

GROUPS_SHOWN = 50
MEMBERS_SHOWN = 100
REVIEWS_SHOWN = 200
_MAX_TEMPLATE_BLOCKS = 200


def show_groups(kept: KeptPairs, session: Session, query: Mapping[str, str]) -> dict[str, Any]:
    """List of groups."""
    asked = asked_of(query)
    return {"found": groups(session, kept, asked.filter, query.get("after") or None, GROUPS_SHOWN)}


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


def show_pair(kept: KeptPairs, session: Session, query: Mapping[str, str]) -> dict[str, Any]:
    """Two pages side by side, and the address of the next pair."""
    asked = asked_of(query)
    pair = read_pair(session, needed(query, "a"), needed(query, "b"))
    left, right = pair.left.page, pair.right.page
    guided = guided_sample(session, asked.guided)
    return {
        "pair": pair,
        "seen": version([pair.review]),
        "guided": guided,
        "next": guided.after(left.url, right.url)
        if guided
        else _after(kept, session, (left, right), asked, query.get("at", "")),
        "at": query.get("at", ""),
        "MAX_BLOCKS": _MAX_TEMPLATE_BLOCKS,
    }


def show_reviews(session: Session, _: Mapping[str, str]) -> dict[str, Any]:
    """Last reviews."""
    found = Store(session).admin.reviews()
    return {"reviews": found[:REVIEWS_SHOWN], "total": len(found)}


def next_pair(kept: KeptPairs, session: Session, query: Mapping[str, str]) -> str | None:
    """Address of the pair after the one of a query; None behind the last one."""
    guided = guided_sample(session, asked_of(query).guided)
    if guided:
        return guided.after(needed(query, "a"), needed(query, "b"))
    store = Store(session)
    left, right = (stored_page(store, needed(query, name)) for name in ("a", "b"))
    asked, at = asked_of(query), query.get("at", "")
    return _after(kept, session, (left, right), asked, at)


def _after(
    kept: KeptPairs,
    session: Session,
    pair: tuple[StoredPage, StoredPage],
    asked: Asked,
    at: str,
) -> str | None:
    """Address of the next duplicate of the group, or of the first of the next group."""
    original, duplicate = pair
    with session.reading() as connection:
        rest = members(connection, original.id, asked.filter, duplicate.id, 1)
    if rest:
        following = [("a", original.url), ("b", rest[0].page.url), ("at", at)]
        return link("/pair", [*following, *asked.pairs])
    found = groups(session, kept, asked.filter, at, 1).groups if at else []
    if not found:
        return None
    group = found[0]
    following = [("a", group.original.url), ("b", group.first.url), ("at", group.at)]
    return link("/pair", [*following, *asked.pairs])
