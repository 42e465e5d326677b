"""Page of many pairs that are reviewed at once."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

from sqlalchemy import select

from shingling.store import Store
from shingling.store.admin.looking.groups import first_pairs
from shingling.store.admin.looking.pair_table import HEAD
from shingling.store.admin.queries import stored_pages
from shingling.store.admin.reviews import Answer, reviews_of
from shingling.store.schema.statements import among, chunked
from shingling.store.schema.tables import pages
from shingling.web.decisions import version
from shingling.web.pairs import stored_page
from shingling.web.requests import RequestError, asked_of, needed

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sqlalchemy import Connection

    from shingling.store.admin.looking.kept_pairs import KeptPairs
    from shingling.store.session import Session
    from shingling.web.decisions import Decision, Decisions

MAX_PAIRS_AT_ONCE = 1000
SAMPLE_SHOWN = 20
_LONGEST_ID = 19  # digits
_CHANGED = (
    "some of these pages are no duplicates of these originals any more, and nothing is written:"
    " look at them again"
)
_URLS = (
    select(
        pages.c.id, HEAD.c.id.label("original_id"), HEAD.c.url.label("a"), pages.c.url.label("b")
    )
    .join_from(pages, HEAD, pages.c.original_id == HEAD.c.id)
    .where(among(pages.c.id))
)


class _Urls(NamedTuple):
    """URLs of an original and a duplicate."""

    a: str
    b: str


def show_many(kept: KeptPairs, session: Session, query: Mapping[str, str]) -> dict[str, Any]:
    """Pairs of a filter or a group, and what becomes of them if they are reviewed."""
    asked = asked_of(query)
    url = query.get("url", "")
    original = stored_page(Store(session), url) if url else None
    found = first_pairs(
        session, kept, asked.filter, MAX_PAIRS_AT_ONCE, None if original is None else original.id
    )
    with session.reading() as connection:
        urls = _urls_of(connection, found.pairs)
        pairs = [pair for pair in found.pairs if pair in urls]
        reviews = reviews_of(connection, [urls[pair] for pair in pairs])
        places = range(0, len(pairs), max(1, -(-len(pairs) // SAMPLE_SHOWN)))
        sample = [pairs[at] for at in places]
        rows = zip(
            stored_pages(connection, [original_id for original_id, _ in sample]),
            stored_pages(connection, [duplicate for _, duplicate in sample]),
            [reviews[at] for at in places],
            strict=True,
        )
    answers = Counter(None if one is None else one.same for one in reviews)
    return {
        "found": found,
        "pairs": ".".join(f"{original_id}-{duplicate}" for original_id, duplicate in pairs),
        "count": len(pairs),
        "reviewed": {"same": answers[True], "different": answers[False], "none": answers[None]},
        "sample": [*rows],
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
    return decisions.review_many(session, answers, form.get("seen", ""), formerly)


def _urls_of(
    connection: Connection, pairs: Sequence[tuple[int, int]]
) -> dict[tuple[int, int], _Urls]:
    """URLs of those that are pairs of an original and a duplicate now."""
    found = (
        row
        for part in chunked(duplicate for _, duplicate in pairs)
        for row in connection.execute(_URLS, {"values": part})
    )
    return {(row.original_id, row.id): _Urls(row.a, row.b) for row in found}


def _read_pairs(given: str) -> list[tuple[int, int]]:
    """Ids of pairs as a form has them.

    Raises:
        RequestError: it is not a form of ours.
    """
    parts = [part.split("-") for part in given.split(".", MAX_PAIRS_AT_ONCE)]
    numbers = [one for part in parts for one in part]
    are_ids = all(one.isascii() and one.isdigit() and len(one) < _LONGEST_ID for one in numbers)
    if len(parts) > MAX_PAIRS_AT_ONCE or not are_ids or any(len(part) != 2 for part in parts):
        raise RequestError("the form is not one that these pages make")
    return [(int(original), int(duplicate)) for original, duplicate in parts]
