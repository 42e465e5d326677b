"""Reviews that are made in the browser, and how to undo them."""

from __future__ import annotations

import hashlib
import threading
from itertools import count
from typing import TYPE_CHECKING, NamedTuple

from shingling.admin.reviews import Answer, review_pairs
from shingling.store import Store
from shingling.web.pairs import stored_page
from shingling.web.requests import RequestError, needed

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from shingling.store import Review
    from shingling.store.session import Session

MAX_NOTE_CHARACTERS = 2000
_MAX_REMEMBERED = 1000  # the last decisions, which can be undone
_ANSWERS = {"same": True, "different": False, "none": None}
_CHANGED = (
    "somebody else has reviewed or changed this meanwhile, and nothing is written: look at it again"
)


class Decision(NamedTuple):
    """A review that was made in the browser.

    Args:
        number: of the decision.
        answer: that was given.
        before: review of the pair before it.
        after: review of the pair after it.
        is_undo: whether it undid another one.
    """

    number: int
    answer: Answer
    before: Review | None
    after: Review | None
    is_undo: bool


class Decisions:
    """Reviews that were made after the application began, of which the last can be undone."""

    def __init__(self) -> None:
        self._made: dict[int, Decision] = {}
        self._numbers = count(1)
        self._deciding = threading.Lock()

    def get(self, number: int | None) -> Decision | None:
        """Decision of a number, if it is remembered."""
        return None if number is None else self._made.get(number)

    def review(self, session: Session, form: Mapping[str, str]) -> Decision:
        """Review the pair that a page has shown.

        Raises:
            RequestError: the form is none of ours, or the pair is not as it was shown.
        """
        answer, note = needed(form, "answer"), form.get("note")
        if answer not in _ANSWERS:
            raise RequestError("a review is same, different or none")
        if note is not None and len(note) > MAX_NOTE_CHARACTERS:
            raise RequestError(f"a note has {MAX_NOTE_CHARACTERS:,} characters at most")
        a, b = (stored_page(Store(session), needed(form, name)).url for name in ("a", "b"))
        return self._write(session, Answer(a, b, _ANSWERS[answer], note), form.get("seen", ""))

    def undo(self, session: Session, number: int | None) -> Decision:
        """Write the review that a pair had before a decision.

        Raises:
            RequestError: the decision is no longer remembered, or the pair was reviewed again.
        """
        decision = self.get(number)
        if decision is None:
            raise RequestError("this review cannot be undone here any more", 404)
        (a, b, *_), then = decision.answer, decision.before
        answer = Answer(a, b, None, None)
        if then is not None:
            answer = Answer(a, b, then.same, then.note)
        return self._write(session, answer, version(a, b, decision.after), is_undo=True)

    def _write(
        self, session: Session, answer: Answer, seen: str, *, is_undo: bool = False
    ) -> Decision:
        def require(before: Sequence[Review | None]) -> None:
            if version(answer.a, answer.b, before[0]) != seen:
                raise RequestError(_CHANGED, 409)

        with self._deciding:
            done = review_pairs(session, [answer], session.fitting_rules, require)
            [before], [after] = done.before, done.after
            decision = Decision(next(self._numbers), answer, before, after, is_undo)
            self._made[decision.number] = decision
            self._made.pop(decision.number - _MAX_REMEMBERED, None)
        return decision


def version(a: str, b: str, review: Review | None) -> str:
    """Mark that tells a pair of URLs and its review from others."""
    said = None if review is None else (review.same, review.created.timestamp(), review.note)
    return hashlib.sha256(repr((a, b, said)).encode()).hexdigest()
