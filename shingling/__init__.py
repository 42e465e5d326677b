"""Near-duplicate detection for Scrapy, with a persistent database that you can query.

`__all__` is the public API; other names may change without notice. A name is imported when it is
first used: Scrapy loads this package on every `scrapy` command, also on those that have nothing to
do with it.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from shingling.errors import ShinglingError as ShinglingError
    from shingling.extraction.extractors import Extracted as Extracted
    from shingling.extraction.html import extract as extract
    from shingling.plugin.addon import Addon as Addon
    from shingling.plugin.duplicate import DuplicatePage as DuplicatePage
    from shingling.plugin.fetching.middleware import FetchMiddleware as FetchMiddleware
    from shingling.plugin.fetching.noting import NotingMiddleware as NotingMiddleware
    from shingling.plugin.fetching.repeated import RepeatedPage as RepeatedPage
    from shingling.plugin.middleware import (
        SourceMiddleware as SourceMiddleware,
        SourcePipeline as SourcePipeline,
    )
    from shingling.plugin.pipeline import DedupPipeline as DedupPipeline
    from shingling.similarity import (
        Comparison as Comparison,
        DocumentFrequencies as DocumentFrequencies,
        Weighting as Weighting,
        compare as compare,
        shingles as shingles,
    )
    from shingling.sketch import (
        Idf as Idf,
        Scheme as Scheme,
        Signature as Signature,
        SimhashFeatures as SimhashFeatures,
        sign as sign,
        sign_many as sign_many,
    )
    from shingling.store import (
        CandidatePair as CandidatePair,
        Candidates as Candidates,
        Change as Change,
        Changes as Changes,
        Findings as Findings,
        Group as Group,
        IndexShape as IndexShape,
        Match as Match,
        Page as Page,
        Review as Review,
        Rules as Rules,
        Run as Run,
        RunRecord as RunRecord,
        SplitText as SplitText,
        Store as Store,
        StoreAdmin as StoreAdmin,
        StoredPage as StoredPage,
        StoreStatus as StoreStatus,
        Verdict as Verdict,
    )
    from shingling.text import (
        Canonicaliser as Canonicaliser,
        PreparedText as PreparedText,
        canonical_words as canonical_words,
    )

_MODULE_OF = {
    "Addon": "plugin.addon",
    "Canonicaliser": "text",
    "Change": "store",
    "CandidatePair": "store",
    "Candidates": "store",
    "Changes": "store",
    "Comparison": "similarity",
    "DedupPipeline": "plugin.pipeline",
    "DocumentFrequencies": "similarity",
    "DuplicatePage": "plugin.duplicate",
    "Extracted": "extraction.extractors",
    "FetchMiddleware": "plugin.fetching.middleware",
    "Findings": "store",
    "Group": "store",
    "Idf": "sketch",
    "IndexShape": "store",
    "Match": "store",
    "NotingMiddleware": "plugin.fetching.noting",
    "Page": "store",
    "PreparedText": "text",
    "RepeatedPage": "plugin.fetching.repeated",
    "Review": "store",
    "Rules": "store",
    "Run": "store",
    "RunRecord": "store",
    "Scheme": "sketch",
    "ShinglingError": "errors",
    "Signature": "sketch",
    "SimhashFeatures": "sketch",
    "SplitText": "store",
    "SourceMiddleware": "plugin.middleware",
    "SourcePipeline": "plugin.middleware",
    "Store": "store",
    "StoreAdmin": "store",
    "StoreStatus": "store",
    "StoredPage": "store",
    "Verdict": "store",
    "Weighting": "similarity",
    "canonical_words": "text",
    "compare": "similarity",
    "extract": "extraction.html",
    "shingles": "similarity",
    "sign": "sketch",
    "sign_many": "sketch",
}

__all__ = [*_MODULE_OF]


def __getattr__(name: str) -> Any:
    if name in _MODULE_OF:
        return getattr(import_module(f"shingling.{_MODULE_OF[name]}"), name)
    raise AttributeError(f"module 'shingling' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
