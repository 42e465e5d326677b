"""Lists of pages that fulfil a filter, the newest first, within bounded time."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, NamedTuple, TypedDict

from sqlalchemy import func, select, text

from shingling.store.queries import stored_pages
from shingling.store.schema.tables import fetch_rows, pages, site_blocks
from shingling.store.templates import SiteCache, Templates
from shingling.store.urls import pasted_site, site_of
from shingling.store.verdicts import CHANGES, previous_run
from shingling.text import PreparedText, without_marks

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from shingling.store.model import StoredPage
    from shingling.store.moving import LineCounts

STATUSES = ("new", "exact", "near", "skipped")
"""As what pages stand; any other status that is asked for is a verdict."""

MAX_WORDS = 8
TEXT_OF_PAGE = "coalesce(pages.title, '') || ' ' || pages.url"
_IDS_AT_ONCE = 10_000
_SECONDS = 0.25  # after which a list ends, and says where it goes on

_NEWEST_TEXTS = (
    "SELECT zlib FROM texts JOIN pages ON pages.id = page_id WHERE site = ?"
    " ORDER BY pages.id DESC LIMIT 256"
)

_HAS = "lower({}) LIKE lower(:{}) ESCAPE '/'"
_CONDITIONS = {
    "title": _HAS.format("pages.title", "title"),
    "site": "pages.site = :site",
    "since": "pages.last_seen >= :since",
    "until": "pages.last_seen < :until",
    "reason": "pages.reason = :reason",
    "run": "pages.id = verdicts.page_id",
}
_STANDINGS = {
    "original": "pages.original_id IS NULL AND pages.status <> 'skipped'",
    "duplicate": "pages.original_id IS NOT NULL",
    **dict.fromkeys(STATUSES, "pages.status = :status"),
}


class PageFilter(TypedDict, total=False):
    """Which pages are asked for; None asks for nothing.

    Args:
        words: each is in the title or the URL.
        title: these words are in the title, as they stand.
        site: its host, or any URL of it.
        status: one of `STATUSES`, `original` or `duplicate`; otherwise the last verdict. With
            `run`, the verdict of the run.
        reason: why pages stand so; with `run`, of its verdict.
        since, until: last seen at or after, and before: seconds since 1970.
        run: that has met them.
        change: of its pages, those that differ from the run before: one of `CHANGES`.
    """

    words: str | None
    title: str | None
    site: str | None
    status: str | None
    reason: str | None
    since: float | None
    until: float | None
    run: int | None
    change: str | None


def ids_query(connection: Connection, wanted: PageFilter) -> tuple[str, dict[str, Any]]:
    """Write the SQL that selects the ids of pages that fulfil a filter, and its values."""
    values: dict[str, Any] = {name: value for name, value in wanted.items() if value is not None}
    conditions = ["1 = 1", *(_CONDITIONS[name] for name in values if _CONDITIONS.get(name))]
    source, change = "pages", values.pop("change", None)
    has_words, words = word_conditions(values.pop("words", ""))
    conditions += has_words
    values |= words
    if "title" in values:
        values["title"] = _containing(values["title"])
    if "site" in values:
        values["site"] = pasted_site(values["site"])
    status = _STANDINGS.get(values.get("status", ""), "pages.last_verdict = :status")
    if "run" in values:
        source = "verdicts CROSS JOIN pages"  # in this order: a run may have met few pages
        status = "verdicts.verdict = :status"
        conditions.append(CHANGES.get(change or "", "verdicts.run_id = :run"))
        if change is not None:
            values["before"] = previous_run(connection, values["run"]) or 0
    if "status" in values:
        conditions.append(status)
    where = " AND ".join(conditions)
    if "run" in values:
        where = where.replace("pages.reason", "verdicts.reason")
    return f"SELECT pages.id FROM {source} WHERE {where}", values  # noqa: S608 (ours)


def word_conditions(words: str, searched: str = TEXT_OF_PAGE) -> tuple[list[str], dict[str, Any]]:
    """Write the SQL conditions that a text has each of some words, and their values."""
    values = {f"word{n}": _containing(word) for n, word in enumerate(words.split()[:MAX_WORDS])}
    return [_HAS.format(searched, name) for name in values], values


def _containing(words: str) -> str:
    """Pattern of LIKE for a text that has these words, as they stand."""
    for char in "/%_":
        words = words.replace(char, f"/{char}")
    return f"%{words}%"


class PageList(NamedTuple):
    """Some pages of a list.

    Args:
        rows: the newest first.
        next: id before which the list goes on; None at its end.
        total: pages that fulfil the filter, from the first one here on, as far as was looked; below
            0 if so many of those that are left out are still ahead.
        whole: whether all were looked at.
    """

    rows: list[StoredPage]
    next: int | None
    total: int
    whole: bool


def list_pages(
    connection: Connection,
    wanted: PageFilter,
    before: int | None = None,
    limit: int = 50,
    skip: int = 0,
) -> PageList:
    """Read pages that fulfil a filter, as far as that takes a fraction of a second.

    Pages are looked at by their ids, some thousand at once: no index knows what is in a title.

    Args:
        connection: to the store.
        wanted: the filter.
        before: `next` of the list before.
        limit: at most so many.
        skip: pages that fulfil it, and are left out at the beginning.
    """
    query, values = ids_query(connection, wanted)
    page_id = "verdicts.page_id" if "run" in values else "pages.id"
    part = text(f"{query} AND {page_id} >= :low AND {page_id} < :top ORDER BY {page_id} DESC")
    top = before or (connection.scalar(select(func.max(pages.c.id))) or 0) + 1
    ids: list[int] = []
    total, ends = 0, time.monotonic() + _SECONDS
    while top > 1 and time.monotonic() < ends:
        low = max(top - _IDS_AT_ONCE, 1)
        matching = connection.scalars(part, {**values, "low": low, "top": top}).all()
        ids += matching[: skip + limit + 1 - len(ids)]
        total, top = total + len(matching), low
    ids = ids[skip:]
    shown = ids[:limit]
    following = shown[-1] if len(ids) > limit else top if top > 1 else None
    read = stored_pages(connection, shown)
    return PageList([read[page_id] for page_id in shown], following, total - skip, top <= 1)


def moving_lines_of(connection: Connection, site: str) -> list[dict[str, Any]]:
    """Find the lines of a site that are known to move; otherwise as `Store.moving_lines`."""
    templates = Templates(connection, SiteCache())
    counts: dict[int, LineCounts] = {}
    for (server,) in connection.execute(select(site_blocks.c.site).distinct()):
        if site_of(f"http://{server}") == site:
            counts |= templates.site(server).lines
    lines = {
        key: "" for key in sorted(counts, key=lambda key: -counts[key].moved) if counts[key].moves
    }
    for (raw,) in fetch_rows(connection, _NEWEST_TEXTS, site) if lines else ():
        page = PreparedText.unpacked(raw)
        for key, line in zip(page.keys.tolist(), page.labelled_lines, strict=True):
            if lines.get(key) == "":
                lines[key] = without_marks(line.strip())
    return [
        {
            "stood": counts[key].stood,
            "moved": counts[key].moved,
            "keeps_moving": counts[key].keeps_moving,
            "line": line,
        }
        for key, line in lines.items()
    ]
