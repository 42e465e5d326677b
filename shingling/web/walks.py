"""Pages of pairs that are found in the background, to be reviewed one after another."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from shingling.store.store import Store
from shingling.web.shown import link

if TYPE_CHECKING:
    from collections.abc import Callable

    from shingling.store.session import Session
    from shingling.web.requests import Fields, Values
    from shingling.web.store_threads import LongRead, Steps, StoreThreads

_T = TypeVar("_T")


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
    """

    name: str

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
