"""What the sub-commands of `scrapy dedup` do. Each returns its exit status."""

from __future__ import annotations

import json
import sys
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from scrapy.exceptions import UsageError

from shingling.cli import maintain as upkeep, transfer as exchange
from shingling.cli.bulk import bulk
from shingling.cli.compare import compare_texts, similar
from shingling.cli.explain import explained, print_explained
from shingling.cli.opening import open_store
from shingling.cli.output import (
    FAILED,
    FOUND,
    NOT_FOUND,
    print_json,
    print_pages,
    print_table,
    shown_value,
)
from shingling.errors import NoStoreError, ShinglingError
from shingling.plugin.settings import DedupSettings
from shingling.store import MOST, STATUSES
from shingling.text import plain_line

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from scrapy.settings import BaseSettings

    from shingling.sketch import Scheme
    from shingling.store import Parted, Store, StoredPage

_EVENT_THRESHOLD = 0.1


def run(name: str, options: argparse.Namespace, settings: BaseSettings) -> int:
    """Run a sub-command and return its exit status; errors are one line on stderr."""
    try:
        configured = DedupSettings.from_settings(settings, crawl=False)
        return _COMMANDS[name](options, configured)
    except UsageError:
        raise
    except BrokenPipeError:  # the reader has seen enough
        sys.stdout = None
        return FOUND
    except ShinglingError as error:
        print(f"scrapy dedup {name}: {error}", file=sys.stderr)
        return FAILED
    except OSError as error:
        print(f"scrapy dedup {name}: {error.filename}: {error.strerror}", file=sys.stderr)
        return FAILED


def _status(options: argparse.Namespace, settings: DedupSettings) -> int:
    with open_store(options, settings) as store:
        status, last_runs = store.status(), store.runs(5)
    if options.json:
        return print_json({**status.as_dict(), "last_runs": [run.as_dict() for run in last_runs]})
    rows = [
        ("store", status.url),
        ("size", f"{status.bytes / 1e6:,.1f} MB"),
        ("pages", f"{status.pages:,}"),
        ("originals", f"{status.originals:,}"),
        (
            "duplicates",
            f"{status.duplicates:,} ({status.exact:,} exact, {status.near:,} near)",
        ),
        ("runs", f"{status.runs:,}"),
        ("scheme", _scheme_line(status.scheme)),
        ("index", str(status.index)),
        ("exact", status.exact_means),
    ]
    if status.reviews:
        rows.append(("reviews", f"{status.reviews:,}"))
    if status.full_keys:
        rows.append(
            ("full keys", f"{status.full_keys:,} (each is shared by over {MOST} originals)")
        )
    if status.rebuilding:
        rows.append(("rebuild", "has begun and not ended: run `scrapy dedup rebuild --resume`"))
    print_table(["", ""], rows, header=False)
    if last_runs:
        print()
        print_table(
            ["run", "spider", "started", "outcome", "verdicts"],
            [
                (
                    str(run.id),
                    run.spider,
                    f"{run.started:%Y-%m-%d %H:%M:%S}",
                    run.outcome or "did not end",
                    ", ".join(f"{run.counts[one]} {one}" for one in STATUSES if one in run.counts),
                )
                for run in last_runs
            ],
        )
    return FOUND


def _scheme_line(used: Scheme) -> str:
    """Shingle size, id, and the parameters that are not the default."""
    scheme = used.shown()
    others = {
        name: value
        for name, value in scheme.items()
        if name not in ("shingle_size", "version", "unit")
    }
    unit = "character" if scheme.get("unit") == "characters" else "word"
    line = f"{scheme['shingle_size']}-{unit} shingles, {used.id}"
    return f"{line}, {json.dumps(others)}" if others else line


def _show(options: argparse.Namespace, settings: DedupSettings) -> int:
    with open_store(options, settings) as store:
        found = store.find(options.url)
        duplicates = {page.id: store.duplicates(page) for page in found}
        texts = {page.id: store.text(page) if options.text else None for page in found}
        parted = {page.id: store.parted(page) for page in found}
        originals = {
            page.id: _original_of(page, store) if options.explain else None for page in found
        }
        scheme = store.scheme
    if options.json:
        print_json(
            [
                {
                    **page.as_dict(),
                    "duplicates": [duplicate.as_dict() for duplicate in duplicates[page.id]],
                    **_template(parted[page.id]),
                    **({"text": texts[page.id]} if options.text else {}),
                    **_explained(parted[page.id], originals[page.id], scheme),
                }
                for page in found
            ]
        )
        return FOUND if found else NOT_FOUND
    if not found:
        print(f"{plain_line(options.url)} is not stored")
        return NOT_FOUND
    for page in found:
        rows = [
            (name.replace("_", " "), shown_value(name, value))
            for name, value in {**page.as_dict(), **_template(parted[page.id])}.items()
            if value not in (None, "")
        ]
        print_table(["", ""], rows, header=False)
        if duplicates[page.id]:
            print()
            print_pages(duplicates[page.id])
        text = texts[page.id]
        if text is not None:
            print()
            print("\n".join(plain_line(line) for line in text.splitlines()))
        own, other = parted[page.id], originals[page.id]
        if own is not None and other is not None:
            print(f"\nBeside its original (B), {plain_line(page.original or '')}:")
            print_explained(own, other, scheme)
    return FOUND


def _original_of(page: StoredPage, store: Store) -> Parted | None:
    """Return the text of a page's original, where it is stored and has one."""
    found = store.find(page.original) if page.original is not None else []
    return next((store.parted(one) for one in found if one.scope == page.scope), None)


def _template(own: Parted | None) -> dict[str, float]:
    return {} if own is None else {"template": round(own.share, 4)}


def _explained(own: Parted | None, other: Parted | None, scheme: Scheme) -> dict[str, Any]:
    return {} if own is None or other is None else {"explained": explained(own, other, scheme)}


def _groups(options: argparse.Namespace, settings: DedupSettings) -> int:
    if options.by != "event" and (options.threshold is not None or options.days is not None):
        raise UsageError("--threshold and --days go with --by event", print_help=False)
    threshold = _EVENT_THRESHOLD if options.threshold is None else options.threshold
    if not 0 < threshold <= 1:
        raise UsageError("--threshold takes a number above 0, at most 1", print_help=False)
    if options.days is not None and options.days <= 0:
        raise UsageError("--days takes a number above 0", print_help=False)
    _check_limit(options)
    with open_store(options, settings) as store:
        groups = (
            store.events(threshold, days=options.days, limit=options.limit)
            if options.by == "event"
            else list(store.groups(options.limit))
        )
    if options.json:
        print_json(
            [
                {
                    "original": group.original.as_dict(),
                    "duplicates": [page.as_dict() for page in group.duplicates],
                }
                for group in groups
            ]
        )
    else:
        for group in groups:
            print(f"{plain_line(group.original.url)}  {plain_line(group.original.title or '')}")
            for page in group.duplicates:
                title = f"  {plain_line(page.title or '')}" if options.by == "event" else ""
                estimated = "~" if options.by == "event" else ""
                measured = f"{estimated}{page.resemblance or 0:.3f} "
                print(f"  {measured}{page.status:<5} {plain_line(page.url)}{title}")
        if not groups:
            kind = "originals so alike" if options.by == "event" else "duplicates"
            print(f"no {kind} are stored")
    return FOUND if groups else NOT_FOUND


def _list(options: argparse.Namespace, settings: DedupSettings) -> int:
    _check_limit(options)
    since = None if options.since is None else _seconds(options.since)
    with open_store(options, settings) as store:
        pages = list(
            store.pages(status=options.status, site=options.site, since=since, limit=options.limit)
        )
    if options.json:
        print_json([page.as_dict() for page in pages])
    elif pages:
        print_pages(pages)
    else:
        print("no such pages are stored")
    return FOUND if pages else NOT_FOUND


def _tune(options: argparse.Namespace, settings: DedupSettings) -> int:
    from shingling.cli.tune import tune

    try:
        store = open_store(options, settings)
    except NoStoreError:
        if options.pairs is None or options.store:
            raise
        # Pairs of texts need no store.
        return tune(options, None, settings.scheme, settings.rules)
    with store:
        return tune(options, store, store.scheme, settings.rules)


_COMMANDS: dict[str, Callable[[argparse.Namespace, DedupSettings], int]] = {
    "status": _status,
    "show": _show,
    "similar": similar,
    "compare": compare_texts,
    "groups": _groups,
    "list": _list,
    "forget": upkeep.forget,
    "prune": upkeep.prune,
    "rebuild": upkeep.rebuild,
    "review": upkeep.review,
    "bulk": bulk,
    "export": exchange.export,
    "import": exchange.import_,
    "vacuum": upkeep.vacuum,
    "tune": _tune,
    "upgrade": upkeep.upgrade,
}


def _check_limit(options: argparse.Namespace) -> None:
    if options.limit is not None and options.limit < 1:
        raise UsageError("--limit takes a whole number above 0", print_help=False)


def _seconds(time: str) -> float:
    try:
        moment = datetime.fromisoformat(time)
    except ValueError:
        raise UsageError("--since takes a date such as 2026-11-21", print_help=False) from None
    return moment.replace(tzinfo=moment.tzinfo or UTC).timestamp()
