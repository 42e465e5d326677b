"""Pages of pairs that are found in the background, to be reviewed one after another: an audit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from shingling.admin.audit import Drops, riskiest_drops
from shingling.proportions import most_wrong, number_needed
from shingling.store.store import Store
from shingling.web.requests import part_of
from shingling.web.shown import link
from shingling.web.store_threads import PATIENCE

if TYPE_CHECKING:
    from collections.abc import Callable

    from shingling.store.indexing import Steps
    from shingling.store.session import Session
    from shingling.web.requests import Fields, Values
    from shingling.web.store_threads import LongRead, StoreThreads

_T = TypeVar("_T")
_FIRST, _SHARE = 20, 0.01  # duplicates looked at first, and the share of wrong ones aimed at


class Walk(NamedTuple):
    """Pairs of a list, to be reviewed one after another.

    Args:
        page: path of the list.
        address_fields: field of an address that names this walk, and its value.
        rows: the pairs, with `url` and `other`, and as `same` what is said of them.
    """

    page: str
    address_fields: Values
    rows: list[Values]

    @property
    def answers(self) -> list[bool]:
        """What is said of those that are reviewed."""
        return [row["same"] for row in self.rows if row["same"] is not None]

    def address(self, row: Values) -> str:
        """Address of a pair: the other page, and the page."""
        return link("/pair", {"a": row["other"], "b": row["url"], **self.address_fields})

    def following(self, *pair: str) -> str | None:
        """Address of the first pair that is not reviewed, behind a pair if one is named."""
        pairs = [{row["url"], row["other"]} for row in self.rows]
        start = pairs.index({*pair}) + 1 if {*pair} in pairs else 0
        return next((self.address(row) for row in self.rows[start:] if row["same"] is None), None)


class WalkPage(Generic[_T]):
    """The page of the pairs that were found last.

    Args:
        stores: whose threads find the pairs.

    Attributes:
        name: of the page, and of the field of an address that names a walk.
        shown: names of its values that are data.
    """

    name: str
    shown: tuple[str, ...]

    def __init__(self, stores: StoreThreads) -> None:
        self._stores = stores
        self.last: LongRead[_T] | None = None

    def rows(self, pairs: _T) -> list[Values]:
        """Make the rows of a walk of what was found."""
        raise NotImplementedError

    def begin(self, read: Callable[[Session, Steps], _T], requested: Any) -> LongRead[_T]:
        """Begin to find pairs, unless some are being found."""
        if self.last is None or self.last.future.done():
            self.last = self._stores.begin(read, requested)
        return self.last

    def walk(self, session: Session, query: Fields | None = None) -> Walk | None:
        """Take the pairs that were found last; None before, and if a query asks for others."""
        last = self.last
        pairs = None if last is None else last.found()[0]
        if last is None or pairs is None:
            return None
        if query is not None and query.get(self.name) != str(last.requested):
            return None
        since = last.begun.replace(microsecond=0)  # reviews have whole seconds
        reviews = Store(session).admin.reviews()
        answers = {
            frozenset((review.a, review.b)): review.same
            for review in reviews
            if review.created >= since
        }
        rows = [
            {**row, "same": answers.get(frozenset((row["url"], row["other"])))}
            for row in self.rows(pairs)
        ]
        return Walk(f"/{self.name}", {self.name: last.requested}, rows)


class AuditPage(WalkPage[Drops]):
    """Page of the duplicates that are wrong if any are; they stay until others are asked for."""

    name = "audit"
    shown = ("duplicates", "looked_at", "wrong", "at_most", "needed", "rows", "next")

    def rows(self, pairs: Drops) -> list[Values]:
        """Make a row of each of the riskiest duplicates."""
        return [drop._asdict() for drop in pairs.riskiest]

    def start(self, _: Fields) -> None:
        """List all duplicates anew, unless they are being listed."""
        self.begin(riskiest_drops, "yes")

    def show(self, session: Session, query: Fields) -> Values:
        """Show how far the audit is, and some of the duplicates."""
        audit = self.last or self.begin(riskiest_drops, "yes")
        drops, problem = audit.found(PATIENCE)
        walk = self.walk(session)
        answers = [] if walk is None else walk.answers
        looked_at, wrong = len(answers), answers.count(False)
        number = 0 if drops is None else drops.number
        return {
            "audit": audit,
            "problem": problem,
            "walk": walk,
            "duplicates": number,
            "looked_at": looked_at,
            "wrong": wrong,
            "at_most": most_wrong(wrong, looked_at) if looked_at else None,
            # Of more, nobody asks whether it is less than one in a hundred.
            "needed": number_needed(wrong, _SHARE) if wrong <= 100 else None,
            "first": min(_FIRST, number),
            "most_wrong": most_wrong,
            **part_of([] if walk is None else walk.rows, query),
        }
