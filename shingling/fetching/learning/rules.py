"""Evidence about all changes of a site, and URLs reduced by those that make no difference."""

from __future__ import annotations

from collections import Counter
from itertools import count
from typing import TYPE_CHECKING, NamedTuple

from shingling.fetching.learning.changes import (
    DROP_LAST,
    DROP_PAIR,
    DROP_PARAMETER,
    DROP_PATH_PARAMETER,
    DROP_SEGMENT,
    DROP_TOGETHER,
    DROP_VALUE,
    EXCHANGE_SEGMENT,
    ORDER,
    SORT,
    Change,
    apply,
    masked,
    names_of,
    path_parameters,
    read_change,
)
from shingling.fetching.learning.evidence import ROOT, Tree, path_nodes, path_to
from shingling.fetching.learning.pages import RuleCounts, UrlRule
from shingling.fetching.learning.parts import Parts, name_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from shingling.fetching.learning.pages import Skip
    from shingling.fetching.learning.recent import Recent, Table

MAX_CHANGES = 256
"""Changes of a site about which evidence is kept."""

_MAX_NODE_CHARACTERS = 2_000
_MAX_STEPS_OF_PATH = 8
_BY_SEGMENT = (DROP_LAST, DROP_SEGMENT, DROP_PAIR, EXCHANGE_SEGMENT)
_OF_QUERY = (DROP_TOGETHER, DROP_PARAMETER, DROP_VALUE, SORT.kind)

_versions = count()  # of the rules of all sites


class Step(NamedTuple):
    """A change that was applied to a URL.

    Args:
        change: the change.
        dropped: what exactly it dropped, so that two URLs can be compared.
        risk: probability that it loses something.
    """

    change: Change
    dropped: str
    risk: float


class Reduced(NamedTuple):
    """A reduced URL, and how it came about."""

    parts: Parts
    steps: tuple[Step, ...]

    @property
    def key(self) -> int:
        """64-bit hash of the reduced URL, of this process."""
        return hash(self.parts)


class SiteRules:
    """Evidence about the changes of a site.

    Args:
        max_risk: a change acts up to this expected share of lost pages.
        never: changes that never act.
        reduced: URLs of all sites that were reduced of late, by the version of the rules.
        counted: contents of pages of all sites that have counted for or against a change.
    """

    def __init__(
        self,
        max_risk: float,
        never: frozenset[Change],
        *,
        reduced: Recent[tuple[int, Parts], Reduced],
        counted: Table,
    ) -> None:
        self._never = never
        self.trees: dict[Change, Tree] = {}
        self._acting: set[Change] = set()  # somewhere on the site
        self._of_path: list[Change] = []
        self._together: list[Change] = []
        self._by_segment: dict[str, list[Change]] = {}
        self._max_risk = max_risk
        # Requests that were skipped or explored (True), in all, and since the last `take_changes`.
        self._counts: Counter[tuple[Change, bool]] = Counter()
        self._new_counts: Counter[tuple[Change, bool]] = Counter()
        self._reduced = reduced
        self._counted = counted
        self._version = next(_versions)

    def risk(self, change: Change, path: tuple[str, ...]) -> float:
        """Estimate the share of pages that a change loses at a path; 1 if nothing is known."""
        tree = self.trees.get(change)
        return tree.risk(path) if tree else 1.0

    def reduce(self, parts: Parts, also: Collection[Change] = ()) -> Reduced:
        """Apply to a URL all changes whose risk is small enough, and some others in any case."""
        if also:
            return self._reduce(parts, also)
        key = self._version, parts
        reduced = self._reduced.get(key)
        if reduced is None:
            reduced = self._reduce(parts, ())
            self._reduced.put(key, reduced)
        return reduced

    def _reduce(self, parts: Parts, also: Collection[Change]) -> Reduced:
        steps: list[Step] = []
        while len(steps) < _MAX_STEPS_OF_PATH and (found := self._first_step(parts, also)):
            parts, step = found
            steps.append(step)
        return Reduced(self._reduce_query(parts, also, steps), tuple(steps))

    def _first_step(self, parts: Parts, also: Collection[Change]) -> tuple[Parts, Step] | None:
        """Apply the first change that may be applied to all but the query."""
        for change in self._may_change(parts, also):
            changed = apply(change, parts)
            if changed is not None:
                risk = self.risk(change, path_nodes(changed.segments))
                if risk <= self._max_risk or change in also:
                    return changed, Step(change, _dropped(parts, changed), risk)
        return None

    def _may_change(self, parts: Parts, also: Iterable[Change]) -> Iterator[Change]:
        """Yield the changes that may be applied to all but the query."""
        for name in path_parameters(parts.segments):
            yield Change(DROP_PATH_PARAMETER, name)
        yield from self._of_path
        if self._by_segment:
            for segment in dict.fromkeys((*parts.segments, *map(masked, parts.segments[-1:]))):
                yield from self._by_segment.get(segment, ())
        for change in also:
            if change.kind not in _OF_QUERY:
                yield change

    def _reduce_query(self, parts: Parts, also: Collection[Change], steps: list[Step]) -> Parts:
        if not parts.query:
            return parts
        path = path_nodes(parts.segments)
        together = self._together_in(parts.query, also)
        kept = []
        for parameter in parts.query:
            if step := self._drop(parameter, path, also, together):
                steps.append(step)
            else:
                kept.append(parameter)
        query, ordered = tuple(kept), tuple(sorted(kept))
        if query != ordered:
            risk = self.risk(SORT, path)
            if risk <= self._max_risk or SORT in also:
                steps.append(Step(SORT, "&".join(map(name_of, query)), risk))
                query = ordered
        return parts._replace(query=query)

    def _together_in(self, query: Sequence[str], also: Iterable[Change]) -> dict[str, Change]:
        """Find the changes that drop several parameters, all of which a query has, by each name."""
        known = [*self._together, *(one for one in also if one.kind == DROP_TOGETHER)]
        there = {*map(name_of, query)} if known else set()
        return {
            name: change
            for change in known
            if (names := names_of(change)) and there >= {*names}
            for name in names
        }

    def _drop(
        self,
        parameter: str,
        path: tuple[str, ...],
        also: Collection[Change],
        together: Mapping[str, Change],
    ) -> Step | None:
        """Drop a parameter of a query, or its value; None if it stays."""
        name, _, value = parameter.partition("=")
        single = (Change(DROP_PARAMETER, name), Change(DROP_VALUE, name, value))
        for change in (together[name], *single) if name in together else single:
            if change in self._acting or change in also:
                risk = self.risk(change, path)
                if risk <= self._max_risk or change in also:
                    return Step(change, parameter, risk)
        return None

    def agree(
        self, change: Change, path: tuple[str, ...], content: int, count_urls: bool = False
    ) -> bool:
        """Count a page that was the same; whether the change acts from now on.

        Args:
            change: that makes two URLs equal.
            path: nodes of them.
            content: of the page; each one counts once.
            count_urls: the path has shown no other page, so that URLs count.
        """
        tree = self._tree(change)
        if tree is None:
            return False
        if max(tree.risk(path[:1]), tree.risk(path)) <= self._max_risk:
            tree.agree(path, content, count_urls)
            return False
        before = self._acts_on(tree, path)
        if not tree.agree(path, content, count_urls) or before == self._acts_on(tree, path):
            return False
        self._renew([change])
        return True

    def _acts_on(self, tree: Tree, path: tuple[str, ...]) -> set[tuple[int, str]]:
        """Find the nodes at which a change acts: at each depth of a path, and right below it."""
        found: set[tuple[int, str]] = set()
        for depth, key in enumerate(path, 1):
            above, node = path[:depth], tree.nodes.get(key)
            paths = [above, *((*above, child) for child in (node.children if node else ()))]
            found |= {(depth, one[-1]) for one in paths if tree.risk(one) <= self._max_risk}
        return found

    def contradict(
        self, change: Change, path: tuple[str, ...], content: int, share: float = 1.0
    ) -> bool:
        """Count a page that would have been lost; whether the change stops to act somewhere.

        Args:
            change: that makes two URLs equal.
            path: nodes of them.
            content: of the page; each one counts once.
            share: probability that it was this change, and no other one, that has lost it.
        """
        tree = self._tree(change)
        if tree is None:
            return False
        is_acting = change in self._acting
        before = self._acts_on(tree, path) if is_acting else set()
        if not tree.contradict(path, content, share) or not is_acting:
            return False
        self._renew([change])
        return not before <= self._acts_on(tree, path)

    def count(self, skip: Skip) -> None:
        """Count a request that is skipped, or explored."""
        for text in skip.rules:
            if change := read_change(text):
                self._new_counts[change, skip.explore] += 1

    def load(self, saved: Iterable[RuleCounts]) -> None:
        """Add what was saved. Rows that make no sense are passed over."""
        for row in saved:
            change = read_change(row.change)
            is_path = row.node.startswith(ROOT) and len(row.node) <= _MAX_NODE_CHARACTERS
            tree = self._tree(change) if change and is_path else None
            if change and tree:
                tree.load(row.node, max(0, row.agreed), max(0, row.contradicted))
                self._counts[change, False] += row.saved
                self._counts[change, True] += row.explored
        self._renew(self.trees)

    def take_changes(self, site: str) -> list[RuleCounts]:
        """Take what has been counted since the last call."""
        taken = []
        for change, tree in self.trees.items():
            if change.kind == DROP_VALUE and tree.root.agreed <= 1 and tree.root.saved == (0, 0):
                continue  # it does not recur
            taken += [RuleCounts(site, change.text, *counted) for counted in tree.changes()]
        new = self._new_counts
        for change in sorted({change for change, _ in new}):
            counted = new[change, False], new[change, True]
            taken.append(RuleCounts(site, change.text, ROOT, 0, 0, *counted))
        self._counts.update(new)
        new.clear()
        return taken

    def for_people(self, site: str) -> list[UrlRule]:
        """All rules with their evidence, those of the same change together."""
        found = []
        total = self._counts + self._new_counts
        for change, tree in sorted(self.trees.items()):
            requests = total[change, False], total[change, True]
            for key, node in sorted(tree.nodes.items()):
                risk = tree.risk(path_to(key))
                counts = (node.agreed, node.contradicted, risk, risk <= self._max_risk)
                of_site = requests if key == ROOT else (0, 0)
                found.append(UrlRule(site, change.text, key, *counts, *of_site))
        return found

    def _tree(self, change: Change) -> Tree | None:
        """Evidence about a change; None if it never acts, or if there is no room for another."""
        tree = self.trees.get(change)
        if tree is None:
            is_full = len(self.trees) >= MAX_CHANGES
            if self._is_never_made(change) or (is_full and not self._make_room()):
                return None
            tree = self.trees[change] = Tree(change, self._counted)
        return tree

    def _is_never_made(self, change: Change) -> bool:
        single = (Change(DROP_PARAMETER, name) for name in names_of(change))
        return change in self._never or (
            change.kind == DROP_TOGETHER and not self._never.isdisjoint(single)
        )

    def _renew(self, changes: Iterable[Change]) -> None:
        """Note which changes act, and those of a path by segment, in the order of their kinds."""
        self._version = next(_versions)
        before = frozenset(self._acting)
        self._acting &= self.trees.keys()
        for change in changes:
            if self.trees[change].acts(self._max_risk):
                self._acting.add(change)
            else:
                self._acting.discard(change)
        if self._acting == before:
            return
        self._of_path, self._by_segment = [], {}
        self._together = [one for one in self._acting if one.kind == DROP_TOGETHER]
        for change in sorted(self._acting, key=lambda one: ORDER[one.kind]):
            if change.kind in _BY_SEGMENT:
                self._by_segment.setdefault(change.what, []).append(change)
            elif change.kind not in (*_OF_QUERY, DROP_PATH_PARAMETER):
                self._of_path.append(change)

    def _make_room(self) -> bool:
        """Forget the change about which least is known, if that is next to nothing."""

        def known(change: Change) -> tuple[float, Change]:
            root = self.trees[change].root
            return (root.agreed + root.contradicted, change)

        least = min(self.trees, key=known)
        if known(least)[0] > 1:
            return False
        del self.trees[least]
        for key in ((least, False), (least, True)):
            del self._counts[key], self._new_counts[key]
        return True


def _dropped(before: Parts, after: Parts) -> str:
    """Tell two URLs apart that a change makes equal: the segments that it is about."""
    if len(before.segments) != len(after.segments):
        return "/".join(before.segments)
    return "/".join(x for x, y in zip(before.segments, after.segments, strict=True) if x != y)
