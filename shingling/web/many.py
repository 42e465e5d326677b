"""Page of many pairs that are reviewed at once."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Any

from sqlalchemy import select

from shingling.admin.reviews import Answer, reviews_of
from shingling.store import Store
from shingling.store.queries import stored_pages
from shingling.store.schema.statements import among, chunked
from shingling.store.schema.tables import pages
from shingling.web.decisions import version
from shingling.web.lists import HEAD, first_pairs
from shingling.web.pairs import stored_page
from shingling.web.requests import RequestError, asked_of, needed

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sqlalchemy import Connection

    from shingling.store.session import Session
    from shingling.web.decisions import Decision, Decisions

MAX_PAIRS_AT_ONCE = 1000
SAMPLE_SHOWN = 20
_PAIRS = re.compile(r"[0-9]{1,18}-[0-9]{1,18}(\.[0-9]{1,18}-[0-9]{1,18})*")
_CHANGED = (
    "some of these pages are no duplicates of these originals any more, and nothing is written:"
    " look at them again"
)
_URLS = (
    select(pages.c.id, HEAD.c.id, HEAD.c.url, pages.c.url)
    .join_from(pages, HEAD, pages.c.original_id == HEAD.c.id)
    .where(among(pages.c.id))
)


def show_many(session: Session, query: Mapping[str, str]) -> dict[str, Any]:
    """Pairs of a filter or a group, and what becomes of them if they are reviewed."""
    asked = asked_of(query)
    url = query.get("url", "")
    original = stored_page(Store(session), url) if url else None
    with session.reading() as connection:
        original_id = None if original is None else original.id
        found = first_pairs(connection, asked.filter, MAX_PAIRS_AT_ONCE, original_id)
        pairs = found.pairs
        urls = _urls_of(connection, pairs)
        reviews = reviews_of(connection, [urls[pair] for pair in pairs])
        shown = slice(None, None, max(1, -(-len(pairs) // SAMPLE_SHOWN)))
        sample = zip(
            stored_pages(connection, [original_id for original_id, _ in pairs[shown]]),
            stored_pages(connection, [duplicate for _, duplicate in pairs[shown]]),
            reviews[shown],
            strict=True,
        )
    answers = Counter("none" if one is None else one.same for one in reviews)
    return {
        "found": found,
        "pairs": ".".join(f"{original_id}-{duplicate}" for original_id, duplicate in pairs),
        "count": len(pairs),
        "reviewed": {"same": answers[True], "different": answers[False], "none": answers["none"]},
        "sample": [*sample],
        "seen": version(reviews),
        "original": original,
    }


def review_many(
    decisions: Decisions, session: Session, form: Mapping[str, str], same: bool | None
) -> Decision:
    """Review the pairs that a page has shown.

    Raises:
        RequestError: they are no pairs any more, or somebody else has reviewed one.
    """
    pairs = _read_pairs(needed(form, "pairs"))
    with session.reading() as connection:
        urls = _urls_of(connection, pairs)
    if any(pair not in urls for pair in pairs):
        raise RequestError(_CHANGED, 409)
    note = form.get("note", "").strip() or None
    answers = [Answer(*urls[pair], same, note) for pair in pairs]
    formerly = {duplicate: original for original, duplicate in pairs}
    return decisions.review(session, answers, form.get("seen", ""), formerly)


def _urls_of(
    connection: Connection, pairs: Sequence[tuple[int, int]]
) -> dict[tuple[int, int], tuple[str, str]]:
    """URLs of those that are pairs of an original and a duplicate now."""
    return {
        (original_id, duplicate): (a, b)
        for part in chunked(duplicate for _, duplicate in pairs)
        for duplicate, original_id, a, b in connection.execute(_URLS, {"values": part})
    }


def _read_pairs(given: str) -> list[tuple[int, int]]:
    """Ids of pairs as a form has them.

    Raises:
        RequestError: it is not a form of ours.
    """
    if not _PAIRS.fullmatch(given) or given.count(".") >= MAX_PAIRS_AT_ONCE:
        raise RequestError("the form is not one that these pages make")
    pairs = (part.split("-") for part in given.split("."))
    return [(int(original), int(duplicate)) for original, duplicate in pairs]
