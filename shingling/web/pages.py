"""Pages of whatever verdict: lists of them, one of them, and what runs have said."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from sqlalchemy import select

from shingling.rules.reasons import Reason
from shingling.similarity import word_diff
from shingling.store import STATUSES, Store
from shingling.store.listing import PageFilter, list_pages
from shingling.store.model import DAY
from shingling.store.run_records import list_runs
from shingling.store.schema.tables import url_rules
from shingling.store.verdicts import CHANGES, previous_run, verdict_counts
from shingling.web.requests import (
    RequestError,
    day,
    needed,
    one_of,
    read,
    row_after,
    rows_asked,
    whole_number,
)
from shingling.web.shown import cut, link

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from sqlalchemy import Connection

    from shingling.store import RunRecord, StoredPage
    from shingling.store.session import Session

MAX_RULES = 200
_MAX_TEXT = 20_000  # characters of a compared text
_CHANGES_SHOWN = 12
_FIELDS: dict[str, Callable[[str], Any]] = {
    "words": str,
    "site": str,
    "status": one_of("original", "duplicate", *STATUSES),
    "reason": one_of(*Reason),
    "since": day,
    "until": lambda given: day(given) + DAY,
    "run": whole_number,
    "change": one_of(*CHANGES),
}
PAGE = (
    *("url", "page", "said", "duplicates", "fields", "changes", "rules", "template", "text"),
    *("shares", "shares_with"),
)
"""Names of the values of a page that are data."""


def find(session: Session, query: Mapping[str, str]) -> str:
    """Address of what a text stands for: the page of a URL, or the pages that have its words."""
    asked = needed(query, "q").strip()
    found = Store(session).find_pasted(asked)
    if found or "://" in asked:
        return link("/page", [("url", found[0].url if found else asked)])
    return link("/pages", [("words", asked)])


def show_pages(session: Session, query: Mapping[str, str]) -> dict[str, Any]:
    """List of pages, the newest first."""
    wanted = {name: read(query, name, kind) for name, kind in _FIELDS.items()}
    after, limit = row_after(query), rows_asked(query)
    with session.reading() as connection:
        found = list_pages(connection, PageFilter(**wanted), after, limit)  # type: ignore[typeddict-item]
    return {**found._asdict(), "values": {**dict.fromkeys((*_FIELDS, "after"), ""), **query}}


def show_page(session: Session, query: Mapping[str, str]) -> dict[str, Any]:
    """All that is known of a URL, whether it is stored or not."""
    url, store = needed(query, "url"), Store(session)
    page = next(iter(store.find_pasted(url)), None)
    values = {**dict.fromkeys(PAGE), "url": url}
    if page is None:
        return values
    with session.reading() as connection:
        columns = url_rules.c.change, url_rules.c.node, url_rules.c.agreed, url_rules.c.saved
        query_of = select(*columns).where(url_rules.c.site == page.site).limit(MAX_RULES)
        path = urlsplit(page.url).path or "/"
        rules = [row for row in connection.execute(query_of) if path.startswith(row.node)]
    text, other = store.split_text(page), _decided_by(store, page)
    beside = None if other is None else store.split_text(other)
    changes = [] if text is None or beside is None else word_diff(beside.compared, text.compared)
    most = store.shares_most(page) if page.status == "skipped" else None
    return {
        **values,
        "page": page,
        "rules": rules,
        "said": store.verdicts(page),
        "duplicates": len(store.duplicates(page)),
        "fields": () if other is None else store.differing_fields(page, other),
        "changes": [one for one in changes if not one.same][:_CHANGES_SHOWN],
        "text": None if text is None else text.compared[:_MAX_TEXT],
        "template": None if text is None else text.template_share,
        "shares": None if most is None else most.shared_by(page.words),
        "shares_with": None if most is None else most.page.url,
    }


def _decided_by(store: Store, page: StoredPage) -> StoredPage | None:
    found = [] if page.decided_by is None else store.find(page.decided_by)
    return next((one for one in found if one.scope == page.scope), None)


def show_runs(session: Session, query: Mapping[str, str]) -> dict[str, Any]:
    """List of runs, the last one first, with the numbers of their pages."""
    limit = rows_asked(query)
    with session.reading() as connection:
        found = list_runs(connection, limit + 1, row_after(query) or None)
        rows = runs_as_rows(connection, found[:limit])
    return {"rows": rows, "next": rows[-1]["id"] if len(found) > limit else None}


def runs_as_rows(connection: Connection, found: Sequence[RunRecord]) -> list[dict[str, Any]]:
    """Convert runs to data, each with the numbers of its pages."""
    counts = verdict_counts(connection, [run.id for run in found])
    return [{**run.as_dict(), "pages": counts[run.id]} for run in found]


def show_run(session: Session, query: Mapping[str, str]) -> dict[str, Any]:
    """One run: its pages by verdict and reason, and beside the run before."""
    needed(query, "id")
    number = read(query, "id", whole_number) or 0
    with session.reading() as connection:
        run = next(iter(list_runs(connection, 1, number + 1)), None)
        if run is None or run.id != number:
            raise RequestError(f"there is no run {cut(str(number))}", 404)
        return {
            "run": run,
            "pages": verdict_counts(connection, [number])[number],
            "before": previous_run(connection, number),
        }
