"""Near-duplicate detection for Scrapy, with a signature store that outlives the crawl.

The names are imported when they are first used: Scrapy loads this package on every
`scrapy` command, also on those that have nothing to do with it.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from shingling.errors import ShinglingError
    from shingling.extraction.html import extract
    from shingling.plugin.addon import Addon
    from shingling.plugin.duplicate import DuplicatePage
    from shingling.plugin.pipeline import DedupPipeline
    from shingling.similarity import Comparison, compare
    from shingling.sketch import Idf, Scheme, Signature, SimhashFeatures, sign, sign_many
    from shingling.store import Match, Page, Rules, Store, Verdict
    from shingling.text import Canonicaliser, canonical_words

__all__ = [
    "Addon",
    "Canonicaliser",
    "Comparison",
    "DedupPipeline",
    "DuplicatePage",
    "Idf",
    "Match",
    "Page",
    "Rules",
    "Scheme",
    "ShinglingError",
    "Signature",
    "SimhashFeatures",
    "Store",
    "Verdict",
    "canonical_words",
    "compare",
    "extract",
    "sign",
    "sign_many",
]

_MODULES = {
    "Addon": "plugin.addon",
    "Canonicaliser": "text",
    "Comparison": "similarity",
    "DedupPipeline": "plugin.pipeline",
    "DuplicatePage": "plugin.duplicate",
    "Idf": "sketch",
    "Match": "store",
    "Page": "store",
    "Rules": "store",
    "Scheme": "sketch",
    "ShinglingError": "errors",
    "Signature": "sketch",
    "SimhashFeatures": "sketch",
    "Store": "store",
    "Verdict": "store",
    "canonical_words": "text",
    "compare": "similarity",
    "extract": "extraction.html",
    "sign": "sketch",
    "sign_many": "sketch",
}


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return getattr(import_module(f"shingling.{_MODULES[name]}"), name)
    raise AttributeError(f"module 'shingling' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
