"""Pairs that are reviewed one after another: what a threshold changes, and the riskiest drops."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from shingling.store import Store
from shingling.web.shown import link

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from shingling.admin.audit import Drop
    from shingling.admin.rebuild import Change
    from shingling.store.session import Session


@dataclass(frozen=True)
class Walk:
    """Pairs of a list, to be reviewed one after another.

    Args:
        page: path of the list.
        asked: field of an address that names this walk, and its value.
        pairs: in their order.
        said: of those that are reviewed, by their place: whether the two are the same.
    """

    page: str
    asked: tuple[str, object]
    pairs: Sequence[Change | Drop]
    said: dict[int, bool]

    @classmethod
    def of(
        cls,
        session: Session,
        page: str,
        asked: tuple[str, object],
        pairs: Sequence[Change | Drop],
        since: datetime,
    ) -> Walk:
        """Look up what is said of some pairs since they were listed."""
        since = since.replace(microsecond=0)  # reviews have whole seconds
        reviews = (one for one in Store(session).admin.reviews() if one.created >= since)
        said = {frozenset((one.a, one.b)): one.same for one in reviews}
        urls = (frozenset((one.url, one.other)) for one in pairs)
        places = {place: said[pair] for place, pair in enumerate(urls) if pair in said}
        return cls(page, asked, pairs, places)

    @property
    def rows(self) -> list[dict[str, Any]]:
        """Rows of a list, each with what is said of it."""
        shown = enumerate(self.pairs)
        return [{**one._asdict(), "other": one.other, "same": self.said.get(n)} for n, one in shown]

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
        for place, one in enumerate(self.pairs[start:], start):
            if place not in self.said:
                return self.address(one.other, one.url)
        return None
