"""What is believed of a change before a site has shown anything."""

from __future__ import annotations

from shingling.fetching.learning.changes import (
    DROP_LAST,
    DROP_PAIR,
    DROP_PARAMETER,
    DROP_PATH_PARAMETER,
    DROP_SEGMENT,
    DROP_VALUE,
    EXCHANGE_SEGMENT,
    FOLD,
    HTTPS,
    WWW,
    Change,
    is_index,
)

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
search s keyword keywords term text date day month year week time version ver v rev revision oldid
action do mode cmd step part module option task
"""
_NAMES_OF_CONTENT = frozenset(_CONTENT.split())

_TRACKING_PRIOR = 0.8
_USUAL_PRIOR = 0.5
_RARE_PRIOR = 0.3
_CONTENT_PRIOR = 0.05
_LEAST_PRIOR = 0.05
_GREATEST_PRIOR = 0.9

_WEIGHT_OF_PRIOR = 2  # sites
_MAX_BELIEFS = 10_000


def is_of_content(change: Change) -> bool:
    """Whether it drops a parameter, or a value of it, that usually says which page is meant."""
    kinds = (DROP_PARAMETER, DROP_VALUE)
    return change.kind in kinds and _plain(change.what) in _NAMES_OF_CONTENT


def is_of_paths(change: Change) -> bool:
    """Whether it leaves out or exchanges segments, so that two documents may stand for one."""
    return change.kind in (DROP_SEGMENT, DROP_PAIR, EXCHANGE_SEGMENT) or (
        change.kind == DROP_LAST and not is_index(change.what)
    )


def is_of_mirrors(change: Change) -> bool:
    """Whether it takes one part of a site for a copy of another one."""
    return change.kind == EXCHANGE_SEGMENT


def is_trusted(change: Change) -> bool:
    """Whether it is one that hardly ever makes a difference on any site."""
    return prior_of(change) >= _TRACKING_PRIOR


def prior_of(change: Change) -> float:
    """Probability that a change never makes a difference, before anything is known of the site."""
    if is_of_content(change):
        return _CONTENT_PRIOR
    if change.kind in (DROP_PARAMETER, DROP_PATH_PARAMETER):
        name = _plain(change.what)
        if name in _TRACKING_NAMES or name.startswith(_TRACKING_PREFIXES):
            return _TRACKING_PRIOR
    if change in (HTTPS, WWW) or (change.kind == DROP_LAST and is_index(change.what)):
        return _TRACKING_PRIOR
    if change.kind in (DROP_VALUE, FOLD.kind) or is_of_paths(change):
        return _RARE_PRIOR
    return _USUAL_PRIOR


class Belief:
    """What the sites of a crawl have shown of a change.

    Args:
        change: the change.
    """

    __slots__ = ("_first", "_shared", "clean", "mixed")

    def __init__(self, change: Change) -> None:
        self._first = prior_of(change)
        self._shared = not is_of_content(change) and not is_of_paths(change)
        self.clean = 0
        self.mixed = 0

    def prior(self, told: bool | None = None) -> float:
        """Estimate the probability that the change never loses a page of a site.

        Args:
            told: what that site itself has shown: no contradiction (True), one (False), nothing.
        """
        if not self._shared:
            return self._first
        clean = self.clean - (told is True)
        mixed = self.mixed - (told is False)
        prior = (_WEIGHT_OF_PRIOR * self._first + clean) / (_WEIGHT_OF_PRIOR + clean + mixed)
        return min(max(prior, _LEAST_PRIOR), _GREATEST_PRIOR)


class Beliefs:
    """Beliefs about the changes that sites have in common."""

    def __init__(self) -> None:
        self._of: dict[Change, Belief] = {}

    def of(self, change: Change) -> Belief:
        """Find the belief about a change; of too many changes, each site has one of its own."""
        belief = self._of.get(change)
        if belief is None:
            belief = Belief(change)
            if len(self._of) < _MAX_BELIEFS:
                self._of[change] = belief
        return belief


def _plain(name: str) -> str:
    return name.lower().removesuffix("[]")
