"""Evidence about all changes of a site, and URLs reduced by those that make no difference."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING

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
    Reduced,
    Step,
    apply,
    masked,
    names_of,
    path_parameters,
    read_change,
)
from shingling.fetching.learning.evidence import ROOT, Tree, path_nodes, path_to
from shingling.fetching.learning.pages import Contradiction, RuleCounts, UrlRule
from shingling.fetching.learning.parts import Parts, name_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from shingling.fetching.learning.evidence import NodePath
    from shingling.fetching.learning.memory import Memory
    from shingling.fetching.learning.pages import Skip

_MAX_CHANGES = 256  # of a site, about which evidence is kept
_MAX_STEPS_OF_PATH = 8
_BY_SEGMENT = (DROP_LAST, DROP_SEGMENT, DROP_PAIR, EXCHANGE_SEGMENT)
_OF_QUERY = (DROP_TOGETHER, DROP_PARAMETER, DROP_VALUE, SORT.kind)

_versions = count()  # of the rules of all sites


class SiteRules:
    """Evidence about the changes of a site.

    Args:
        site: its name: host, without `www.`.
        max_risk: a change acts up to this expected share of lost pages.
        never: changes that never act.
        memory: that it shares with other sites.

    Attributes:
        trees: the evidence.
    """

    def __init__(
        self, site: str, max_risk: float, never: frozenset[Change], memory: Memory
    ) -> None:
        self.site = site
        self.max_risk = max_risk
        self._never = never
        self.trees: dict[Change, Tree] = {}
        self._acting = set[Change]()  # somewhere on the site
        self._stopped: list[Contradiction] = []  # since the last `take_stopped`
        self._of_path: list[Change] = []
        self._together: list[Change] = []
        self._by_segment: dict[str, list[Change]] = {}
        self.memory = memory
        self._version = next(_versions)

    def risk(self, change: Change, path: NodePath) -> float:
        """Estimate the share of pages that a change loses at a path; 1 if nothing is known."""
        tree = self.trees.get(change)
        return tree.risk(path) if tree else 1.0

    def reduce(self, parts: Parts, also: Collection[Change] = ()) -> Reduced:
        """Apply to a URL all changes whose risk is small enough, and some others in any case."""
        if also:
            return self._reduce(parts, also)
        key = self._version, parts
        reduced = self.memory.reduced.get(key)
        if reduced is None:
            reduced = self._reduce(parts, ())
            self.memory.reduced.put(key, reduced)
        return reduced

    def _reduce(self, parts: Parts, also: Collection[Change]) -> Reduced:
        steps: list[Step] = []
        while len(steps) < _MAX_STEPS_OF_PATH and (first := self._first_step(parts, also)):
            parts, step = first
            steps.append(step)
        return Reduced(self._reduce_query(parts, also, steps), tuple(steps))

    def _first_step(self, parts: Parts, also: Collection[Change]) -> tuple[Parts, Step] | None:
        """Apply the first change that may be applied to all but the query."""
        for change in self._may_change(parts, also):
            changed = apply(change, parts)
            if changed is not None:
                path = path_nodes(changed.segments)
                if step := self._step(change, path, also, _dropped(parts, changed)):
                    return changed, step
        return None

    def _step(
        self, change: Change, path: NodePath, also: Collection[Change], dropped: str
    ) -> Step | None:
        """Make a step of a change; None if it is too risky at a path."""
        risk = self.risk(change, path)
        return Step(change, dropped, risk) if risk <= self.max_risk or change in also else None

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
        names = "&".join(map(name_of, query))
        if query != ordered and (step := self._step(SORT, path, also, names)):
            steps.append(step)
            query = ordered
        return parts._replace(query=query)

    def _together_in(self, query: Sequence[str], also: Iterable[Change]) -> dict[str, Change]:
        """Find the changes that drop several parameters, all of which a query has, by each name."""
        known = [*self._together, *(change for change in also if change.kind == DROP_TOGETHER)]
        there = {*map(name_of, query)}
        return {
            name: change
            for change in known
            if (names := names_of(change)) and there >= {*names}
            for name in names
        }

    def _drop(
        self,
        parameter: str,
        path: NodePath,
        also: Collection[Change],
        together: Mapping[str, Change],
    ) -> Step | None:
        """Drop a parameter of a query, or its value; None if it stays."""
        name, _, value = parameter.partition("=")
        alone = (Change(DROP_PARAMETER, name), Change(DROP_VALUE, name, value))
        for change in filter(None, (together.get(name), *alone)):
            is_tried = change in self._acting or change in also
            if is_tried and (step := self._step(change, path, also, parameter)):
                return step
        return None

    def agree(self, change: Change, path: NodePath, content: int, count_urls: bool = False) -> bool:
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
        if max(tree.risk(path[:1]), tree.risk(path)) <= self.max_risk:
            tree.agree(path, content, count_urls)
            return False
        before = self._acts_on(tree, path)
        if not tree.agree(path, content, count_urls) or before == self._acts_on(tree, path):
            return False
        self._renew([change])
        return True

    def _acts_on(self, tree: Tree, path: NodePath) -> set[tuple[int, str]]:
        """Find the nodes at which a change acts: at each depth of a path, and right below it."""
        acting = set[tuple[int, str]]()
        for depth, key in enumerate(path, 1):
            above, node = path[:depth], tree.nodes.get(key)
            paths = [above, *((*above, child) for child in (node.children if node else ()))]
            acting |= {(depth, way[-1]) for way in paths if tree.risk(way) <= self.max_risk}
        return acting

    def contradict(self, change: Change, path: NodePath, content: int, share: float = 1.0) -> bool:
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
        if before <= self._acts_on(tree, path):
            return False
        self._stopped.append(Contradiction(self.site, change.text))
        return True

    def take_stopped(self) -> list[Contradiction]:
        """Take the changes that have stopped to act somewhere since the last call."""
        stopped, self._stopped = self._stopped, []
        return stopped

    def count(self, skip: Skip) -> None:
        """Count a request that is skipped, or explored."""
        for change in map(read_change, skip.rules):
            if change and change in self.trees:
                self.trees[change].count_request(is_explored=skip.explore)

    def load(self, saved: Iterable[RuleCounts]) -> None:
        """Add what was saved. Rows that make no sense are passed over."""
        for row in saved:
            change = read_change(row.change)
            tree = self._tree(change) if change and row.node.startswith(ROOT) else None
            if tree:
                tree.load(row.node, *(max(0, number) for number in row[3:]))
        self._renew(self.trees)

    def take_changes(self) -> list[RuleCounts]:
        """Take what has been counted since the last call."""
        return [
            RuleCounts(self.site, change.text, node, *added)
            for change, tree in self.trees.items()
            # A value that was seen once does not recur.
            if change.kind != DROP_VALUE or tree.root.agreed > 1 or any(tree.root.saved)
            for node, added in tree.changes()
        ]

    def for_people(self) -> list[UrlRule]:
        """All rules with their evidence, those of the same change together."""
        return [
            UrlRule(
                self.site,
                change.text,
                key,
                node.agreed,
                node.contradicted,
                risk := tree.risk(path_to(key)),
                risk <= self.max_risk,
                node.skipped,
                node.explored,
            )
            for change, tree in sorted(self.trees.items())
            for key, node in sorted(tree.nodes.items())
        ]

    def _tree(self, change: Change) -> Tree | None:
        """Evidence about a change; None if it never acts, or if there is no room for another."""
        tree = self.trees.get(change)
        if tree is None:
            is_full = len(self.trees) >= _MAX_CHANGES
            if self._is_never_made(change) or (is_full and not self._make_room()):
                return None
            tree = self.trees[change] = Tree(change, self.memory.counted)
        return tree

    def _is_never_made(self, change: Change) -> bool:
        single = (Change(DROP_PARAMETER, name) for name in names_of(change))
        return change in self._never or (
            change.kind == DROP_TOGETHER and not self._never.isdisjoint(single)
        )

    def _renew(self, changes: Iterable[Change]) -> None:
        """Note which of some changes act now, and sort all that act by where they are applied."""
        self._version = next(_versions)
        before = frozenset(self._acting)
        self._acting &= self.trees.keys()
        for change in changes:
            if self.trees[change].acts(self.max_risk):
                self._acting.add(change)
            else:
                self._acting.discard(change)
        if self._acting == before:
            return
        self._of_path, self._by_segment = [], {}
        self._together = [change for change in self._acting if change.kind == DROP_TOGETHER]
        for change in sorted(self._acting, key=lambda change: ORDER[change.kind]):
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
        return True


def _dropped(before: Parts, after: Parts) -> str:
    """Tell two URLs apart that a change makes equal: the segments that it is about."""
    if len(before.segments) != len(after.segments):
        return "/".join(before.segments)
    return "/".join(x for x, y in zip(before.segments, after.segments, strict=True) if x != y)
