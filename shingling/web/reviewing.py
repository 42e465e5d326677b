"""Reviews that are made in the browser, and how to undo them."""

from __future__ import annotations

import hashlib
from itertools import count
from typing import TYPE_CHECKING, NamedTuple

from shingling.admin.reviews import ReviewAnswer, review_pairs
from shingling.web.requests import RequestError, needed_field
from shingling.web.shown import link

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shingling.admin.reviews import Reviewed
    from shingling.store.model import Review
    from shingling.store.session import Session
    from shingling.web.requests import Fields

MAX_NOTE_CHARACTERS = 2000
_MAX_REMEMBERED = 1000  # the last decisions, which can be undone
_ANSWERS = {"same": True, "different": False, "none": None}
_CHANGED = (
    "somebody else has reviewed or changed this meanwhile, and nothing is written: look at it again"
)


class ReviewDecision(NamedTuple):
    """What was reviewed at once in the browser.

    Args:
        number: of the decision.
        answers: that were given.
        done: review of each pair before and after it.
        is_undo: whether it undid another one.
    """

    number: int
    answers: list[ReviewAnswer]
    done: Reviewed
    is_undo: bool


class Decisions:
    """Reviews that were made after the application began, of which the last can be undone."""

    def __init__(self) -> None:
        self._made: dict[str, ReviewDecision] = {}
        self._numbers = count(1)

    def get(self, fields: Fields) -> ReviewDecision | None:
        """Decision whose number a query or form has, if it is remembered."""
        return self._made.get(fields.get("decided", ""))

    def review(self, session: Session, form: Fields) -> ReviewDecision:
        """Review the pair that a page has shown, or those of a list that are ticked.

        Raises:
            RequestError: the form is none of ours, or a pair is not as it was shown.
        """
        answer, note = needed_field(form, "answer"), form.get("note")
        if answer not in _ANSWERS:
            raise RequestError("a review is same, different or none")
        if note is not None and len(note) > MAX_NOTE_CHARACTERS:
            raise RequestError(f"a note has {MAX_NOTE_CHARACTERS:,} characters at most")
        a = needed_field(form, "a")
        chosen = [
            value.partition(" ")[::2] for name, value in form.items() if name.startswith("tick.")
        ] or [(form.get("seen", ""), needed_field(form, "b", "tick a row first"))]
        answers = [ReviewAnswer(a, b, _ANSWERS[answer], note) for _, b in chosen]
        return self._write(session, answers, [seen for seen, _ in chosen])

    def undo(self, session: Session, form: Fields) -> ReviewDecision:
        """Write the reviews that pairs had before a decision.

        Raises:
            RequestError: the decision is no longer remembered, or a pair was reviewed again.
        """
        decision = self.get(form)
        if decision is None:
            raise RequestError("this review cannot be undone here any more", 404)
        answers, seen = [], []
        for (a, b, *_), then, now in zip(decision.answers, *decision.done, strict=True):
            undone = (None, None) if then is None else (then.same, then.note)
            answers.append(ReviewAnswer(a, b, *undone))
            seen.append(version(a, b, now))
        return self._write(session, answers, seen, is_undo=True)

    def _write(
        self,
        session: Session,
        answers: list[ReviewAnswer],
        seen: Sequence[str],
        *,
        is_undo: bool = False,
    ) -> ReviewDecision:
        def require(before: Sequence[Review | None]) -> None:
            for (a, b, *_), review, shown in zip(answers, before, seen, strict=True):
                if version(a, b, review) != shown:
                    raise RequestError(_CHANGED, 409, link("/pair", {"a": a, "b": b}))

        done = review_pairs(session, answers, session.fitting_rules, require)
        session.database.checkpoint()
        number = next(self._numbers)
        decision = self._made[f"{number}"] = ReviewDecision(number, answers, done, is_undo)
        self._made.pop(f"{number - _MAX_REMEMBERED}", None)
        return decision


def version(a: str, b: str, review: Review | None) -> str:
    """Mark that tells a pair of URLs and its review from others."""
    return hashlib.sha256(repr((a, b, review)).encode()).hexdigest()
