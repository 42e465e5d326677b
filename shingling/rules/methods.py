"""What can decide whether two pages are near-duplicates; importing it costs nothing."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Keys(Enum):
    """What the originals are found by, for a method."""

    BANDS = "bands of minima, as many as the threshold needs"
    SUPERSHINGLES = "supershingles: six bands of 14 minima"
    SIMHASH_HALVES = "halves of SimHashes"


@dataclass(frozen=True)
class Method:
    """A method: a page is a near-duplicate of an original where all that it asks for holds.

    Args:
        name: as `DEDUP_METHOD` has it.
        summary: how it decides, in a few words.
        keys: what it finds candidates by; None looks for exact duplicates only.
        threshold: whether it asks for a resemblance of `DEDUP_THRESHOLD`.
        distance: whether it asks for SimHashes within `DEDUP_SIMHASH_DISTANCE`, which verdicts
            tell then.
        supershingles: how many of the six have to be equal at least.
    """

    name: str
    summary: str
    keys: Keys | None
    threshold: bool = False
    distance: bool = False
    supershingles: int = 0


_METHODS = (
    Method("minhash", "by resemblance", Keys.BANDS, threshold=True),
    Method("megashingle", "by two of six equal supershingles", Keys.SUPERSHINGLES, supershingles=2),
    Method("simhash", "by distance", Keys.SIMHASH_HALVES, distance=True),
    Method("minhash+simhash", "where both agree", Keys.BANDS, threshold=True, distance=True),
    Method("exact", "for exact duplicates only", None),
)

METHODS = {method.name: method for method in _METHODS}
"""Methods by name."""

INDEXED_METHODS = tuple(name for name, method in METHODS.items() if method.keys is not None)
"""Names of those that a store is indexed for."""

DEFAULT_METHOD = "minhash"
