"""Reviews that are made in the browser, and how to undo them."""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING

from shingling.store import Store
from shingling.web.pairs import find_review, stored_page
from shingling.web.requests import RequestError

if TYPE_CHECKING:
    from shingling.store import Review
    from shingling.store.session import Session

_MAX_REMEMBERED = 1000  # the last reviews, which can be undone
_CHANGED = "somebody else has reviewed this pair meanwhile: look at it again"


@dataclass(frozen=True)
class Decision:
    """A review that was made in the browser.

    Args:
        number: of the decision.
        a, b: URLs of the pair.
        before: review of the pair until then.
        after: review that was made; None where one was removed.
        is_undo: whether it undid another one.
    """

    number: int
    a: str
    b: str
    before: Review | None
    after: Review | None
    is_undo: bool = False

    @property
    def told(self) -> str:
        """What was done, in a few words."""
        done = "Removed the review" if self.after is None else f"Reviewed as {_named(self.after)}"
        return "Undone" if self.is_undo else done


class Decisions:
    """Reviews that were made since the application began, of which the last can be undone."""

    def __init__(self) -> None:
        self._made: OrderedDict[int, Decision] = OrderedDict()
        self._numbers = count(1)
        self._deciding = threading.Lock()

    def get(self, number: int | None) -> Decision | None:
        """Decision of a number, where it is remembered."""
        return None if number is None else self._made.get(number)

    def review(
        self, session: Session, a: str, b: str, answer: bool | None, note: str | None, seen: str
    ) -> Decision:
        """Write the review of a pair.

        Args:
            session: of the store.
            a: URL of a stored page.
            b: URL of another one.
            answer: whether they are the same; None removes the review.
            note: kept with it.
            seen: `version` of the review that was shown.

        Raises:
            RequestError: it is not the review of the pair any more, or a page is not stored.
        """
        for url in (a, b):
            stored_page(Store(session), url)
        with self._deciding:
            before = find_review(Store(session), a, b)
            if version(before) != seen:
                raise RequestError(_CHANGED, 409)
            return self._write(session, a, b, answer, note, before)

    def undo(self, session: Session, number: int | None) -> Decision:
        """Write the review that a pair had before a decision.

        Raises:
            RequestError: the decision is no longer remembered, or the pair was reviewed again.
        """
        with self._deciding:
            decision = self.get(number)
            if decision is None:
                raise RequestError("this review cannot be undone here any more", 404)
            before = find_review(Store(session), decision.a, decision.b)
            if version(before) != version(decision.after):
                raise RequestError(_CHANGED, 409)
            then = decision.before
            answer, note = (None, None) if then is None else (then.same, then.note)
            return self._write(session, decision.a, decision.b, answer, note, before, is_undo=True)

    def _write(
        self,
        session: Session,
        a: str,
        b: str,
        answer: bool | None,
        note: str | None,
        before: Review | None,
        *,
        is_undo: bool = False,
    ) -> Decision:
        store = Store(session)
        store.admin.review(a, b, same=answer, note=note)
        after = find_review(store, a, b)
        decision = Decision(next(self._numbers), a, b, before, after, is_undo)
        self._made[decision.number] = decision
        if len(self._made) > _MAX_REMEMBERED:
            self._made.popitem(last=False)
        return decision


def version(review: Review | None) -> str:
    """Mark that tells a review from an earlier or later one of its pair."""
    if review is None:
        return "none"
    return f"{_named(review)} {review.created.timestamp():.0f} {review.note or ''}"


def _named(review: Review) -> str:
    return "same" if review.same else "different"
