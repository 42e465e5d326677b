"""The signature store: tables, candidate search, the atomic check-and-insert."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shingling.names import when_used

if TYPE_CHECKING:
    from shingling.store.backends import (
        file_of as file_of,
        is_file_name as is_file_name,
        parse_url as parse_url,
        shown_url as shown_url,
        url_of_file as url_of_file,
    )
    from shingling.store.backends.base import (
        MAX_PAGES_PER_KEY as MAX_PAGES_PER_KEY,
    )
    from shingling.store.index import (
        Index as Index,
    )
    from shingling.store.model import (
        STATUSES as STATUSES,
        Group as Group,
        IndexShape as IndexShape,
        Match as Match,
        Page as Page,
        Review as Review,
        SplitText as SplitText,
        Status as Status,
        StoredPage as StoredPage,
        StoreStatus as StoreStatus,
        Verdict as Verdict,
    )
    from shingling.store.run_records import (
        RunRecord as RunRecord,
    )
    from shingling.store.runs import (
        Run as Run,
    )
    from shingling.store.store import (
        Store as Store,
    )
    from shingling.store.urls import (
        safe_url as safe_url,
        site_of as site_of,
    )

_MODULE_OF = {
    "Group": "model",
    "Index": "index",
    "IndexShape": "model",
    "MAX_PAGES_PER_KEY": "backends.base",
    "Match": "model",
    "Page": "model",
    "Review": "model",
    "Run": "runs",
    "RunRecord": "run_records",
    "STATUSES": "model",
    "SplitText": "model",
    "Status": "model",
    "Store": "store",
    "StoreStatus": "model",
    "StoredPage": "model",
    "Verdict": "model",
    "file_of": "backends",
    "is_file_name": "backends",
    "parse_url": "backends",
    "safe_url": "urls",
    "shown_url": "backends",
    "site_of": "urls",
    "url_of_file": "backends",
}

__all__ = [*_MODULE_OF]
__getattr__ = when_used(__name__, _MODULE_OF)
