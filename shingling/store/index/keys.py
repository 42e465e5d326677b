"""What the originals of a store are found by."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Protocol

from shingling.errors import BandingError
from shingling.rules.defaults import DEFAULT_CONTAINMENT
from shingling.rules.methods import DEFAULT_METHOD, METHODS, Keys
from shingling.rules.rules import Rules
from shingling.sketch import FUNCTIONS, SUPERSHINGLES, Banding, Halves
from shingling.store.model import IndexShape

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shingling.sketch import Minima, Scheme


class Signed(Protocol):
    """A signature, or a row that holds one."""

    @property
    def minima(self) -> Minima:
        """Minima: uint32[84]."""

    @property
    def simhash(self) -> int:
        """SimHash, without a sign."""


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
        """Cheapest index that finds what these rules look for."""
        keys_of: Banding | Halves
        keys = METHODS[rules.method].keys
        if keys is Keys.SIMHASH_HALVES:
            keys_of = Halves(scheme.simhash.bits)
        elif keys is Keys.SUPERSHINGLES:
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

    @property
    def shape(self) -> IndexShape:
        """What the table `scheme` keeps of it."""
        if isinstance(self.keys_of, Halves):
            return IndexShape("simhash", 2, self.keys_of.width, self.sampled)
        return IndexShape("minima", self.keys_of.bands, self.keys_of.rows, self.sampled)

    def columns(self) -> dict[str, str | int | bool]:
        """Columns of the table `scheme`."""
        return self.shape._asdict()

    def keys(self, pages: Sequence[Signed]) -> list[list[int]]:
        """Keys that pages are stored under."""
        if isinstance(self.keys_of, Halves):
            keys = self.keys_of.keys([page.simhash for page in pages])
        else:
            keys = self.keys_of.keys([page.minima for page in pages])
        found: list[list[int]] = keys.tolist()
        return found

    @property
    def probes_are_keys(self) -> bool:
        """Whether pages are looked up under the keys that they are stored under."""
        return isinstance(self.keys_of, Banding)

    def probes(self, pages: Sequence[Signed], rules: Rules) -> list[list[int]]:
        """Keys under which pages find those that may be like them."""
        if not isinstance(self.keys_of, Halves):
            return self.keys(pages)
        simhashes = [page.simhash for page in pages]
        probes: list[list[int]] = self.keys_of.probes(simhashes, rules.simhash_distance).tolist()
        return probes

    def usual_rules(self) -> Rules:
        """Default rules of the method that the index is for."""
        keys = Keys.BANDS if isinstance(self.keys_of, Banding) else Keys.SIMHASH_HALVES
        method = next(name for name, one in METHODS.items() if one.keys is keys)
        return Rules(method=method, containment=DEFAULT_CONTAINMENT if self.sampled else None)

    def require(self, rules: Rules) -> None:
        """Check that the index finds what these rules look for.

        Raises:
            BandingError: it does not; the message names the command that makes another.
        """
        problem = self._problem(rules)
        if problem:
            same = isinstance(self.keys_of, Banding) and rules.method == DEFAULT_METHOD
            options = "" if same else f" --method {rules.method}"
            if METHODS[rules.method].threshold:
                options += f" --threshold {rules.threshold:g}"
            if self.sampled or rules.containment is not None:
                options += " --containment"
            raise BandingError(f"{problem}: run `scrapy dedup rebuild{options}` once")

    def _problem(self, rules: Rules) -> str | None:
        keys = METHODS[rules.method].keys
        if keys is None:
            return None
        if rules.containment is not None and not self.sampled:
            return "the store has no samples of its pages, which DEDUP_CONTAINMENT looks up"
        if isinstance(self.keys_of, Halves):
            if keys is not Keys.SIMHASH_HALVES:
                return f"the store is indexed by SimHash, not for the method {rules.method}"
            return None
        if keys is Keys.SIMHASH_HALVES:
            return f"the store is indexed by minima, not for the method {rules.method}"
        banding = self.keys_of
        if keys is Keys.SUPERSHINGLES:
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
