"""Evidence for and against a change, in a tree of paths, and the model that weighs it.

Evidence is counted by *pages* (distinct contents), not by URLs: a page that agreed was met under
two URLs that the change makes equal, a page that contradicted would have been lost by it. Each
piece counts at every node on the way from the root of the site to the path of the URL.

**The model.** Below a node, a change loses a share q of the pages that it drops:

    with probability p      q = 0
    with probability 1 - p  q ~ Beta(1, 1)

After n pages that agreed and none that contradicted, the expected share is

    risk = d / (n + 2),  with  d = (1 - p) / ((1 - p) + p (n + 1))

As soon as k > 0 pages contradicted, q = 0 is out of the question, and the estimate is shrunk
towards the one of the parent, r (1 - p above the root):

    risk = (k + 2 r) / (n + k + 2)

Below such a node, a node without contradictions is judged by the first formula with a p of at most
`_PRIOR_BESIDE`.

What holds for one path is weak evidence for the next: a child adds at most `MAX_PAGES_OF_CHILD`
pages to the n of its parent, even if it has more. The n of a child is that of all its own pages,
and of what others have added to its parent. The first directories of a site need a page of their
own. A parameter whose name says which page is meant (`id`, `page`) is judged by what was seen below
the same first segment.

**Sites change.** With each page that contradicts, n and k are halved before it is counted:
k < 2, and ten contradictions outweigh a thousand pages.

**Mirrors.** An exchanged segment, or one that names a release and is dropped, says that one part of
a site is a copy of another. The releases of a manual share most of their pages, and a page that
differs among those may be the only one of its kind. So a single contradiction shows that there is
no mirror, and stops the change on the site.

**Each crawl meets the same pages again.** These are no more evidence than before. A page that an
earlier crawl has met counts in the place of one that was counted there, and adds to n only if
no such page is left.

**One page under every URL.** Where all URLs of a path have shown one and the same page (a form to
log in), contents are no evidence: there, each further URL counts as half a page.
"""

from __future__ import annotations

from itertools import count
from operator import add, sub
from typing import TYPE_CHECKING

from shingling.fetching.learning.changes import (
    DROP_EXTENSION,
    DROP_LAST,
    DROP_PAIR,
    DROP_PARAMETER,
    DROP_PATH_PARAMETER,
    DROP_SEGMENT,
    DROP_VALUE,
    EXCHANGE_SEGMENT,
    HTTPS,
    LOWER,
    SLASH,
    SLUG,
    SORT,
    WWW,
    UrlChange,
    is_index,
)
from shingling.fetching.learning.parts import ROOT, path_to

if TYPE_CHECKING:
    from collections.abc import Iterator

    from shingling.fetching.learning.parts import NodePath
    from shingling.fetching.learning.recent import Table

MAX_PAGES_OF_CHILD = 5.0
_MAX_CHILDREN = 48
MAX_NODES = 512
"""Nodes of a change."""

_TRACKING = """
fbclid gclid dclid gbraid wbraid msclkid yclid twclid ttclid li_fat_id igshid mc_cid mc_eid _ga _gl
_hsenc _hsmi vero_id wickedid zanpid mkt_tok oly_anon_id oly_enc_id jsessionid phpsessid
aspsessionid sessionid session_id sid cfid cftoken
"""
_TRACKING_NAMES = frozenset(_TRACKING.split())
_TRACKING_PREFIXES = ("utm_", "pk_", "piwik_", "mtm_", "hsa_", "at_")

_CONTENT = """
page p pg paged offset start skip first limit cursor after before id ids aid cid pid tid fid
uid gid nid item article post topic thread product sku isbn number no n key code name title slug
path file url uri doc document section chapter category cat tag lang language locale hl l q query
search s keyword keywords term text date day month year week time version ver v release branch
edition rev revision oldid action do mode cmd step part module option task
"""
_NAMES_OF_CONTENT = frozenset(_CONTENT.split())
_RELEASES = frozenset(
    ("current", "dev", "edge", "head", "latest", "main", "master", "next", "nightly", "stable")
)

_TRACKING_PRIOR = 0.8  # 4 pages that agree give a risk of 1 in 100
_FORM_PRIOR = 0.5  # 8 pages
_USUAL_PRIOR = 0.2  # 17 pages
_RARE_PRIOR = 0.3  # 13 pages
_CONTENT_PRIOR = 0.05  # 34 pages
_MIRROR_PRIOR = 0.02  # 48 pages: releases of a manual may differ in one of twelve
_VALUE_PRIOR = 0.02  # 48 pages: its parameter has lost a page, or usually says which one is meant
_PRIOR_BESIDE = 0.25  # of a path beside one at which the change was contradicted

_WEIGHT_OF_PARENT = 2.0  # pages
_WEIGHT_OF_URL = 0.5  # pages, if a path has one page under every URL
_FORGOTTEN = 0.5  # share of all evidence, with each contradiction
_DIRECTORIES_ON_THEIR_OWN = 12  # that need a page of their own, before others are trusted unseen

_ids = count()


def is_of_content(change: UrlChange) -> bool:
    """Whether it drops a parameter, or a value of it, that usually says which page is meant."""
    is_of_parameter = change.kind in (DROP_PARAMETER, DROP_VALUE)
    return is_of_parameter and _plain(change.what) in _NAMES_OF_CONTENT


def is_of_mirrors(change: UrlChange) -> bool:
    """Whether it takes one part of a site for a copy of another: `/v1/a` for `/v2/a`, or `/a`."""
    return change.kind == EXCHANGE_SEGMENT or (
        change.kind == DROP_SEGMENT
        and (change.what.lower() in _RELEASES or any(map(str.isdigit, change.what)))
    )


def prior_of(change: UrlChange) -> float:
    """Probability that a change never makes a difference, before anything is known of the site."""
    if change.kind == DROP_VALUE:
        return _VALUE_PRIOR
    if is_of_content(change):
        return _CONTENT_PRIOR
    if change.kind in (DROP_PARAMETER, DROP_PATH_PARAMETER):
        name = _plain(change.what)
        if name in _TRACKING_NAMES or name.startswith(_TRACKING_PREFIXES):
            return _TRACKING_PRIOR
    if change in (HTTPS, WWW) or (change.kind == DROP_LAST and is_index(change.what)):
        return _TRACKING_PRIOR
    if change in (SLASH, LOWER, SORT) or change.kind == DROP_EXTENSION:
        return _FORM_PRIOR
    if is_of_mirrors(change):
        return _MIRROR_PRIOR
    leaves_out_segments = change.kind in (SLUG.kind, DROP_SEGMENT, DROP_PAIR, DROP_LAST)
    return _RARE_PRIOR if leaves_out_segments else _USUAL_PRIOR


def _plain(name: str) -> str:
    return name.lower().removesuffix("[]")


class Node:
    """Counts below one path: pages, decayed by contradictions; of the root, requests as well."""

    __slots__ = ("agreed", "children", "contradicted", "explored", "loaded", "saved", "skipped")

    def __init__(self) -> None:
        self.agreed = 0.0  # its own pages, and at most 5 of each child
        self.loaded = 0.0  # of them, those of earlier crawls that this one has not met again
        self.contradicted = 0.0
        self.skipped = 0
        self.explored = 0
        self.children: list[str] = []
        # The counts, rounded, as they were handed out last.
        self.saved: tuple[int, ...] = (0, 0, 0, 0)


class Tree:
    """Evidence about one change of one site.

    Args:
        change: what it is about.
        counted: contents of pages of all sites that have counted for or against a change.
    """

    __slots__ = (
        "_changed",
        "_counted",
        "_id",
        "_of_path_alone",
        "_prior",
        "is_of_mirrors",
        "nodes",
        "root",
    )

    def __init__(self, change: UrlChange, counted: Table) -> None:
        self._id = next(_ids)
        self._counted = counted
        self._prior = prior_of(change)
        self._of_path_alone = is_of_content(change)
        self.is_of_mirrors = is_of_mirrors(change)
        self.root = Node()
        self.nodes = {ROOT: self.root}
        self._changed = set[str]()

    def risk(self, path: NodePath) -> float:
        """Estimate the share of pages that the change loses at the last node of a path.

        Args:
            path: its nodes.
        """
        if (self.is_of_mirrors and self.root.contradicted) or not self._has_own_page(path):
            return 1.0
        prior, rate, risk, agreed = self._prior, 1 - self._prior, 1.0, 0.0
        for key in path:
            node = self.nodes.get(key)
            if node is None:
                break
            if node.contradicted:
                rate = (node.contradicted + _WEIGHT_OF_PARENT * rate) / (
                    node.agreed + node.contradicted + _WEIGHT_OF_PARENT
                )
                prior, risk, agreed = min(prior, _PRIOR_BESIDE), rate, 0.0
            elif not self._of_path_alone or key != ROOT or len(path) == 1:
                beside = max(0.0, agreed - min(node.agreed, MAX_PAGES_OF_CHILD))
                agreed = node.agreed + beside
                risk = min(risk, loss(prior, agreed))
        return risk

    def acting(self, max_risk: float, path: NodePath = ()) -> set[str]:
        """Find the nodes at which the risk is small enough, also among those of a path."""
        return {key for key in (*self.nodes, *path) if self.risk(path_to(key)) <= max_risk}

    def _has_own_page(self, path: NodePath) -> bool:
        if path[:2][-1] in self.nodes:  # as the root always is
            return True
        return not self._of_path_alone and len(self.root.children) >= _DIRECTORIES_ON_THEIR_OWN

    def agree(
        self, path: NodePath, content: int, is_new: bool = True, count_urls: bool = False
    ) -> bool:
        """Count a page that was the same under two URLs that the change makes equal.

        Args:
            path: nodes of that to which both are reduced.
            content: of the page; each one counts once.
            is_new: no earlier crawl has met it.
            count_urls: the path has shown no other page, so that URLs count.

        Returns:
            Whether it counts.
        """
        key = hash((self._id, True, content))
        is_counted = self._counted.get(key) is not None
        self._counted.put(key, 1)
        if is_counted and not count_urls:
            return False
        added = _WEIGHT_OF_URL if is_counted else 1.0
        nodes = self._nodes_on(path)
        if not is_new and nodes[-1].loaded > 0:
            nodes[-1].loaded -= added
            return False
        for node in reversed(nodes):
            before = node.agreed
            node.agreed += added
            added = min(node.agreed, MAX_PAGES_OF_CHILD) - min(before, MAX_PAGES_OF_CHILD)
        return True

    def contradict(self, path: NodePath, content: int, share: float = 1.0) -> bool:
        """Count a page that the change would have lost; whether it counts.

        Args:
            path: nodes of that to which both URLs are reduced.
            content: of the page; each one counts once.
            share: probability that it was this change, and no other one. Below 1 nothing is held
                against it, but it needs so much more evidence to be trusted.
        """
        is_alone = share >= 1.0
        key = hash((self._id, False, content))
        before = self._counted.get(key)
        self._counted.put(key, bool(before or is_alone))
        if before or (before is not None and not is_alone):
            return False
        for node in self._nodes_on(path):
            node.agreed *= _FORGOTTEN if is_alone else 1 - share
            if is_alone:
                node.contradicted = node.contradicted * _FORGOTTEN + 1
        return True

    def count_request(self, *, is_explored: bool) -> None:
        """Count a request that was skipped, or explored."""
        self.root.explored += is_explored
        self.root.skipped += not is_explored
        self._changed.add(ROOT)

    def changes(self) -> Iterator[tuple[str, list[int]]]:
        """Yield what was added to the counts of nodes since the last call.

        Yields:
            A node; pages agreed and contradicted, requests skipped and explored.
        """
        for key in self._changed:
            if node := self.nodes.get(key):
                pages = round(node.agreed), round(node.contradicted)
                before, node.saved = node.saved, (*pages, node.skipped, node.explored)
                if node.saved != before:
                    yield key, [*map(sub, node.saved, before)]
        self._changed.clear()

    def load_node(self, key: str, *counts: int) -> None:
        """Add what was saved of a node, as `changes` yields it."""
        path = path_to(key)
        nodes = self._nodes_on(path)
        if len(nodes) == len(path):
            node = nodes[-1]
            agreed, contradicted, skipped, explored = counts
            node.agreed += agreed
            node.loaded += agreed
            node.contradicted += contradicted
            node.skipped += skipped
            node.explored += explored
            node.saved = tuple(map(add, node.saved, counts))

    def _nodes_on(self, path: NodePath) -> list[Node]:
        """Nodes of a path; those that are missing are made if there is room for them."""
        nodes: list[Node] = []
        for key in path:
            node = self.nodes.get(key)
            if node is None:
                if not self._has_room(nodes[-1]):
                    break
                node = self.nodes[key] = Node()
                nodes[-1].children.append(key)
            nodes.append(node)
            self._changed.add(key)
        return nodes

    def _has_room(self, parent: Node) -> bool:
        if len(parent.children) < _MAX_CHILDREN and len(self.nodes) < MAX_NODES:
            return True
        for number, key in enumerate(parent.children):
            node = self.nodes[key]
            if node.agreed <= 1 and not node.contradicted and not node.children:
                del parent.children[number], self.nodes[key]
                self._changed.discard(key)
                return len(self.nodes) < MAX_NODES
        return False


def loss(prior: float, agreed: float) -> float:
    """Estimate the share of pages that a change loses, if none has contradicted it.

    Args:
        prior: probability that it never loses one, before any was seen.
        agreed: pages that were the same.
    """
    against = (1 - prior) / ((1 - prior) + prior * (agreed + 1))
    return against / (agreed + 2)
