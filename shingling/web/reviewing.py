"""Reviews that are made in the browser, of one pair or of many at once, and how to undo them."""

from __future__ import annotations

import hashlib
import re
import threading
from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

from sqlalchemy import select

from shingling.admin.reviews import Answer, Reviewed, review_pairs, reviews_of
from shingling.store import Store
from shingling.store.schema.statements import among, chunked
from shingling.store.schema.tables import pages
from shingling.web.lists import asked_of, first_pairs, pages_of
from shingling.web.pairs import stored_page
from shingling.web.requests import RequestError, needed
from shingling.web.shown import count

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sqlalchemy import Connection

    from shingling.store import Review
    from shingling.store.session import Session

MAX_PAIRS_AT_ONCE = 1000
SAMPLE_SHOWN = 20
_MAX_REMEMBERED = 1000  # the last decisions, which can be undone
_IDS = re.compile(r"[0-9]{1,18}(,[0-9]{1,18})*")
_CHANGED = (
    "somebody else has reviewed or changed this meanwhile, and nothing is written: look at it again"
)
_head = pages.alias("head")
_PAIRS = (
    select(pages.c.id, _head.c.id, _head.c.url, pages.c.url)
    .join_from(pages, _head, pages.c.original_id == _head.c.id)
    .where(among(pages.c.id))
)


class Decision(NamedTuple):
    """Reviews that were made at once in the browser.

    Args:
        number: of the decision.
        answers: that were given.
        done: what became of them.
        told: what was done, in a few words.
        is_undo: whether it undid another one.
    """

    number: int
    answers: Sequence[Answer]
    done: Reviewed
    told: str
    is_undo: bool


class Decisions:
    """Reviews that were made since the application began, of which the last can be undone."""

    def __init__(self) -> None:
        self._made: dict[int, Decision] = {}
        self._number = 0
        self._deciding = threading.Lock()

    def get(self, number: int | None) -> Decision | None:
        """Decision of a number, where it is remembered."""
        return None if number is None else self._made.get(number)

    def review(
        self,
        session: Session,
        answers: Sequence[Answer],
        seen: str,
        formerly: Mapping[int, int] | None = None,
        *,
        is_undo: bool = False,
    ) -> Decision:
        """Write the reviews of some pairs: all of them, or none.

        Args:
            session: of the store.
            answers: URLs of stored pages, and how they are reviewed.
            seen: `version` of the pairs that were shown.
            formerly: ids of the originals of many duplicates, by theirs.
            is_undo: whether this undoes another decision.

        Raises:
            RequestError: the pairs or their reviews are not those any more.
        """

        def require(before: Sequence[Review | None]) -> None:
            if version(answers, before) != seen:
                raise RequestError(_CHANGED, 409)

        with self._deciding:
            done = review_pairs(session, answers, session.fitting_rules, require)
            told = f"Undone, {count(len(answers), 'pair')}"
            if not is_undo:
                told = _told(answers, done, formerly)
            self._number += 1
            decision = Decision(self._number, answers, done, told, is_undo)
            self._made[self._number] = decision
            self._made.pop(self._number - _MAX_REMEMBERED, None)
        return decision

    def undo(self, session: Session, number: int | None) -> Decision:
        """Write the reviews that pairs had before a decision.

        Raises:
            RequestError: the decision is no longer remembered, or a pair was reviewed again.
        """
        decision = self.get(number)
        if decision is None:
            raise RequestError("this review cannot be undone here any more", 404)
        answers = [
            Answer(one.a, one.b, *((None, None) if then is None else (then.same, then.note)))
            for one, then in zip(decision.answers, decision.done.before, strict=True)
        ]
        return self.review(session, answers, version(answers, decision.done.after), is_undo=True)


def version(pairs: Sequence[Answer], reviews: Sequence[Review | None]) -> str:
    """Mark that tells some pairs and their reviews from others."""
    marks = [
        (pair.a, pair.b, None if one is None else (one.same, one.created.timestamp(), one.note))
        for pair, one in zip(pairs, reviews, strict=True)
    ]
    return hashlib.sha256(repr(marks).encode()).hexdigest()


def _told(answers: Sequence[Answer], done: Reviewed, formerly: Mapping[int, int] | None) -> str:
    """Say what was done, and what became of the groups of many pairs."""
    pairs, same = count(len(answers), "pair"), answers[0].same
    told = f"Reviewed {pairs} as {'same' if same else 'different'}"
    if same is None:
        told = f"Removed the {count(len(answers), 'review')}"
    if formerly is None:
        return told
    now = [
        done.originals[duplicate]
        for duplicate, original in formerly.items()
        if done.originals.get(duplicate, original) != original
    ]
    if not now:
        return f"{told}. All pages stay in their groups."
    alone = now.count(None)
    left = count(len(now), "page has left its group", "pages have left their groups")
    return f"{told}. {left}: {count(alone, 'original')} now, {len(now) - alone:,} in other groups."


def show_many(session: Session, query: Mapping[str, str]) -> dict[str, Any]:
    """Pairs of a filter or a group, and what becomes of them if they are reviewed."""
    url = query.get("url")
    original = None if url is None else stored_page(Store(session), url)
    original_id = None if original is None else original.id
    with session.reading() as connection:
        found = first_pairs(connection, asked_of(query), MAX_PAIRS_AT_ONCE, original_id)
        ids = [duplicate for _, duplicate in found.pairs]
        pairs, _ = _pairs_of(connection, ids, None)
        reviews = reviews_of(connection, [one[:2] for one in pairs])
        shown = slice(None, None, max(1, -(-len(ids) // SAMPLE_SHOWN)))
        sample = pages_of(connection, found.pairs[shown])
    answers = Counter(None if one is None else one.same for one in reviews)
    return {
        "found": found,
        "ids": ",".join(map(str, ids)),
        "reviewed": {"same": answers[True], "different": answers[False], "none": answers[None]},
        "sample": [(*pair, review) for pair, review in zip(sample, reviews[shown], strict=True)],
        "seen": version(pairs, reviews),
        "original": original,
    }


def review_many(
    decisions: Decisions, session: Session, form: Mapping[str, str], same: bool | None
) -> Decision:
    """Review the pairs that a page has shown.

    Raises:
        RequestError: they are no pairs any more, or somebody else has reviewed one.
    """
    given = needed(form, "pairs")
    if not _IDS.fullmatch(given) or given.count(",") >= MAX_PAIRS_AT_ONCE:
        raise RequestError("the form is not one that these pages make")
    ids = [int(one) for one in given.split(",")]
    with session.reading() as connection:
        answers, formerly = _pairs_of(connection, ids, same, form.get("note"))
    if len(formerly) < len(ids):
        raise RequestError(_CHANGED, 409)
    return decisions.review(session, answers, form.get("seen", ""), formerly)


def _pairs_of(
    connection: Connection, ids: Sequence[int], same: bool | None, note: str | None = None
) -> tuple[list[Answer], dict[int, int]]:
    """Answers for the pairs of duplicates with these ids, and the ids of their originals now."""
    found = {
        duplicate: (original, Answer(a, b, same, note))
        for part in chunked(ids)
        for duplicate, original, a, b in connection.execute(_PAIRS, {"values": part})
    }
    present = {one: found[one] for one in ids if one in found}
    answers = [answer for _, answer in present.values()]
    return answers, {one: original for one, (original, _) in present.items()}
