"""Evidence about all changes of a site, and URLs reduced by those that make no difference."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING

from shingling.fetching.learning.changes import (
    DROP_SEGMENT,
    DROP_VALUE,
    EXCHANGE_SEGMENT,
    AppliedChange,
    Reduced,
    UrlChange,
    apply,
    changes_of,
    dropped_between,
    in_order,
    read_change,
    words_of,
)
from shingling.fetching.learning.evidence import Tree
from shingling.fetching.learning.pages import AddedCounts, Contradiction, RuleCounts, UrlRule
from shingling.fetching.learning.parts import ROOT, path_to, split

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from shingling.fetching.learning.memory import Memory
    from shingling.fetching.learning.pages import Skip
    from shingling.fetching.learning.parts import NodePath, Parts

_MAX_CHANGES = 256  # of a site, about which evidence is kept
_MAX_PASSES = 4  # of all changes over a URL: one may be right below what another one makes of it

_versions = count()  # of the rules of all sites


class SiteRules:
    """Evidence about the changes of a site.

    Args:
        max_risk: a change acts up to this expected share of lost pages.
        never: changes that never act.
        memory: that it shares with other sites.

    Attributes:
        trees: the evidence.
        version: another one whenever a change acts, or stops to act.
    """

    def __init__(self, max_risk: float, never: frozenset[UrlChange], memory: Memory) -> None:
        self.max_risk = max_risk
        self._never = never
        self.trees: dict[UrlChange, Tree] = {}
        self._acting: dict[UrlChange, None] = {}  # somewhere on the site, as they are applied
        self._stopped: list[str] = []  # since the last `take_stopped`
        self.memory = memory
        self.version = next(_versions)

    def risk(self, change: UrlChange, path: NodePath) -> float:
        """Estimate the share of pages that a change loses at a path; 1 if nothing is known."""
        tree = self.trees.get(change)
        return tree.risk(path) if tree else 1.0

    def reduce(self, parts: Parts, also: Collection[UrlChange] = ()) -> Reduced:
        """Apply to a URL all changes whose risk is small enough, and some others in any case."""
        steps: list[AppliedChange] = []
        for _ in range(_MAX_PASSES):
            before, words = parts, words_of(parts)
            for change in (*self._acting, *also):
                changed = apply(change, parts) if change.what in words else None
                if changed is None:
                    continue
                risk = self.risk(change, changed.nodes)
                if risk <= self.max_risk or change in also:
                    steps.append(AppliedChange(change, dropped_between(parts, changed), risk))
                    parts = changed
            if parts == before:
                break
        return Reduced(parts, tuple(steps))

    def key(self, link: str, also: Collection[UrlChange] = ()) -> int:
        """Key of what a link is reduced to, by the rules and some other changes."""
        parts = split(link)
        return hash(link) if parts is None else self.reduce(parts, also).key

    def forms(self, parts: Parts) -> dict[int, list[tuple[UrlChange, ...]]]:
        """Find the keys of a URL as it is, without its query, and by one more change each.

        The rules that act are applied in any case. A URL without its query leads to pages with
        other parameters.

        Returns:
            Changes that are made beside the rules that act, one or none, by the key of the result.
        """
        reduced = self.reduce(parts).parts
        plain = (reduced, reduced._replace(query=()))
        forms: dict[int, list[tuple[UrlChange, ...]]] = {hash(form): [()] for form in plain}
        # Which segments may be exchanged or dropped, no URL tells by itself: other pairs have.
        by_others = [
            change for change in self.trees if change.kind in (EXCHANGE_SEGMENT, DROP_SEGMENT)
        ]
        for change, changed in changes_of(reduced, by_others).items():
            forms.setdefault(self.reduce(changed).key, []).append((change,))
        return forms

    def steps_between(
        self, own: Parts, other: Parts, also: Collection[UrlChange] = ()
    ) -> list[AppliedChange]:
        """Find the steps that make two URLs equal, by the rules and some others, if any do."""
        ours = self.reduce(own, also)
        theirs = self.reduce(other, also)
        if theirs.parts != ours.parts:
            return []
        differing = sorted({*ours.steps} ^ {*theirs.steps})
        return [*{step.change: step for step in differing}.values()]

    def agree(
        self,
        change: UrlChange,
        path: NodePath,
        content: int,
        is_new: bool = True,
        count_urls: bool = False,
    ) -> None:
        """Count a page that was the same.

        Args:
            change: that makes two URLs equal.
            path: nodes of them.
            content: of the page; each one counts once.
            is_new: no earlier crawl has met it.
            count_urls: the path has shown no other page, so that URLs count.
        """
        tree = self._tree(change)
        if tree is None:
            return
        is_trusted = max(tree.risk(path[:1]), tree.risk(path)) <= self.max_risk
        before = set() if is_trusted else tree.acting(self.max_risk, path)
        if (
            tree.agree(path, content, is_new, count_urls)
            and not is_trusted
            and before != tree.acting(self.max_risk, path)
        ):
            self._renew([change])

    def contradict(
        self, change: UrlChange, path: NodePath, content: int, share: float = 1.0
    ) -> None:
        """Count a page that would have been lost.

        Args:
            change: that makes two URLs equal.
            path: nodes of them.
            content: of the page; each one counts once.
            share: probability that it was this change, and no other one, that has lost it.
        """
        tree = self._tree(change)
        if tree is None:
            return
        before = tree.acting(self.max_risk, path)
        if not tree.contradict(path, content, share) or not before:
            return
        self._renew([change])
        if not before <= tree.acting(self.max_risk, path):
            self._stopped.append(change.text)

    def take_stopped(self, site: str) -> list[Contradiction]:
        """Take the changes that have stopped to act somewhere on a site since the last call."""
        stopped, self._stopped = self._stopped, []
        return [Contradiction(site, change) for change in stopped]

    def count(self, skip: Skip) -> None:
        """Count a request that is skipped, or explored."""
        for change in map(read_change, skip.rules):
            if change and change in self.trees:
                self.trees[change].count_request(is_explored=skip.explore)

    def load_counts(self, saved: Iterable[RuleCounts]) -> None:
        """Add what was saved. Rows that make no sense are passed over."""
        for row in saved:
            change = read_change(row.change)
            tree = self._tree(change) if change and row.node.startswith(ROOT) else None
            if tree:
                tree.load_node(row.node, *row[3:])
        self._renew(self.trees)

    def take_changes(self, site: str) -> list[RuleCounts]:
        """Take what has been counted since the last call, with the name of the site."""
        taken: list[RuleCounts] = []
        for change, tree in self.trees.items():
            # A value that was seen once does not recur.
            if change.kind == DROP_VALUE and tree.root.agreed <= 1 and not any(tree.root.saved):
                continue
            for node, added in tree.changes():
                counts = AddedCounts(site, change.text, node, *added)
                counts.known = tree.nodes[node].saved[0] - counts.agreed
                taken.append(counts)
        return taken

    def for_people(self, site: str) -> list[UrlRule]:
        """All rules of a site with their evidence, those of the same change together."""
        return [
            UrlRule(
                site,
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

    def _tree(self, change: UrlChange) -> Tree | None:
        """Evidence about a change; None if it never acts, or if there is no room for another."""
        tree = self.trees.get(change)
        if tree is None:
            is_full = len(self.trees) >= _MAX_CHANGES
            if change in self._never or (is_full and not self._make_room()):
                return None
            tree = self.trees[change] = Tree(change, self.memory.counted)
        return tree

    def _renew(self, changes: Iterable[UrlChange]) -> None:
        """Note which of some changes act now, and sort all that act by where they are applied."""
        self.version = next(_versions)
        acting = self.trees.keys() & self._acting
        for change in changes:
            if self.trees[change].acting(self.max_risk):
                acting.add(change)
            else:
                acting.discard(change)
        self._acting = dict.fromkeys(in_order(acting))

    def _make_room(self) -> bool:
        """Forget the change about which least is known, if that is next to nothing."""

        def known(change: UrlChange) -> tuple[float, UrlChange]:
            root = self.trees[change].root
            return (root.agreed + root.contradicted, change)

        least = min(self.trees, key=known)
        if known(least)[0] > 1:
            return False
        del self.trees[least]
        return True
