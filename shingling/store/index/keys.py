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

    def extended(self, rules: Rules, scheme: Scheme) -> Index:
        """Index that finds what these rules look for, and samples as well, where this one has any.

        Bands never get more minima than they have here: the fewer, the more pairs are found.
        """
        keys_of = Index.for_rules(rules, scheme).keys_of
        sampled = self.sampled or rules.containment is not None
        if isinstance(self.keys_of, Banding) and isinstance(keys_of, Banding):
            rows = (one for one in range(self.keys_of.rows, 0, -1) if FUNCTIONS % one == 0)
            found = (Index(Banding(FUNCTIONS // one, one), sampled) for one in rows)
            return next(one for one in found if not one.shortfall(rules))
        return Index(keys_of, sampled)

    def require(self, rules: Rules) -> None:
        """Check that the index finds what these rules look for.

        Raises:
            BandingError: it does not; the message names the command that makes another.
        """
        if shortfall := self.shortfall(rules):
            raise BandingError(
                f"the index of the store finds {shortfall}: run `{self.command(rules)}` once"
            )

    def command(self, rules: Rules) -> str:
        """Command that makes an index for rules, with the samples that this one has."""
        same = isinstance(self.keys_of, Banding) and rules.method == DEFAULT_METHOD
        command = "scrapy dedup rebuild" + ("" if same else f" --method {rules.method}")
        if METHODS[rules.method].threshold:
            command += f" --threshold {rules.threshold:g}"
        if self.sampled or rules.containment is not None:
            command += " --containment"
        return command

    def shortfall(self, rules: Rules) -> str:
        """Say what the index finds instead of all that rules look for; empty: it finds that."""
        if METHODS[rules.method].keys is None:
            return ""
        missed = [self._shortfall_of_keys(rules)]
        if rules.containment is not None and not self.sampled:
            missed.append("no pieces of pages (DEDUP_CONTAINMENT)")
        return ", and ".join(filter(None, missed))

    def _shortfall_of_keys(self, rules: Rules) -> str:
        keys, banding = METHODS[rules.method].keys, self.keys_of
        if isinstance(banding, Halves):
            if keys is Keys.SIMHASH_HALVES:
                return ""
            return f"only pages whose SimHashes differ in at most {rules.simhash_distance} bits"
        resemblance = banding.reach
        if keys is Keys.BANDS:
            resemblance = rules.threshold
            if banding.finds(resemblance) or banding.rows == 1:  # no other one finds more
                return ""
        elif keys is Keys.SUPERSHINGLES and banding.finds_supershingles:
            return ""
        share = banding.recall(resemblance)
        return f"about {share:.0%} of the pages with a resemblance of {resemblance:.3g}"
