"""Who decides which requests are not made: rules that are learned, and peers."""

from __future__ import annotations

import random
import warnings
from typing import TYPE_CHECKING, Any, Protocol

from courlan import clean_url

from shingling import Scheme, sign
from shingling.urls import FetchedPage, UrlLearner

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchmarks.fetches.site import Shown
    from shingling.sketch import Signature
    from shingling.urls import SavedRule, Skip
    from shingling.urls.pages import RuleChange

_SCHEME = Scheme()
_WARM_UP, _PROBABILITY, _EXPLORED = 300, 0.98, 0.05  # as undercrawler has them
_CACHE: dict[str, Signature] = {}


def signature_of(text: str) -> Signature:
    """Signature of a text, made once."""
    if text not in _CACHE:
        _CACHE[text] = sign(text, _SCHEME)
    return _CACHE[text]


class Decider(Protocol):
    """Decides requests, and learns from what was fetched."""

    def skips(self, url: str) -> bool:
        """Whether a request is not made."""

    def fetched(self, url: str, requested: Sequence[str], shown: Shown) -> list[str]:
        """Learn from a page; URLs that were skipped before and are to be fetched after all."""


class Everything:
    """Makes every request."""

    def skips(self, url: str) -> bool:  # noqa: ARG002 (as inherited)
        """See `Decider.skips`."""
        return False

    def fetched(self, url: str, requested: Sequence[str], shown: Shown) -> list[str]:  # noqa: ARG002 (as inherited)
        """See `Decider.fetched`."""
        return []


class Courlan(Everything):
    """Skips a URL that is the same as a former one for courlan, with its fixed lists."""

    def __init__(self) -> None:
        self._seen: set[str] = set()

    def skips(self, url: str) -> bool:
        """See `Decider.skips`."""
        cleaned = clean_url(url) or url
        known = cleaned in self._seen
        self._seen.add(cleaned)
        return known


class MaybeDont(Everything):
    """MaybeDont with its defaults, as undercrawler uses it: 1 in 20 is fetched all the same."""

    def __init__(self, seed: int) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            from maybedont import DupePredictor
        self._new = DupePredictor
        self._predictor: Any = None
        self._first: list[tuple[str, str]] = []
        self._random = random.Random(seed)
        random.seed(seed)  # of MaybeDont itself

    def skips(self, url: str) -> bool:
        """See `Decider.skips`."""
        if self._predictor is None or self._predictor.get_dupe_prob(url) <= _PROBABILITY:
            return False
        return self._random.random() >= _EXPLORED

    def fetched(self, url: str, requested: Sequence[str], shown: Shown) -> list[str]:  # noqa: ARG002 (as inherited)
        """See `Decider.fetched`."""
        if self._predictor is not None:
            self._predictor.update_model(url, shown.text)
            return []
        self._first.append((url, shown.text))
        if len(self._first) >= _WARM_UP:
            self._predictor = self._new(texts_sample=[text for _, text in self._first])
            for known, text in self._first:
                self._predictor.update_model(known, text)
        return []


class Learned:
    """Rules that are learned, as the plugin learns them.

    Args:
        saved: what a former crawl has saved, by site.
        observe: make all requests, and note which ones would have been skipped, and what is wrong.
    """

    def __init__(
        self, salt: int, saved: dict[str, list[SavedRule]] | None = None, *, observe: bool = False
    ) -> None:
        self.learner = UrlLearner(salt=str(salt).encode())
        for site, rules in (saved or {}).items():
            self.learner.load(site, rules)
        self._observe = observe
        self._explored: dict[str, Skip] = {}
        self._skipped: list[tuple[Skip, str]] = []
        self.would_skip: dict[str, Skip] = {}
        self.changes: list[RuleChange] = []

    def skips(self, url: str) -> bool:
        """See `Decider.skips`."""
        skip = self.learner.decide(url)
        if skip is None:
            return False
        if skip.explore:
            self._explored[url] = skip
            return False
        self._skipped.append((skip, url))
        if self._observe:
            self.would_skip[url] = skip
        return not self._observe

    def fetched(self, url: str, requested: Sequence[str], shown: Shown) -> list[str]:
        """See `Decider.fetched`."""
        asked = requested[0] if requested else url
        page = FetchedPage(
            url=url,
            requested=tuple(requested),
            canonical=shown.canonical,
            signature=signature_of(shown.text),
            links=shown.links,
        )
        skip = self._explored.pop(asked, None) or self.would_skip.get(asked)
        contradictions = self.learner.note(page, skip, counts=asked not in self.would_skip)
        wrong = {(one.change, one.node) for one in contradictions}
        again = [u for s, u in self._skipped if wrong & {*zip(s.rules, s.nodes, strict=True)}]
        if again:
            self._skipped = [(s, u) for s, u in self._skipped if u not in set(again)]
        return [] if self._observe else again
