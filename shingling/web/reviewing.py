"""Reviews that are made in the browser, of one pair or of many at once, and how to undo them."""

from __future__ import annotations

import hashlib
import re
import threading
from collections import Counter
from itertools import count
from typing import TYPE_CHECKING, Any, NamedTuple

from sqlalchemy import select

from shingling.admin.reviews import Answer, Reviewed, review_pairs, reviews_of
from shingling.store import Store
from shingling.store.schema.statements import among, chunked
from shingling.store.schema.tables import pages
from shingling.web.lists import asked_of, first_pairs, pages_of
from shingling.web.pairs import stored_page
from shingling.web.requests import RequestError, needed

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sqlalchemy import Connection

    from shingling.store import Review
    from shingling.store.session import Session

MAX_NOTE_CHARACTERS = 2000
MAX_PAIRS_AT_ONCE = 1000
SAMPLE_SHOWN = 20
_MAX_REMEMBERED = 1000  # the last decisions, which can be undone
_ANSWERS = {"same": True, "different": False, "none": None}
_IDS = re.compile(r"[0-9]{1,18}(,[0-9]{1,18})*")
_CHANGED = (
    "somebody else has reviewed or changed this meanwhile, and nothing is written: look at it again"
)
_head = pages.alias("head")
_PAIRS = (
    select(pages.c.id, _head.c.url, pages.c.url)
    .join_from(pages, _head, pages.c.original_id == _head.c.id)
    .where(among(pages.c.id))
)


class Decision(NamedTuple):
    """Reviews that were made at once in the browser.

    Args:
        number: of the decision.
        answers: that were given.
        done: what became of them.
        is_undo: whether it undid another one.
    """

    number: int
    answers: Sequence[Answer]
    done: Reviewed
    is_undo: bool


class Decisions:
    """Reviews that were made since the application began, of which the last can be undone."""

    def __init__(self) -> None:
        self._made: dict[int, Decision] = {}
        self._numbers = count(1)
        self._deciding = threading.Lock()

    def get(self, number: int | None) -> Decision | None:
        """Decision of a number, where it is remembered."""
        return None if number is None else self._made.get(number)

    def review(self, session: Session, form: Mapping[str, str]) -> Decision:
        """Review the pair or the pairs that a page has shown: all of them, or none.

        Raises:
            RequestError: the form is none of ours, or the pairs are not as it has shown them.
        """
        answer, note = needed(form, "answer"), form.get("note")
        if answer not in _ANSWERS:
            raise RequestError("a review is same, different or none")
        if note is not None and len(note) > MAX_NOTE_CHARACTERS:
            raise RequestError(f"a note has {MAX_NOTE_CHARACTERS:,} characters at most")
        if "pairs" not in form:
            a, b = (stored_page(Store(session), needed(form, name)).url for name in ("a", "b"))
            pairs = [(a, b)]
        else:
            ids = _read_ids(form["pairs"])
            with session.reading() as connection:
                pairs = pairs_of(connection, ids)
            if len(pairs) < len(ids):
                raise RequestError(_CHANGED, 409)
        answers = [Answer(a, b, _ANSWERS[answer], note) for a, b in pairs]
        return self._write(session, answers, form.get("seen", ""))

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
        seen = version(answers, decision.done.after)
        return self._write(session, answers, seen, is_undo=True)

    def _write(
        self,
        session: Session,
        answers: Sequence[Answer],
        seen: str,
        *,
        is_undo: bool = False,
    ) -> Decision:
        def require(before: Sequence[Review | None]) -> None:
            if version(answers, before) != seen:
                raise RequestError(_CHANGED, 409)

        with self._deciding:
            done = review_pairs(session, answers, session.fitting_rules, require)
            decision = Decision(next(self._numbers), answers, done, is_undo)
            self._made[decision.number] = decision
            self._made.pop(decision.number - _MAX_REMEMBERED, None)
        return decision


def _read_ids(given: str) -> list[int]:
    """Ids of duplicates, as a form has them.

    Raises:
        RequestError: it is none of ours.
    """
    if not _IDS.fullmatch(given) or given.count(",") >= MAX_PAIRS_AT_ONCE:
        raise RequestError("the form is not one that these pages make")
    return [int(one) for one in given.split(",")]


def version(pairs: Sequence[Sequence[Any]], reviews: Sequence[Review | None]) -> str:
    """Mark that tells pairs, of which the URLs come first, and their reviews from others."""
    marks = [
        (*pair[:2], None if one is None else (one.same, one.created.timestamp(), one.note))
        for pair, one in zip(pairs, reviews, strict=True)
    ]
    return hashlib.sha256(repr(marks).encode()).hexdigest()


def show_many(session: Session, query: Mapping[str, str]) -> dict[str, Any]:
    """Pairs of a filter or a group, and what becomes of them if they are reviewed."""
    url = query.get("url")
    original = None if url is None else stored_page(Store(session), url)
    original_id = None if original is None else original.id
    with session.reading() as connection:
        found = first_pairs(connection, asked_of(query), MAX_PAIRS_AT_ONCE, original_id)
        ids = [duplicate for _, duplicate in found.pairs]
        pairs = pairs_of(connection, ids)
        reviews = reviews_of(connection, pairs)
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


def pairs_of(connection: Connection, ids: Sequence[int]) -> list[tuple[str, str]]:
    """URLs of the pairs of those of these pages that are duplicates."""
    rows = (row for part in chunked(ids) for row in connection.execute(_PAIRS, {"values": part}))
    found = {duplicate: (a, b) for duplicate, a, b in rows}
    return [found[one] for one in ids if one in found]
