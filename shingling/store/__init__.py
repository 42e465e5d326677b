"""The signature store: tables, candidate search, the atomic check-and-insert."""

from shingling.store._choose import MEASURED, Ranking
from shingling.store._engine import parse_url
from shingling.store._exchange import Restored
from shingling.store._index import Index
from shingling.store._opening import look_at_store
from shingling.store._postings import MOST
from shingling.store._rebuild import Change, Changes
from shingling.store._records import PAGE_FIELDS, Header, Record, checked
from shingling.store._sqlite import sqlite_path
from shingling.store._store import Run, Store
from shingling.store._templates import Parted
from shingling.store._values import (
    STATUSES,
    Group,
    Match,
    Page,
    Review,
    Rules,
    StoredPage,
    Verdict,
    safe_url,
    site_of,
)

__all__ = [
    "MEASURED",
    "MOST",
    "PAGE_FIELDS",
    "STATUSES",
    "Change",
    "Changes",
    "Group",
    "Header",
    "Index",
    "Match",
    "Page",
    "Parted",
    "Ranking",
    "Record",
    "Restored",
    "Review",
    "Rules",
    "Run",
    "Store",
    "StoredPage",
    "Verdict",
    "checked",
    "look_at_store",
    "parse_url",
    "safe_url",
    "site_of",
    "sqlite_path",
]
