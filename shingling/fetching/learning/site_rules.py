"""Evidence about all changes of a site: counted, saved, loaded, and shown to people."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from shingling.fetching.learning.changes import (
    DROP_EXTENSION,
    DROP_LAST,
    DROP_PAIR,
    DROP_SEGMENT,
    DROP_VALUE,
    EXCHANGE_SEGMENT,
    FOLD,
    HTTPS,
    LOWER,
    ORDER,
    SLASH,
    WWW,
    Change,
    read_change,
)
from shingling.fetching.learning.evidence import ROOT, Tree, chain_to
from shingling.fetching.learning.pages import RuleChange, UrlRule

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from shingling.fetching.learning.known import Belief
    from shingling.fetching.learning.pages import SavedRule, Skip

MAX_CHANGES = 256
"""Changes of a site about which evidence is kept."""

MAX_EXAMPLES = 3
"""Pairs of URLs that are kept of a change, for people: the last ones."""

_MAX_CONTENTS = 4_096  # of a change, after which it is not counted further
_MAX_NODE_CHARACTERS = 2_000
_MAX_PINS = 64  # of a change
_WEIGHT_OF_URL = 0.5  # pages, where a path has one page under every URL
_OF_WHOLE_PATH = (
    *(HTTPS.kind, WWW.kind, LOWER.kind, FOLD.kind, SLASH.kind),
    DROP_EXTENSION,
)
_BY_SEGMENT = (DROP_LAST, DROP_SEGMENT, DROP_PAIR, EXCHANGE_SEGMENT)


class SiteRules:
    """Evidence about the changes of a site, found by what they are about.

    Args:
        max_risk: a change acts up to this expected share of lost pages.
        belief: what other sites have shown of a change.
    """

    def __init__(self, max_risk: float, belief: Callable[[Change], Belief]) -> None:
        self.trees: dict[Change, Tree] = {}
        self.of_path: list[Change] = []
        self.by_segment: dict[str, list[Change]] = {}
        self._max_risk = max_risk
        self._belief = belief
        self._counts: dict[Change, list[int]] = {}
        self._new_counts: dict[Change, list[int]] = {}
        self._examples: dict[Change, deque[tuple[str, str]]] = {}

    def risk(self, change: Change, chain: tuple[str, ...]) -> float:
        """Estimate the share of pages that a change loses at a path; 1 where nothing is known."""
        tree = self.trees.get(change)
        return tree.risk(chain) if tree else 1.0

    def acts(self, change: Change, chain: tuple[str, ...]) -> bool:
        """Whether a change is applied at a path."""
        return self.risk(change, chain) <= self._max_risk

    def agree(
        self, change: Change, chain: tuple[str, ...], content: int, by_urls: bool = False
    ) -> bool:
        """Count a page that was the same; whether the change acts from now on.

        Args:
            change: that makes two URLs equal.
            chain: nodes of them.
            content: of the page; each one counts once.
            by_urls: the path has shown no other page, so that URLs count.
        """
        tree = self._tree(change)
        if tree is None or len(tree.seen) >= _MAX_CONTENTS:
            return False
        if content in tree.seen and not by_urls:
            return False
        acted = self.acts(change, chain)
        tree.agree(chain, _WEIGHT_OF_URL if content in tree.seen else 1.0)
        tree.seen.add(content)
        return not acted and self.acts(change, chain)

    def contradict(self, change: Change, chain: tuple[str, ...], content: int) -> str | None:
        """Count a page that would have been lost; the node where the change stops to act."""
        tree = self._tree(change)
        if tree is None or content in tree.against:
            return None
        if len(tree.against) < _MAX_CONTENTS:
            tree.against.add(content)
        prefixes = [chain[: end + 1] for end in range(len(chain))]
        acted = [self.acts(change, prefix) for prefix in prefixes]
        tree.contradict(chain)
        for prefix, before in zip(prefixes, acted, strict=True):
            if before and not self.acts(change, prefix):
                return prefix[-1]
        return None

    def claim(self, change: Change, chain: tuple[str, ...]) -> None:
        """Count a page whose canonical link claims that a change makes no difference."""
        if tree := self._tree(change):
            tree.claim(chain)

    def pin(self, change: Change, node: str, allowed: bool | None) -> None:
        """Note a person's word: a change always (True) or never acts, or evidence decides."""
        tree = self._tree(change, pinned=True)
        if tree is None:
            return
        if allowed is None:
            tree.pins.pop(node, None)
        elif len(tree.pins) < _MAX_PINS:
            tree.pins[node] = allowed

    def count(self, skip: Skip, url: str) -> None:
        """Count a request that is skipped, or explored."""
        for text in skip.rules:
            if change := read_change(text):
                self._new_counts.setdefault(change, [0, 0])[skip.explore] += 1
                examples = self._examples.setdefault(change, deque(maxlen=MAX_EXAMPLES))
                examples.append((url, skip.page))

    def load(self, saved: Iterable[SavedRule]) -> None:
        """Add what was saved. Rows that make no sense are passed over."""
        touched = set()
        for row in saved:
            change = read_change(row.change)
            if change is None or not row.node.startswith(ROOT):
                continue
            if len(row.node) > _MAX_NODE_CHARACTERS:
                continue
            if row.pinned is not None:
                self.pin(change, row.node, row.pinned)
            tree = self._tree(change)
            if tree is None:
                continue
            tree.load(row.node, max(0, row.agreed), max(0, row.contradicted))
            touched.add(change)
            counts = self._counts.setdefault(change, [0, 0])
            counts[0] += row.saved
            counts[1] += row.explored
        for change in touched & self.trees.keys():  # some may have made room for others
            self.trees[change].settle()

    def take_changes(self, site: str) -> list[RuleChange]:
        """Take what has been counted since the last call."""
        taken = []
        for change, tree in self.trees.items():
            if change.kind == DROP_VALUE and not tree.recurs:
                continue
            saved, explored = self._new_counts.get(change, (0, 0))
            for node, agreed, contradicted in tree.changes():
                counts = (agreed, contradicted, *((saved, explored) if node == ROOT else (0, 0)))
                if node == ROOT:
                    saved = explored = 0
                if any(counts):
                    taken.append(RuleChange(site, change.text, node, *counts))
            if saved or explored:
                taken.append(RuleChange(site, change.text, ROOT, 0, 0, saved, explored))
        for change, new in self._new_counts.items():
            counts_before = self._counts.setdefault(change, [0, 0])
            counts_before[0] += new[0]
            counts_before[1] += new[1]
        self._new_counts.clear()
        return taken

    def for_people(self, site: str) -> list[UrlRule]:
        """All rules with their evidence, those of the same change together."""
        return [
            self._rule(site, change, tree, node)
            for change, tree in sorted(self.trees.items())
            for node in sorted({*tree.nodes, *tree.pins})
        ]

    def _rule(self, site: str, change: Change, tree: Tree, node: str) -> UrlRule:
        chain = chain_to(node)
        risk = tree.risk(chain)
        counts = tree.nodes.get(node)
        saved, explored = (
            sum(one.get(change, (0, 0))[place] for one in (self._counts, self._new_counts))
            if node == ROOT
            else 0
            for place in (0, 1)
        )
        return UrlRule(
            site,
            change.text,
            node,
            counts.agreed if counts else 0.0,
            counts.contradicted if counts else 0.0,
            risk,
            risk <= self._max_risk,
            saved,
            explored,
            tree.pins.get(node),
            tuple(self._examples.get(change, ())) if node == ROOT else (),
        )

    def _tree(self, change: Change, pinned: bool = False) -> Tree | None:
        """Evidence about a change; None where there is no room for another one."""
        tree = self.trees.get(change)
        if tree is None:
            if len(self.trees) >= MAX_CHANGES and not self._make_room(pinned):
                return None
            tree = self.trees[change] = Tree(change, self._belief(change))
            if change.kind in _BY_SEGMENT:
                self.by_segment.setdefault(change.what, []).append(change)
                self.by_segment[change.what].sort(key=lambda one: ORDER[one.kind])
            elif change.kind in _OF_WHOLE_PATH:
                self.of_path.append(change)
                self.of_path.sort(key=lambda one: ORDER[one.kind])
        return tree

    def _make_room(self, in_any_case: bool) -> bool:
        """Forget the change about which least is known, if that is next to nothing."""

        def known(change: Change) -> tuple[float, Change]:
            root = self.trees[change].nodes[ROOT]
            return (root.agreed + root.contradicted, change)

        unpinned = [change for change, tree in self.trees.items() if not tree.pins]
        least = min(unpinned, key=known, default=None)
        if least is None or (known(least)[0] > 1 and not in_any_case):
            return False
        del self.trees[least]
        for counted in (self._counts, self._new_counts, self._examples):
            counted.pop(least, None)
        if least in self.of_path:
            self.of_path.remove(least)
        elif least.kind in _BY_SEGMENT:
            self.by_segment[least.what].remove(least)
            if not self.by_segment[least.what]:
                del self.by_segment[least.what]
        return True
