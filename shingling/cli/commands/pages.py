"""The commands that print what is stored: `status`, `list`, `show` and `groups`; and `upgrade`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from scrapy.exceptions import UsageError

from shingling.console.opening import open_store
from shingling.console.options import (
    CSV,
    DEFAULT_LIMIT,
    MAX_WHOLE_NUMBER,
    flag,
    limit,
    one_of,
    option,
    site,
    text,
    time,
    whole_number,
)
from shingling.console.output import (
    FOUND,
    NOT_FOUND,
    counted,
    cut_url,
    print_found,
    print_json,
    print_lines,
    print_pages,
    print_result,
    print_table,
)
from shingling.console.subcommand import HelpGroup, Subcommand
from shingling.errors import StoreError
from shingling.rules.reasons import Reason

if TYPE_CHECKING:
    from collections.abc import Iterable

    from shingling.cli.explain import Explained
    from shingling.console.options import CommandOptions
    from shingling.sketch import Scheme
    from shingling.store.model import Group, SplitText, StoredPage, StoreStatus
    from shingling.store.run_records import RunRecord
    from shingling.store.store import Store

_RUNS_SHOWN, _RUNS_LOOKED_AT = 5, 1000
_LAST = "last"
_SAID = ("run", "spider", "started", "verdict", "reason", "resemblance", "original")


def _status(options: CommandOptions) -> int:
    with open_store(options) as store:
        status, last_runs = store.status(), store.runs(_RUNS_SHOWN)
    if options.json:
        return print_json({**status.as_dict(), "last_runs": last_runs})
    _print_status(status)
    if last_runs:
        print_lines("")
        _print_runs(last_runs)
    return FOUND


def _print_status(status: StoreStatus) -> None:
    from shingling.store.backends.base import MAX_PAGES_PER_KEY

    *before, extractor = status.extractors or ("",)
    if before:
        extractor += f" (older texts: {', '.join(before)})"
    kept = f"{status.own_text:,} for their text, {status.other_fields:,} for their fields"
    full_keys = f"{status.full_keys:,} (each is shared by over {MAX_PAGES_PER_KEY} originals)"
    url_rules = f"{counted(status.url_rules, 'rule')} on URLs (`scrapy dedup rules`)"
    rows = [
        ("store", status.url),
        ("size", f"{status.bytes / 1e6:,.1f} MB"),
        ("pages", f"{status.pages:,}"),
        ("originals", f"{status.originals:,}"),
        ("skipped", f"{status.skipped:,}" if status.skipped else ""),
        ("duplicates", f"{status.duplicates:,} ({status.exact:,} exact, {status.near:,} near)"),
        ("runs", f"{status.runs:,}"),
        ("scheme", _scheme_line(status.scheme)),
        ("index", str(status.index)),
        ("extractor", extractor),
        ("kept", kept if status.own_text or status.other_fields else ""),
        ("reviews", f"{status.reviews:,}" if status.reviews else ""),
        ("full keys", full_keys if status.full_keys else ""),
        ("fetches", url_rules if status.url_rules else ""),
    ]
    print_table(["", ""], [row for row in rows if row[1]])


def _print_runs(runs: list[RunRecord]) -> None:
    counts = [name.replace("_", " ") for name in runs[0].items]
    print_table(
        ["run", "spider", "started", "outcome", *counts],
        [
            (
                str(run.id),
                run.spider,
                f"{run.started:%Y-%m-%d %H:%M:%S}",
                run.state,
                *("" if number is None else f"{number:,}" for number in run.items.values()),
            )
            for run in runs
        ],
    )


def _scheme_line(used: Scheme) -> str:
    """Shingle size, id, and the parameters that are not the default."""
    others = used.describe()
    unit = "character" if others.pop("unit", "") == "characters" else "word"
    del others["version"]
    line = f"{others.pop('shingle_size')}-{unit} shingles, {used.id}"
    return f"{line}, {json.dumps(others)}" if others else line


def _upgrade(options: CommandOptions) -> int:
    with open_store(options) as store:  # opening it upgrades it
        revision = store.status().revision
    return print_result(
        options, {"revision": revision}, f"the store is up to date (revision {revision})"
    )


def _list(options: CommandOptions) -> int:
    options.limit = options.limit or (MAX_WHOLE_NUMBER if options.data_formats else DEFAULT_LIMIT)
    if options.change is not None and options.run is None:
        raise UsageError("--change is of a run: name it by --run")
    with open_store(options) as store:
        if options.run == _LAST:
            options.run = _last_crawl(store)
        pages = list(
            store.pages(
                status=options.status,
                reason=options.reason,
                site=options.site,
                title=options.title,
                run=options.run,
                change=options.change,
                since=options.since,
                until=options.until,
                limit=options.limit + 1,
            )
        )
    return print_found(pages, options, print_pages, "no such pages are stored")


def _last_crawl(store: Store) -> int:
    """Find the last crawl that has finished: one that was cut off has not met all pages."""
    from shingling.store.runs import NO_CRAWLS

    for run in store.runs(_RUNS_LOOKED_AT):
        if run.outcome == "finished" and run.spider not in NO_CRAWLS:
            return run.id
    raise StoreError(f"none of the last {_RUNS_LOOKED_AT} runs is a crawl that has finished")


def _run_number(value: str) -> Any:
    return value if value == _LAST else whole_number(1)(value)


def _show(options: CommandOptions) -> int:
    if (options.url is None) == (options.site is None):
        raise UsageError("name a URL, or a site by --site")
    if options.site is not None:
        return _show_site(options)
    with open_store(options) as store:
        pages = store.find_pasted(options.url)
        if options.json:
            print_json([_page_as_dict(page, options, store) for page in pages])
        else:
            for page in pages:
                _print_page(page, options, store)
    if not pages and not options.json:
        print_lines(
            f"{options.url} is not stored: no run has met it, it had no text to compare, or it was"
            " forgotten"
        )
    return FOUND if pages else NOT_FOUND


def _show_site(options: CommandOptions) -> int:
    """Print the lines of a site that move."""
    with open_store(options) as store:
        lines = store.moving_lines(options.site)
    return print_found(
        lines,
        options,
        lambda shown: print_table([*shown[0]], [[*map(str, line.values())] for line in shown]),
        f"no line of {options.site} is known to move",
    )


def _columns(page: StoredPage, split: SplitText | None) -> dict[str, Any]:
    template = {} if split is None else {"template": round(split.template_share, 4)}
    return {**page.as_dict(), **template}


def _page_as_dict(page: StoredPage, options: CommandOptions, store: Store) -> dict[str, Any]:
    split = store.split_text(page)
    shown: dict[str, Any] = {
        "duplicates": store.duplicates(page),
        "verdicts": store.verdicts(page),
        **_columns(page, split),
    }
    if page.status == "skipped":
        from shingling.store.decided import rounded_measures

        most = store.shares_most(page)
        shown["shares_most_with"] = most and {"url": most.page.url, **rounded_measures(most)}
    if options.text:
        shown["text"] = store.text(page)
    if explained := _explained(page, split, options, store):
        shown["explained"] = explained.as_dict(store.scheme)
    return shown


def _explained(
    page: StoredPage, split: SplitText | None, options: CommandOptions, store: Store
) -> Explained | None:
    """Page beside its original, or the one that it would follow, with `--explain`."""
    if not options.explain:
        return None
    from shingling.cli.explain import Explained
    from shingling.store.decided import page_beside

    other = page_beside(page, page.original or page.compared_with, store.find)
    text = None if other is None else store.split_text(other)
    if other is None or split is None or text is None:
        return None
    return Explained.of_pages(store, page, other, (split, text))


def _print_page(page: StoredPage, options: CommandOptions, store: Store) -> None:
    from shingling.store.decided import change_said, why

    split = store.split_text(page)
    measured = {"resemblance": page.resemblance, "containment": page.containment}
    columns = {**_columns(page, split), **measured, "fields": ", ".join(page.fields)}
    columns["threshold"] = columns["own_text"] = None  # as part of what decided
    columns["compared_title"] = None
    columns["change"] = page.change and change_said(page.change)
    if page.resemblance is not None or page.reason is not None:
        columns["decided"] = why(page)
    if page.status == "skipped":
        most = store.shares_most(page)
        columns["shares"] = most and f"{most.shared_by(page.words)} {most.page.url}"
    rows = [
        (name.replace("_", " "), _cell(name, value))
        for name, value in columns.items()
        if value not in (None, "")
    ]
    print_table(["", ""], rows)
    if verdicts := store.verdicts(page):
        print_lines("")
        print_table(
            _SAID, [[_cell(name, verdict[name] or "") for name in _SAID] for verdict in verdicts]
        )
    if duplicates := store.duplicates(page):
        print_lines("")
        print_pages(duplicates)
    text = store.text(page) if options.text else None
    if text is not None:
        print_lines("", "Compared text, of the item or by the extractor from its page:")
        print_lines(*map(str.strip, text.splitlines()))
    if explained := _explained(page, split, options, store):
        other = "its original" if page.original else "the page that it would follow"
        print_lines("", f"Beside {other} (B), {page.original or page.compared_with}:")
        explained.print_decision()
        explained.print_texts(store.scheme)


def _cell(name: str, value: Any) -> str:
    """Column of a stored page as a person reads it."""
    if isinstance(value, float):
        return f"{value:.3f}"
    if name in ("first_seen", "last_seen", "started"):
        return str(value).replace("T", " ").removesuffix("+00:00")
    return str(value)


def _groups(options: CommandOptions) -> int:
    with open_store(options) as store:
        groups = list(store.groups(options.limit + 1, site=options.site))
    return print_found(groups, options, _print_groups, "no duplicates are stored")


def _print_groups(groups: Iterable[Group]) -> None:
    for group in groups:
        print_lines(f"{cut_url(group.original.url)}  {group.original.title or ''}")
        for page in group.duplicates:
            twin = page.compared_with
            equal = f"  (the text of {cut_url(twin)})" if twin else ""
            print_lines(
                f"  {page.resemblance or 0:.3f} {page.status:<5} {cut_url(page.url)}{equal}"
            )


_SITE = option("--site", "host, or any URL of it", type=site)

COMMANDS = (
    Subcommand(
        name="status",
        group=HelpGroup.LOOK,
        summary="count pages, originals, duplicates and runs",
        example="--json",
        run=_status,
    ),
    Subcommand(
        name="upgrade",
        group=HelpGroup.MAINTAIN,
        summary="bring the tables of the store up to date",
        example="",
        run=_upgrade,
    ),
    Subcommand(
        name="list",
        group=HelpGroup.LOOK,
        summary="list stored pages",
        example="--status near --site example.com",
        options=(
            option(
                "--status",
                "present status of a page, or its last verdict; with --run, that of the run:"
                " new, exact, near, unchanged, changed or skipped",
                metavar="STATUS",
                type=one_of(
                    *("new", "exact", "near", "unchanged", "changed", "skipped"),
                    dropped="near or exact",
                    duplicate="near or exact",
                    original="new",
                ),
            ),
            _SITE,
            option(
                "--reason",
                "why pages stand so, such as own_text; with --run, of its verdicts",
                metavar="REASON",
                type=one_of(*Reason),
            ),
            option("--title", "words in their titles", metavar="WORDS", type=text),
            option(
                "--run",
                "pages that this run has met; last: the last crawl that has finished",
                metavar="RUN",
                type=_run_number,
            ),
            option(
                "--change",
                "of these, those that differ from the run before: new there, missing, in"
                " another group, newly skipped",
                choices=["came", "went", "moved", "skipped"],
            ),
            option(
                "--since",
                "seen since a date or time in ISO 8601 (UTC)",
                metavar="TIME",
                type=time,
            ),
            option("--until", "last seen before", metavar="TIME", type=time),
            CSV,
            flag("--jsonl", "print JSON lines"),
            limit("pages; all with --json, --csv and --jsonl", default=None),
        ),
        run=_list,
    ),
    Subcommand(
        name="show",
        group=HelpGroup.LOOK,
        summary="show what is stored of a URL, or which lines of a site move",
        example="https://example.com/article",
        options=(
            option("url", metavar="URL", type=text, nargs="?"),
            option("--site", "its lines that move; host, or any URL of it", type=site),
            flag("--text", "print the compared text as well"),
            flag(
                "--explain",
                "show what is compared: shared and differing passages, and what is left out",
            ),
        ),
        run=_show,
    ),
    Subcommand(
        name="groups",
        group=HelpGroup.LOOK,
        summary="list originals with their duplicates",
        example="--limit 5",
        options=(_SITE, CSV, limit("groups")),
        run=_groups,
    ),
)
