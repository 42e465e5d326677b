"""Pages of pairs that are found in the background, to be reviewed one after another."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from shingling.store import Store
from shingling.web.shown import link

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from shingling.admin.audit import Drop
    from shingling.admin.rebuild import Change
    from shingling.store.session import Session
    from shingling.web.store_threads import LongRead, Steps, StoreThreads

_T = TypeVar("_T")


@dataclass(frozen=True)
class Walk:
    """Pairs of a list, to be reviewed one after another.

    Args:
        page: path of the list.
        asked: field of an address that names this walk, and its value.
        pairs: in their order.
        said: of each, whether the two are the same; None if that is not reviewed.
    """

    page: str
    asked: tuple[str, object]
    pairs: Sequence[Change | Drop]
    said: list[bool | None]

    @property
    def answers(self) -> list[bool]:
        """What is said of those that are reviewed."""
        return [one for one in self.said if one is not None]

    @property
    def rows(self) -> list[dict[str, Any]]:
        """Rows of a list, each with what is said of it."""
        return [
            {**one._asdict(), "other": one.other, "same": same}
            for one, same in zip(self.pairs, self.said, strict=True)
        ]

    @property
    def first(self) -> str | None:
        """Address of the first pair that is not reviewed; None if all are."""
        return self._from(0)

    def after(self, a: str, b: str) -> str:
        """Address of the next pair that is not reviewed, or of the list."""
        pairs = [{one.url, one.other} for one in self.pairs]
        return self._from(pairs.index({a, b}) + 1 if {a, b} in pairs else 0) or self.page

    def address(self, a: str, b: str) -> str:
        """Address of a pair: the other page, and the page."""
        return link("/pair", [("a", a), ("b", b), self.asked])

    def _from(self, start: int) -> str | None:
        waiting = (n for n, same in enumerate(self.said) if n >= start and same is None)
        pair = next((self.pairs[n] for n in waiting), None)
        return None if pair is None else self.address(pair.other, pair.url)


class WalkPage(Generic[_T]):
    """The page of the pairs that were found last.

    Args:
        name: of the page, and of the field of an address that names a walk.
        stores: whose threads find the pairs.
        pairs: takes them out of what was found.
    """

    def __init__(
        self, name: str, stores: StoreThreads, pairs: Callable[[_T], Sequence[Change | Drop]]
    ) -> None:
        self.name = name
        self._stores = stores
        self._pairs = pairs
        self._starting = threading.Lock()
        self.last: LongRead[_T] | None = None

    def begin(self, read: Callable[[Session, Steps], _T], asked: Any) -> LongRead[_T]:
        """Begin to find pairs, unless some are being found."""
        with self._starting:
            if self.last is None or self.last.future.done():
                self.last = self._stores.begin(read, asked)
            return self.last

    def walk(self, session: Session, query: Mapping[str, str] | None = None) -> Walk | None:
        """Take the pairs that were found last; None before, and if a query asks for others."""
        last = self.last
        found = None if last is None else last.found()[0]
        if last is None or found is None:
            return None
        if query is not None and query.get(self.name) != str(last.asked):
            return None
        since = last.begun.replace(microsecond=0)  # reviews have whole seconds
        reviews = (one for one in Store(session).admin.reviews() if one.created >= since)
        said = {frozenset((one.a, one.b)): one.same for one in reviews}
        pairs = self._pairs(found)
        answers = [said.get(frozenset((one.url, one.other))) for one in pairs]
        return Walk(f"/{self.name}", (self.name, last.asked), pairs, answers)
