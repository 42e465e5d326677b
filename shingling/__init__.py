"""Near-duplicate detection for Scrapy, with a persistent database that you can query.

`__all__` is the public API; other names may change without notice. A name is imported when it is
first used: Scrapy loads this package on every `scrapy` command, also on those that have nothing to
do with it.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from shingling.names import when_used

if TYPE_CHECKING:
    from shingling.admin.check import Findings as Findings
    from shingling.admin.rebuild import Change as Change, Changes as Changes
    from shingling.admin.store_admin import StoreAdmin as StoreAdmin
    from shingling.errors import ShinglingError as ShinglingError
    from shingling.extraction.extractors import Extracted as Extracted
    from shingling.extraction.main_text import extract as extract
    from shingling.fetching.middleware import FetchMiddleware as FetchMiddleware
    from shingling.fetching.noting import NotingMiddleware as NotingMiddleware
    from shingling.fetching.repeated import RepeatedPage as RepeatedPage
    from shingling.plugin.addon import Addon as Addon
    from shingling.plugin.middleware import (
        SourceMiddleware as SourceMiddleware,
        SourcePipeline as SourcePipeline,
    )
    from shingling.plugin.pipeline import DedupPipeline as DedupPipeline
    from shingling.plugin.report import DuplicatePage as DuplicatePage
    from shingling.rules.reasons import Reason as Reason
    from shingling.rules.rules import Rules as Rules
    from shingling.similarity.classic import shingles as shingles
    from shingling.similarity.comparison import Comparison as Comparison, compare as compare
    from shingling.similarity.cosines import (
        DocumentFrequencies as DocumentFrequencies,
        Weighting as Weighting,
    )
    from shingling.sketch import (
        Scheme as Scheme,
        Signature as Signature,
        SimhashFeatures as SimhashFeatures,
        sign as sign,
        sign_many as sign_many,
    )
    from shingling.sketch.idf import Idf as Idf
    from shingling.store.model import (
        Group as Group,
        IndexShape as IndexShape,
        LastChange as LastChange,
        Match as Match,
        Page as Page,
        Review as Review,
        SplitText as SplitText,
        Status as Status,
        StoredPage as StoredPage,
        StoreStatus as StoreStatus,
        Verdict as Verdict,
    )
    from shingling.store.run_records import RunRecord as RunRecord
    from shingling.store.runs import Run as Run
    from shingling.store.store import Store as Store
    from shingling.text import (
        Canonicaliser as Canonicaliser,
        PreparedText as PreparedText,
        canonical_words as canonical_words,
    )

_MODULE_OF = {
    "Addon": "plugin.addon",
    "Canonicaliser": "text",
    "Change": "admin.rebuild",
    "Changes": "admin.rebuild",
    "Comparison": "similarity.comparison",
    "DedupPipeline": "plugin.pipeline",
    "DocumentFrequencies": "similarity.cosines",
    "DuplicatePage": "plugin.report",
    "Extracted": "extraction.extractors",
    "FetchMiddleware": "fetching.middleware",
    "Findings": "admin.check",
    "Group": "store.model",
    "Idf": "sketch.idf",
    "IndexShape": "store.model",
    "LastChange": "store.model",
    "Match": "store.model",
    "NotingMiddleware": "fetching.noting",
    "Page": "store.model",
    "PreparedText": "text",
    "Reason": "rules.reasons",
    "RepeatedPage": "fetching.repeated",
    "Review": "store.model",
    "Rules": "rules.rules",
    "Run": "store.runs",
    "RunRecord": "store.run_records",
    "Scheme": "sketch",
    "ShinglingError": "errors",
    "Signature": "sketch",
    "SimhashFeatures": "sketch",
    "SplitText": "store.model",
    "Status": "store.model",
    "SourceMiddleware": "plugin.middleware",
    "SourcePipeline": "plugin.middleware",
    "Store": "store.store",
    "StoreAdmin": "admin.store_admin",
    "StoreStatus": "store.model",
    "StoredPage": "store.model",
    "Verdict": "store.model",
    "Weighting": "similarity.cosines",
    "canonical_words": "text",
    "compare": "similarity.comparison",
    "extract": "extraction.main_text",
    "shingles": "similarity.classic",
    "sign": "sketch",
    "sign_many": "sketch",
}

_FOLDER = Path(__file__).parent

# Names of a room that is not there are left out.
__all__ = [
    name
    for name, module in _MODULE_OF.items()
    if "." not in module or (_FOLDER / module.partition(".")[0]).is_dir()
]
__getattr__ = when_used(__name__, {name: _MODULE_OF[name] for name in __all__})


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
