"""What a crawl has left in a store."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any

from shingling import Store
from shingling.store.admin.transfer import export
from tests.store.invariants import entries_of, url_of

if TYPE_CHECKING:
    from pathlib import Path


def dump(file: Path) -> dict[str, list[Any]]:
    """Return what a store holds but for its times, addresses and keys of bodies."""
    queries = {
        "pages": "SELECT id, title, language, words, text_hash, minima, simhash, status,"
        " last_verdict, original_id, resemblance, containment FROM pages ORDER BY id",
        "texts": "SELECT page_id, zlib FROM texts ORDER BY page_id",
    }
    with closing(sqlite3.connect(file)) as db:
        held = {name: db.execute(query).fetchall() for name, query in queries.items()}
    with Store.open(url_of(file)) as store:
        templates = [
            record.fields for record in export(store._session) if record.kind == "template"
        ]
    return {**held, "bands": [entries_of(file, "bands")], "templates": templates}
