"""What the originals of a store are found by."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Protocol

from shingling.defaults import DEFAULT_CONTAINMENT
from shingling.errors import BandingError
from shingling.sketch import FUNCTIONS, SUPERSHINGLES, Banding, Halves
from shingling.store.rules import Rules

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shingling.sketch import Minima, Scheme


class Signed(Protocol):
    """A signature, or a row that holds one."""

    @property
    def minima(self) -> Minima:
        """Return the minima: uint32[84]."""

    @property
    def simhash(self) -> int:
        """Return the SimHash, without a sign."""


@dataclass(frozen=True)
class Index:
    """Bands of minima, or halves of SimHashes; and samples of shingles, or not.

    Args:
        keys_of: what makes a page's keys.
        sampled: whether pieces of pages are found as well.
    """

    keys_of: Banding | Halves
    sampled: bool = False

    @classmethod
    def for_rules(cls, rules: Rules, scheme: Scheme) -> Index:
        """Return the cheapest index that finds what these rules look for."""
        keys_of: Banding | Halves
        if rules.method == "simhash":
            keys_of = Halves(scheme.simhash.bits)
        elif rules.method == "megashingle":
            keys_of = Banding(SUPERSHINGLES, FUNCTIONS // SUPERSHINGLES)
        else:
            keys_of = Banding.for_threshold(rules.threshold)
        return cls(keys_of, rules.containment is not None)

    @classmethod
    @cache
    def stored(cls, of: str, bands: int, rows: int, sampled: bool) -> Index:
        """Index that the columns of the table `scheme` tell."""
        keys_of = Halves(2 * rows) if of == "simhash" else Banding(bands, rows)
        return cls(keys_of, bool(sampled))  # equal arguments, such as 0, share what is cached

    def columns(self) -> dict[str, str | int | bool]:
        """Return what the table `scheme` keeps of it."""
        if isinstance(self.keys_of, Halves):
            of, bands, rows = "simhash", 2, self.keys_of.width
        else:
            of, bands, rows = "minima", self.keys_of.bands, self.keys_of.rows
        return {"indexed": of, "bands": bands, "rows": rows, "sampled": self.sampled}

    def __str__(self) -> str:
        shown = self.columns()
        unit = "bits of SimHashes" if shown["indexed"] == "simhash" else "minima"
        samples = ", and samples" if self.sampled else ""
        return f"{shown['bands']} x {shown['rows']} {unit}{samples}"

    def keys(self, pages: Sequence[Signed]) -> list[list[int]]:
        """Return the keys that pages are stored under."""
        if isinstance(self.keys_of, Halves):
            keys = self.keys_of.keys([page.simhash for page in pages])
        else:
            keys = self.keys_of.keys([page.minima for page in pages])
        found: list[list[int]] = keys.tolist()
        return found

    @property
    def probes_are_keys(self) -> bool:
        """Return whether pages are looked up under the keys that they are stored under."""
        return isinstance(self.keys_of, Banding)

    def probes(self, pages: Sequence[Signed], rules: Rules) -> list[list[int]]:
        """Return the keys under which pages find those that may be like them."""
        if not isinstance(self.keys_of, Halves):
            return self.keys(pages)
        simhashes = [page.simhash for page in pages]
        probes: list[list[int]] = self.keys_of.probes(simhashes, rules.simhash_distance).tolist()
        return probes

    def usual_rules(self) -> Rules:
        """Return the default rules of the method that the index is for."""
        method = "minhash" if isinstance(self.keys_of, Banding) else "simhash"
        return Rules(method=method, containment=DEFAULT_CONTAINMENT if self.sampled else None)

    def require(self, rules: Rules) -> None:
        """Check that the index finds what these rules look for.

        Raises:
            BandingError: it does not; the message names the command that makes another.
        """
        problem = self._problem(rules)
        if problem:
            same = isinstance(self.keys_of, Banding) and rules.method == "minhash"
            options = "" if same else f" --method {rules.method}"
            if "minhash" in rules.method:
                options += f" --threshold {rules.threshold:g}"
            if self.sampled or rules.containment is not None:
                options += " --containment"
            raise BandingError(f"{problem}: run `scrapy dedup rebuild{options}` once")

    def _problem(self, rules: Rules) -> str | None:
        if rules.method == "exact":
            return None
        if rules.containment is not None and not self.sampled:
            return "the store has no samples of its pages, which DEDUP_CONTAINMENT looks up"
        if isinstance(self.keys_of, Halves):
            if rules.method != "simhash":
                return f"the store is indexed by SimHash, not for the method {rules.method}"
            return None
        if rules.method == "simhash":
            return "the store is indexed by minima, not for the method simhash"
        banding = self.keys_of
        if rules.method == "megashingle":
            if banding.finds_supershingles:
                return None
            return f"bands of {banding.rows} minima do not find all equal supershingles"
        if banding.finds(rules.threshold):
            return None
        return (
            f"threshold {rules.threshold:g} lies below what the stored bands find"
            f" ({banding.bands} x {banding.rows} find"
            f" {banding.recall(rules.threshold):.0%} there)"
        )
