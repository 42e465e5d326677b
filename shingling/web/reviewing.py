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
from shingling.web.shown import link

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
    """What was reviewed at once in the browser.

    Args:
        number: of the decision.
        answers: that were given.
        before: review of each pair before it.
        after: review of each pair after it.
        is_undo: whether it undid another one.
    """

    number: int
    answers: list[Answer]
    before: list[Review | None]
    after: list[Review | None]
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
        """Review the pair that a page has shown, or those of a list that are ticked.

        Raises:
            RequestError: the form is none of ours, or a pair is not as it was shown.
        """
        said, note = needed(form, "answer"), form.get("note")
        if said not in _ANSWERS:
            raise RequestError("a review is same, different or none")
        if note is not None and len(note) > MAX_NOTE_CHARACTERS:
            raise RequestError(f"a note has {MAX_NOTE_CHARACTERS:,} characters at most")
        a = needed(form, "a")
        chosen = [
            value.partition(" ")[::2] for name, value in form.items() if name.startswith("tick.")
        ] or [(form.get("seen", ""), needed(form, "b", "tick a row first"))]
        if _ANSWERS[said] is not None:
            for url in (a, *(b for _, b in chosen)):
                stored_page(Store(session), url)
        answers = [Answer(a, b, _ANSWERS[said], note) for _, b in chosen]
        return self._write(session, answers, [seen for seen, _ in chosen])

    def undo(self, session: Session, number: int | None) -> Decision:
        """Write the reviews that pairs had before a decision.

        Raises:
            RequestError: the decision is no longer remembered, or a pair was reviewed again.
        """
        decision = self.get(number)
        if decision is None:
            raise RequestError("this review cannot be undone here any more", 404)
        answers, seen = [], []
        for (a, b, *_), then, now in zip(*decision[1:4], strict=True):
            undone = (None, None) if then is None else (then.same, then.note)
            answers.append(Answer(a, b, *undone))
            seen.append(version(a, b, now))
        return self._write(session, answers, seen, is_undo=True)

    def _write(
        self,
        session: Session,
        answers: list[Answer],
        seen: Sequence[str],
        *,
        is_undo: bool = False,
    ) -> Decision:
        def require(before: Sequence[Review | None]) -> None:
            for (a, b, *_), review, shown in zip(answers, before, seen, strict=True):
                if version(a, b, review) != shown:
                    raise RequestError(_CHANGED, 409, link("/pair", [("a", a), ("b", b)]))

        with self._deciding:
            done = review_pairs(session, answers, session.fitting_rules, require)
            decision = Decision(next(self._numbers), answers, *done, is_undo)
            self._made[decision.number] = decision
            self._made.pop(decision.number - _MAX_REMEMBERED, None)
        return decision


def version(a: str, b: str, review: Review | None) -> str:
    """Mark that tells a pair of URLs and its review from others."""
    said = None if review is None else (review.same, review.created.timestamp(), review.note)
    return hashlib.sha256(repr((a, b, said)).encode()).hexdigest()
