"""The signature store: tables, candidate search, the atomic check-and-insert."""

from shingling.store.admin.rebuild import Change, Changes
from shingling.store.admin.records import PAGE_FIELDS, Header, Record, checked
from shingling.store.admin.runs import Run
from shingling.store.admin.transfer import Restored
from shingling.store.backends.engine import parse_url
from shingling.store.backends.sqlite import sqlite_path
from shingling.store.decide.ranking import MEASURED, Ranking
from shingling.store.decide.templates import Parted
from shingling.store.index.keys import Index
from shingling.store.index.postings import MOST
from shingling.store.model import (
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
from shingling.store.opening import look_at_store
from shingling.store.store import Store

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
