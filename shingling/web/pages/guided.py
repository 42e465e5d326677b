"""A guided sample: pairs that tell most about a threshold, one after another.

The ids of its pages are all that there is of it. They are in the address of each of its pages, so
that it goes on after a restart and while crawls write, and in two browsers at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from shingling.store.admin.looking.guided import guided_pairs
from shingling.web.requests import RequestError
from shingling.web.shown import link

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from shingling.store.admin.looking.guided import GuidedPair
    from shingling.store.session import Session

MAX_PAIRS = 100
_MAX_CHARACTERS = 42 * MAX_PAIRS  # two ids of up to 19 digits, and what stands between them
_LARGEST_ID = 2**63 - 1


@dataclass(frozen=True)
class GuidedSample:
    """A guided sample, and how far a person has come.

    Args:
        pairs: those that tell most first.
        kept: fields of the query that it goes on by.
    """

    pairs: list[GuidedPair]
    kept: dict[str, str]

    @property
    def reviewed(self) -> int:
        """Number of pairs that are reviewed."""
        return sum(pair.reviewed for pair in self.pairs)

    @property
    def progress(self) -> str:
        """How far a person has come, in words."""
        return f"{self.reviewed} of {len(self.pairs)} reviewed"

    @property
    def end(self) -> str:
        """Address of the page that it ends on."""
        return link("/threshold", self.kept.items())

    @property
    def first(self) -> str | None:
        """Address of the first pair that is not reviewed; None where all are."""
        waiting = [pair for pair in self.pairs if not pair.reviewed]
        return self._address(waiting[0]) if waiting else None

    def after(self, a: str, b: str) -> str:
        """Address of the next pair that is not reviewed, or of the end."""
        places = [place for place, pair in enumerate(self.pairs) if {pair.a, pair.b} == {a, b}]
        start = places[0] + 1 if places else 0
        waiting = [pair for pair in self.pairs[start:] if not pair.reviewed]
        return self._address(waiting[0]) if waiting else self.end

    def _address(self, pair: GuidedPair) -> str:
        return link("/pair", [("a", pair.a), ("b", pair.b), *self.kept.items()])


def guided_sample(session: Session, fields: Mapping[str, str]) -> GuidedSample | None:
    """Read the guided sample that a query or form asks for; None where it asks for none.

    Raises:
        RequestError: it is none that our pages make.
    """
    if not fields.get("sample"):
        return None
    ids = _read(fields["sample"])
    with session.reading() as connection:
        return GuidedSample(guided_pairs(connection, ids), dict(fields))


def written(ids: Sequence[tuple[int, int]]) -> str:
    """Write the ids of the pages of pairs as a field of a query: `12-40.7-9`."""
    return ".".join(f"{first}-{second}" for first, second in ids)


def _read(sample: str) -> list[tuple[int, int]]:
    pairs = [pair.split("-") for pair in sample[:_MAX_CHARACTERS].split(".")]
    if (
        len(sample) <= _MAX_CHARACTERS
        and len(pairs) <= MAX_PAIRS
        and all(len(pair) == 2 and all(map(_is_id, pair)) for pair in pairs)
    ):
        return [(int(first), int(second)) for first, second in pairs]
    raise RequestError("this is no sample of pairs: begin another one on the page Threshold")


def _is_id(given: str) -> bool:
    return given.isascii() and given.isdigit() and len(given) < 20 and int(given) <= _LARGEST_ID
