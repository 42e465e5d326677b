"""Reviews that are made in the browser, and how to undo them."""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING

from shingling.admin.reviews import Answer, Reviewed, review_pairs
from shingling.web.requests import RequestError
from shingling.web.shown import count as counted

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from shingling.store import Review
    from shingling.store.session import Session

_MAX_REMEMBERED = 1000  # the last decisions, which can be undone
_CHANGED = "somebody else has reviewed this pair meanwhile: look at it again"
_SOME_CHANGED = (
    "somebody else has reviewed some of these pairs meanwhile, and nothing is written: look at"
    " them again"
)


@dataclass(frozen=True)
class Decision:
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
    is_undo: bool = False


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
        self,
        session: Session,
        answers: Sequence[Answer],
        seen: str,
        formerly: Mapping[int, int] | None = None,
    ) -> Decision:
        """Write the reviews of some pairs: all of them, or none.

        Args:
            session: of the store.
            answers: URLs of stored pages, and one and the same review of all of them.
            seen: `version` of the reviews that were shown.
            formerly: ids of the originals of many duplicates, by theirs; None for a single pair.

        Raises:
            RequestError: one of them is not the review of its pair any more.
        """
        same = answers[0].same
        if formerly is None:
            told = "Removed the review" if same is None else f"Reviewed as {_named(same)}"
            return self._write(session, answers, seen, lambda _: told)
        pairs = counted(len(answers), "pair")
        many = f"Reviewed {pairs} as {_named(bool(same))}"
        begun = f"Removed the reviews of {pairs}" if same is None else many
        return self._write(
            session, answers, seen, lambda done: f"{begun}. {_moved(done, formerly)}"
        )

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
        seen = version(decision.done.after)
        told = "Undone" if len(answers) == 1 else f"Undone, {counted(len(answers), 'pair')}"
        return self._write(session, answers, seen, lambda _: told, is_undo=True)

    def _write(
        self,
        session: Session,
        answers: Sequence[Answer],
        seen: str,
        told: Callable[[Reviewed], str],
        *,
        is_undo: bool = False,
    ) -> Decision:
        def require(before: Sequence[Review | None]) -> None:
            if version(before) != seen:
                raise RequestError(_CHANGED if len(answers) == 1 else _SOME_CHANGED, 409)

        with self._deciding:
            done = review_pairs(session, answers, session.fitting_rules, require)
            decision = Decision(next(self._numbers), answers, done, told(done), is_undo)
            self._made[decision.number] = decision
            if len(self._made) > _MAX_REMEMBERED:
                self._made.popitem(last=False)
        return decision


def version(reviews: Sequence[Review | None]) -> str:
    """Mark that tells reviews of some pairs from earlier or later ones."""
    marks = [
        "none"
        if one is None
        else f"{_named(one.same)} {one.created.timestamp():.0f} {one.note or ''}"
        for one in reviews
    ]
    if len(marks) == 1:
        return marks[0]
    return hashlib.sha256("\0".join(marks).encode("utf-8", "replace")).hexdigest()


def _moved(done: Reviewed, formerly: Mapping[int, int]) -> str:
    """Say what became of the groups of some pairs."""
    now = [
        done.originals[duplicate]
        for duplicate, original in formerly.items()
        if done.originals.get(duplicate, original) != original
    ]
    if not now:
        return "All pages stay in their groups."
    alone = now.count(None)
    left = counted(len(now), "page has left its group", "pages have left their groups")
    return f"{left}: {counted(alone, 'original')} now, {len(now) - alone:,} in other groups."


def _named(same: bool) -> str:
    return "same" if same else "different"
