"""Pages of whatever verdict: lists of them, one of them, and what runs have said."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from sqlalchemy import text

from shingling.console.options import one_of, time
from shingling.rooms import hooks
from shingling.rules.reasons import Reason
from shingling.similarity.diff import word_diff
from shingling.store.decided import page_beside
from shingling.store.listing import PageFilter, list_pages
from shingling.store.model import DAY, STATUSES
from shingling.store.run_records import list_runs
from shingling.store.store import Store
from shingling.store.verdicts import CHANGES, previous_run, verdict_counts
from shingling.web.requests import (
    RequestError,
    count,
    needed_field,
    read_field,
    row_after,
    rows_asked,
    rows_before,
    rows_skipped,
)
from shingling.web.shown import link

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from sqlalchemy import Connection

    from shingling.plugin.settings import DedupSettings
    from shingling.store.run_records import RunRecord
    from shingling.store.session import Session
    from shingling.web.requests import Fields, Values

_DUPLICATES = "SELECT count(*) FROM pages WHERE original_id = :id"
_MAX_TEXT = 20_000  # characters of a compared text
_CHANGES_SHOWN = 12
_FIELDS: dict[str, Callable[[str], Any]] = {
    "words": str,
    "site": str,
    "status": one_of("original", "duplicate", *STATUSES),
    "reason": one_of(*Reason),
    "since": time,
    "until": lambda given: time(given) + DAY,
    "run": count,
    "change": one_of(*CHANGES),
}
PAGE = (
    *("url", "page", "said", "duplicates", "fields", "changes", "rules", "template", "text"),
    *("shares", "shares_with"),
)
"""Names of the values of a page that are data."""


def find(session: Session, query: Fields) -> str:
    """Address of what a text stands for: the page of a URL, or the pages that have its words."""
    asked = needed_field(query, "q").strip()
    pages = Store(session).find_pasted(asked)
    if pages or "://" in asked:
        return link("/page", {"url": pages[0].url if pages else asked})
    return link("/pages", {"words": asked})


def show_pages(session: Session, query: Fields) -> Values:
    """List of pages, the newest first."""
    wanted = {name: read_field(query, name, kind) for name, kind in _FIELDS.items()}
    after, limit = row_after(query), rows_asked(query)
    with session.reading() as connection:
        listed = list_pages(
            connection,
            PageFilter(**wanted),  # type: ignore[typeddict-item]
            after,
            limit,
            rows_skipped(query),
        )
    values = listed._asdict()
    if listed.total < 0:  # it has taken too long: the list goes on before the row asked for
        values |= {"total": 0, "start": rows_before(query) + listed.total}
    return values


def show_page(session: Session, query: Fields, *, settings: DedupSettings) -> Values:
    """All that is known of a URL, whether it is stored or not."""
    url, store = needed_field(query, "url"), Store(session)
    page = next(iter(store.find_pasted(url)), None)
    values = {**dict.fromkeys(PAGE), "url": url}
    if page is None:
        return values
    rules = [
        asdict(rule)
        for read in hooks("acting_rules", "savings")
        for rule in read(session, settings.of_rooms, page.url)
    ]
    with session.reading() as connection:
        duplicates = connection.scalar(text(_DUPLICATES), {"id": page.id})
    other = page_beside(page, page.decided_by, store.find)
    own, beside = (shown and store.split_text(shown) for shown in (page, other))
    changes = word_diff(beside.compared, own.compared) if own and beside else []
    most = store.shares_most(page) if page.status == "skipped" else None
    return {
        **values,
        "page": page,
        "rules": rules,
        "said": store.verdicts(page),
        "duplicates": duplicates,
        "fields": store.differing_fields(page, other) if other else (),
        "changes": [change for change in changes if not change.same][:_CHANGES_SHOWN],
        "text": own and own.compared[:_MAX_TEXT],
        "template": own and own.template_share,
        "shares": most and most.shared_by(page.words),
        "shares_with": most and most.page.url,
    }


def show_runs(session: Session, query: Fields) -> Values:
    """List of runs, the last one first, with the numbers of their pages."""
    limit = rows_asked(query)
    with session.reading() as connection:
        runs = list_runs(connection, limit + 1, row_after(query) or None)
        rows = runs_as_rows(connection, runs[:limit])
    return {"rows": rows, "next": rows[-1]["id"] if len(runs) > limit else None}


def runs_as_rows(connection: Connection, runs: Sequence[RunRecord]) -> list[dict[str, Any]]:
    """Convert runs to data, each with the numbers of its pages."""
    counts = verdict_counts(connection, [run.id for run in runs])
    return [{**run.as_dict(), "pages": counts[run.id]} for run in runs]


def show_run(session: Session, query: Fields) -> Values:
    """One run: its pages by verdict and reason, and beside the run before."""
    number = read_field(query, "id", count) or 0
    with session.reading() as connection:
        runs = [run for run in list_runs(connection, 1, number + 1) if run.id == number]
        if not runs:
            raise RequestError(f"there is no run {number}", 404)
        return {
            "run": runs[0].as_dict(),
            "pages": verdict_counts(connection, [number])[number],
            "before": previous_run(connection, number),
        }
