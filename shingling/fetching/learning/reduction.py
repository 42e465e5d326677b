"""A URL is reduced by the changes that make no difference where it is."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from shingling.fetching.learning.changes import (
    DROP_PARAMETER,
    DROP_PATH_PARAMETER,
    DROP_VALUE,
    SORT,
    Change,
    apply,
    path_parameters,
)
from shingling.fetching.learning.evidence import chain_of
from shingling.fetching.learning.parts import Parts, name_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from shingling.fetching.learning.site_rules import SiteRules

_MAX_STEPS_OF_PATH = 8


class Step(NamedTuple):
    """A change that was applied to a URL.

    Args:
        change: the change.
        dropped: what exactly it dropped, so that two URLs can be compared.
        node: where it was judged.
        risk: probability that it loses something there.
    """

    change: Change
    dropped: str
    node: str
    risk: float


class Reduced(NamedTuple):
    """A reduced URL, and how it came about."""

    parts: Parts
    steps: tuple[Step, ...]

    @property
    def key(self) -> int:
        """64-bit hash of the reduced URL, of this process."""
        return hash(self.parts)


def reduce(
    parts: Parts, rules: SiteRules, max_risk: float, also: Collection[Change] = ()
) -> Reduced:
    """Apply to a URL all changes whose risk is small enough, and some others in any case."""
    steps: list[Step] = []
    for _ in range(_MAX_STEPS_OF_PATH):
        for change in _of_path(parts, rules, also):
            changed = apply(change, parts)
            if changed is None:
                continue
            chain = chain_of(changed.segments)
            risk = rules.risk(change, chain)
            if risk <= max_risk or change in also:
                dropped = (
                    parts.scheme if changed.segments == parts.segments else _first(parts, changed)
                )
                steps.append(Step(change, dropped, chain[-1], risk))
                parts = changed
                break
        else:
            break
    if parts.query:
        chain = chain_of(parts.segments)
        parts = _reduce_query(parts, chain, rules, max_risk, also, steps)
    return Reduced(parts, tuple(steps))


def _of_path(parts: Parts, rules: SiteRules, also: Iterable[Change]) -> Iterable[Change]:
    for name in path_parameters(parts.segments):
        yield Change(DROP_PATH_PARAMETER, name)
    yield from rules.of_path
    if rules.by_segment:
        for segment in parts.segments:
            yield from rules.by_segment.get(segment, ())
    for change in also:
        if change.kind not in (DROP_PARAMETER, DROP_VALUE, SORT.kind):
            yield change


def _first(before: Parts, after: Parts) -> str:
    """Place and text of the first segment that was changed."""
    for number, segment in enumerate(before.segments):
        if number >= len(after.segments) or after.segments[number] != segment:
            return f"{number} {segment}"
    return ""


def _reduce_query(
    parts: Parts,
    chain: tuple[str, ...],
    rules: SiteRules,
    max_risk: float,
    also: Collection[Change],
    steps: list[Step],
) -> Parts:
    kept = []
    trees = rules.trees
    for one in parts.query:
        name, _, value = one.partition("=")
        for change in (Change(DROP_PARAMETER, name), Change(DROP_VALUE, name, value)):
            tree = trees.get(change)
            risk = tree.risk(chain) if tree else 1.0
            if risk <= max_risk or change in also:
                steps.append(Step(change, one, chain[-1], risk))
                break
        else:
            kept.append(one)
    query = tuple(kept)
    ordered = tuple(sorted(query))
    if query != ordered:
        risk = rules.risk(SORT, chain)
        if risk <= max_risk or SORT in also:
            steps.append(Step(SORT, "&".join(map(name_of, query)), chain[-1], risk))
            query = ordered
    return parts if query == parts.query else parts._replace(query=query)
