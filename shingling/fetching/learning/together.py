"""Parameters that always come together: to drop them is one change.

A shop writes five parameters into each recommended link. No URL has one of them without the others,
so that nothing is ever seen of a single one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from shingling.fetching.learning.changes import DROP_PARAMETER, DROP_TOGETHER, Change, is_nameable
from shingling.fetching.learning.parts import name_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from shingling.fetching.learning.parts import Parts

_MAX_NAMES = 1_024  # of a site


class ParametersTogether:
    """Names of the parameters of a site, and which of them always come together."""

    def __init__(self) -> None:
        self._with: dict[str, frozenset[str]] = {}  # what each one has always come with

    def note_names(self, parts: Parts) -> None:
        """Note the parameters of a URL."""
        names = frozenset(map(name_of, parts.query))
        for name in names:
            if name in self._with or len(self._with) < _MAX_NAMES:
                self._with[name] = names & self._with.get(name, names)

    def changes(self, names: Iterable[str]) -> Iterator[Change]:
        """Yield the changes that drop one of the parameters together with all others."""
        for together in {self._together_with(name) for name in names}:
            change = Change(DROP_TOGETHER, "&".join(sorted(together)))
            if len(together) > 1 and is_nameable(change.what):
                yield change

    def _together_with(self, name: str) -> frozenset[str]:
        """Find the parameters that have always come with one, and it with them."""
        others = self._with.get(name, frozenset())
        return frozenset(other for other in others if name in self._with.get(other, ()))

    def around(self, changes: Iterable[Change]) -> Iterator[Change]:
        """Yield the changes that drop what others drop, with all that comes together with it."""
        return self.changes(change.what for change in changes if change.kind == DROP_PARAMETER)
