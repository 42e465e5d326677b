"""What an examination of a store has found, and what it has mended."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

KINDS = {
    "database": "what the database itself reports",
    "row": "pages with impossible values",
    "signature": "signatures that are not what was written",
    "text": "texts that cannot be read",
    "group": "pages whose place in their group is impossible",
    "index": "pages that are not found by their own keys, keys of others, filters",
    "orphan": "texts without a page, left-overs of a rebuild",
    "site": "entries of sites that cannot be read",
    "run": "runs with impossible values, or that pages name and that are not there",
    "review": "reviews with impossible values",
    "fetches": "rules on URLs, fetched pages and skipped requests with impossible values",
}
"""Kinds of damage, in the order in which they are shown."""

MAX_EXAMPLES = 20  # of each kind


@dataclass
class Findings:
    """Damage that was found in a store.

    Args:
        pages: that were examined.
        lacking_checksum: signatures that an older release has written, without one.
        found, mended: numbers by kind.
        lost: pages whose signature cannot be made again, since their text is not kept.
        examples: the first ones of each kind.
    """

    pages: int = 0
    lacking_checksum: int = 0
    found: Counter[str] = field(default_factory=Counter)
    mended: Counter[str] = field(default_factory=Counter)
    lost: list[str] = field(default_factory=list)
    number_lost: int = 0
    examples: dict[str, list[str]] = field(default_factory=dict)

    def note(self, kind: str, *names: str, number: int | None = None) -> None:
        """Note damage of a kind by the names of what is damaged, or by its number."""
        self.found[kind] += len(names) if number is None else number
        examples = self.examples.setdefault(kind, [])
        examples.extend(names[: MAX_EXAMPLES - len(examples)])

    def note_lost(self, name: str) -> None:
        """Note a page whose signature is lost."""
        self.number_lost += 1
        if len(self.lost) < MAX_EXAMPLES:
            self.lost.append(name)

    @property
    def is_sound(self) -> bool:
        """Whether nothing is damaged."""
        return not self.found.total()

    @property
    def is_mended(self) -> bool:
        """Whether all that was damaged is mended."""
        return all(self.mended[kind] >= number for kind, number in self.found.items())

    def as_dict(self) -> dict[str, Any]:
        """Convert the findings to values that JSON has."""
        return {
            "pages": self.pages,
            "sound": self.is_sound,
            "damaged": {kind: self.found[kind] for kind in KINDS},
            "mended": {kind: self.mended[kind] for kind in KINDS},
            "lacking_checksum": self.lacking_checksum,
            "lost": self.number_lost,
            "lost_pages": self.lost,
            "examples": {kind: self.examples.get(kind, []) for kind in KINDS},
        }
