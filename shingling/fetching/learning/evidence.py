"""Evidence for and against a change, in a tree of paths, and the model that weighs it.

Evidence is counted by *pages* (distinct contents), not by URLs: a page that agreed was met under
two URLs that the change makes equal, a page that contradicted would have been lost by it. Each
piece counts at every node on the way from the root of the site to the path of the URL.

**The model.** Below a node, a change loses a share q of the pages that it drops:

    with probability p      q = 0
    with probability 1 - p  q ~ Beta(1, 1)

After n pages that agreed and none that contradicted, the expected share is

    risk = d / (n + 2),  with  d = (1 - p) / ((1 - p) + p (n + 1))

which for p = 1/2 is 1 / (n + 2)^2: 8 pages give 1 in 100. `known.prior_of` gives p.

As soon as k > 0 pages contradicted, q = 0 is out of the question, and the estimate is shrunk
towards the one of the parent, r (1 - p above the root):

    risk = (k + 2 r) / (n + k + 2)

Below such a node, a node without contradictions is judged by the first formula, with p multiplied
by the share of its siblings that have none, (c + 1) / (c + d + 2), at most 1/2, times 2.

What holds for one path says little about the next: a child adds at most `MAX_PAGES_OF_CHILD` pages
to the n of its parent, however many it has, so that a parameter that makes no difference to
`/reply` is not taken to make none to `/show`. A parameter whose name says which page is meant
(`id`, `page`) is judged by the path of the URL alone.

**Sites change.** With each page that contradicts, n and k are halved before it is counted:
k < 2, and ten contradictions outweigh a thousand pages.

**Sites resemble each other.** Where a change was contradicted by none of c other sites of a crawl,
and by some page of d others, p is (2 p + c) / (2 + c + d), at most 0.9; not so for segments of
paths, and for parameters whose names say which page is meant.

**Mirrors.** An exchanged segment says that one part of a site is a copy of another. The releases of
a manual share most of their pages, and a page that differs among those may be the only one of its
kind. So a single contradiction shows that there is no mirror, and stops the change on the site.

**One page under every URL.** Where all URLs of a path have shown one and the same page (a form to
log in), contents say nothing: there, each further URL counts as half a page.

`rel=canonical` links are claims, not evidence: m claims add min(n, m) / 2 to n.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from shingling.fetching.learning.known import is_of_content, is_of_mirrors

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from shingling.fetching.learning.changes import Change
    from shingling.fetching.learning.known import Belief

ROOT = "/"
MAX_DEPTH = 3
"""Segments of a path that have nodes of their own."""

MAX_PAGES_OF_CHILD = 5.0
MAX_CHILDREN = 48
MAX_NODES = 512
"""Nodes of a change."""

_WEIGHT_OF_PARENT = 2.0  # pages
_MIN_PAGES_TO_TELL = 8  # that agreed, and none that contradicted: other sites believe it sooner
_FORGOTTEN = 0.5  # share of all evidence, with each contradiction
_NEGLIGIBLE_PAGES = 1  # that agreed: so few at a node are not worth to be saved


class Node:
    """Counts below one path: pages, decayed by what contradicted them."""

    __slots__ = ("agreed", "children", "claimed", "contradicted", "mixed", "saved", "support")

    def __init__(self) -> None:
        self.agreed = 0.0
        self.contradicted = 0.0
        self.claimed = 0.0
        self.support = 0.0
        self.children: list[str] = []
        self.mixed = 0
        self.saved = (0, 0)  # agreed and contradicted, of this and former crawls


class Tree:
    """Evidence about one change of one site.

    Args:
        change: what it is about.
        belief: what other sites have shown of it.
    """

    __slots__ = (
        "_belief",
        "_told",
        "against",
        "changed",
        "exact_path_only",
        "is_of_mirrors",
        "nodes",
        "pins",
        "prior",
        "seen",
    )

    def __init__(self, change: Change, belief: Belief) -> None:
        self._belief = belief
        self._told: bool | None = None
        self.prior = belief.prior()
        self.exact_path_only = is_of_content(change)
        self.is_of_mirrors = is_of_mirrors(change)
        self.nodes: dict[str, Node] = {ROOT: Node()}
        self.pins: dict[str, bool] = {}
        self.changed: set[str] = set()
        self.seen: set[int] = set()
        self.against: set[int] = set()

    @property
    def is_contradicted(self) -> bool:
        """Whether the change has ever lost a page of the site."""
        return self.nodes[ROOT].contradicted > 0

    @property
    def recurs(self) -> bool:
        """Whether more than one page was the same, now or in what was saved."""
        root = self.nodes[ROOT]
        return root.agreed > 1 or root.saved != (0, 0)

    def risk(self, chain: Sequence[str]) -> float:
        """Estimate the share of pages that the change loses at the last node of a chain.

        Args:
            chain: `chain_of` the path.
        """
        if self.pins:
            for key in reversed(chain):
                if key in self.pins:
                    return 0.0 if self.pins[key] else 1.0
        if self.is_of_mirrors and self.is_contradicted:
            return 1.0
        prior, rate, least = self.prior, 1 - self.prior, 1.0
        last, siblings = chain[-1], None
        for key in chain:
            node = self.nodes.get(key)
            if node is None:
                break
            support = node.support
            if node.contradicted:
                rate = (node.contradicted + _WEIGHT_OF_PARENT * rate) / (
                    support + node.contradicted + _WEIGHT_OF_PARENT
                )
                siblings = node
                least = 1.0
            elif not self.exact_path_only or key == last:
                if siblings:
                    clean = len(siblings.children) - siblings.mixed
                    share = 2 * (clean + 1) / (len(siblings.children) + 2)
                    prior, siblings = self.prior * min(1.0, share), None
                support += min(support, node.claimed) / 2
                least = min(least, loss(prior, support))
        if self.exact_path_only:
            return least if last in self.nodes and not self.nodes[last].contradicted else rate
        return min(least, rate) if self.nodes[ROOT].contradicted else least

    def agree(self, chain: Sequence[str], weight: float = 1.0) -> None:
        """Count a page that was the same under two URLs that the change makes equal."""
        nodes = self._nodes_on(chain)
        added = weight
        for node in reversed(nodes):
            node.agreed += weight
            before = node.support
            node.support += added
            added = min(node.support, MAX_PAGES_OF_CHILD) - min(before, MAX_PAGES_OF_CHILD)
        self._tell()

    def claim(self, chain: Sequence[str]) -> None:
        """Count a page whose canonical link says that the change makes no difference."""
        for node in self._nodes_on(chain):
            node.claimed += 1

    def contradict(self, chain: Sequence[str]) -> None:
        """Count a page that the change would have lost."""
        parent: Node | None = None
        for node in self._nodes_on(chain):
            if parent and not node.contradicted:
                parent.mixed += 1
            node.contradicted = node.contradicted * _FORGOTTEN + 1
            node.agreed *= _FORGOTTEN
            node.support *= _FORGOTTEN
            node.claimed *= _FORGOTTEN
            parent = node
        self._tell()

    def _tell(self) -> None:
        """Tell other sites what this one has shown, and learn from them."""
        root = self.nodes[ROOT]
        if self._told is not False:
            if root.contradicted:
                self._belief.clean -= self._told is True
                self._belief.mixed += 1
                self._told = False
            elif self._told is None and root.agreed >= _MIN_PAGES_TO_TELL:
                self._belief.clean += 1
                self._told = True
        self.prior = self._belief.prior(self._told)

    def changes(self) -> Iterator[tuple[str, int, int]]:
        """Node, pages agreed and pages contradicted, as added since the last call."""
        for key in self.changed:
            if node := self.nodes.get(key):
                agreed, contradicted = round(node.agreed), round(node.contradicted)
                before = node.saved
                if key == ROOT or contradicted or agreed > _NEGLIGIBLE_PAGES:
                    node.saved = agreed, contradicted
                    yield key, agreed - before[0], contradicted - before[1]
        self.changed.clear()

    def load(self, key: str, agreed: int, contradicted: int) -> None:
        """Add what was saved of a node; `settle` when all nodes have been added."""
        chain = chain_to(key)
        nodes = self._nodes_on(chain)
        if len(nodes) == len(chain):
            node = nodes[-1]
            node.agreed += agreed
            node.contradicted += contradicted
            node.saved = node.saved[0] + agreed, node.saved[1] + contradicted

    def settle(self) -> None:
        """Work out what follows from the nodes that were loaded."""
        self._settle(ROOT)
        self.changed.clear()

    def _settle(self, key: str) -> float:
        """Support of a node, from its pages and its children; what its parent gets of it."""
        node = self.nodes[key]
        children = [one for one in node.children if one in self.nodes]
        own = node.agreed - sum(self.nodes[one].agreed for one in children)
        node.support = max(0.0, own) + sum(map(self._settle, children))
        node.mixed = sum(self.nodes[one].contradicted > 0 for one in children)
        return min(node.support, MAX_PAGES_OF_CHILD)

    def _nodes_on(self, chain: Sequence[str]) -> list[Node]:
        """Nodes of a chain, made where there is room for them."""
        found: list[Node] = []
        for key in chain:
            node = self.nodes.get(key)
            if node is None:
                if not self._has_room(found[-1]):
                    break
                node = self.nodes[key] = Node()
                found[-1].children.append(key)
            found.append(node)
            self.changed.add(key)
        return found

    def _has_room(self, parent: Node) -> bool:
        if len(parent.children) < MAX_CHILDREN and len(self.nodes) < MAX_NODES:
            return True
        for number, key in enumerate(parent.children):
            node = self.nodes[key]
            if node.agreed <= 1 and not node.contradicted and not node.children:
                del parent.children[number], self.nodes[key]
                self.changed.discard(key)
                return len(self.nodes) < MAX_NODES
        return False


def loss(prior: float, agreed: float) -> float:
    """Estimate the share of pages that a change loses, where none has contradicted it.

    Args:
        prior: probability that it never loses one, before any was seen.
        agreed: pages that were the same.
    """
    against = (1 - prior) / ((1 - prior) + prior * (agreed + 1))
    return against / (agreed + 2)


def chain_of(segments: Sequence[str]) -> tuple[str, ...]:
    """Nodes of a path: the root, its first segment, its first two."""
    keys = [ROOT]
    path = ""
    for segment in segments[:MAX_DEPTH]:
        path = f"{path}/{segment.partition(';')[0]}"
        keys.append(path)
    return tuple(keys)


def chain_to(key: str) -> tuple[str, ...]:
    """Nodes on the way to a node."""
    return chain_of(key.split("/")[1:] if key != ROOT else ())
