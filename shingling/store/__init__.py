"""The signature store: tables, candidate search, the atomic check-and-insert."""

from shingling.rules.rules import Rules
from shingling.store.admin.checking.findings import Findings
from shingling.store.admin.looking.candidates import CandidatePair, Candidates
from shingling.store.admin.rebuild import Change, Changes
from shingling.store.admin.records import PAGE_FIELDS, Header, Record, checked
from shingling.store.admin.store_admin import StoreAdmin
from shingling.store.admin.transfer import Restored
from shingling.store.backends.engine import file_of, parse_url, shown_url
from shingling.store.decide.alike import MAX_CANDIDATES_MEASURED, Ranking
from shingling.store.index.keys import Index
from shingling.store.index.postings import MAX_PAGES_PER_KEY
from shingling.store.model import (
    STATUSES,
    Group,
    IndexShape,
    Match,
    Page,
    Review,
    RunRecord,
    SplitText,
    StoredPage,
    StoreStatus,
    Verdict,
)
from shingling.store.runs import Run
from shingling.store.session import look_at_store
from shingling.store.store import Store
from shingling.store.urls import safe_url, site_of

__all__ = [
    "MAX_CANDIDATES_MEASURED",
    "MAX_PAGES_PER_KEY",
    "PAGE_FIELDS",
    "STATUSES",
    "CandidatePair",
    "Candidates",
    "Change",
    "Changes",
    "Findings",
    "Group",
    "Header",
    "Index",
    "IndexShape",
    "Match",
    "Page",
    "Ranking",
    "Record",
    "Restored",
    "Review",
    "Rules",
    "Run",
    "RunRecord",
    "SplitText",
    "Store",
    "StoreAdmin",
    "StoreStatus",
    "StoredPage",
    "Verdict",
    "checked",
    "file_of",
    "look_at_store",
    "parse_url",
    "safe_url",
    "shown_url",
    "site_of",
]
