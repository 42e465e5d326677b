"""What the sub-commands of `scrapy dedup` do. Each returns its exit status."""

from __future__ import annotations

import json
import sys
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from scrapy.exceptions import UsageError

from shingling.errors import NoStoreError, ShinglingError
from shingling.plugin.measuring import compare_texts, similar
from shingling.plugin.opening import open_store
from shingling.plugin.output import (
    FAILED,
    FOUND,
    NOT_FOUND,
    print_json,
    print_pages,
    print_table,
    shown_value,
)
from shingling.plugin.settings import DedupSettings
from shingling.sketch import MOST_DISTANCE, Banding
from shingling.store import DEFAULT_CONTAINMENT, Rules
from shingling.text import plain_line

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from scrapy.settings import BaseSettings

    from shingling.store import Index, Store


_EVENT_THRESHOLD = 0.1


def run(name: str, options: argparse.Namespace, settings: BaseSettings) -> int:
    """Run a sub-command and return its exit status; errors are one line on stderr."""
    try:
        configured = DedupSettings.read(settings, crawl=False)
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
        shown = store.status()
        shown["last_runs"] = store.runs(5)
        index = store.index
    if options.json:
        return print_json(shown)
    rows = [
        ("store", shown["url"]),
        ("size", f"{shown['bytes'] / 1e6:,.1f} MB"),
        ("pages", f"{shown['pages']:,}"),
        ("originals", f"{shown['originals']:,}"),
        (
            "duplicates",
            f"{shown['duplicates']:,} ({shown['exact']:,} exact, {shown['near']:,} near)",
        ),
        ("runs", f"{shown['runs']:,}"),
        ("scheme", _scheme_line(shown["scheme"])),
        ("index", str(index)),
    ]
    print_table(["", ""], rows, header=False)
    if shown["last_runs"]:
        print()
        print_table(
            ["run", "spider", "started", "outcome", "verdicts"],
            [
                (
                    str(run["id"]),
                    run["spider"],
                    run["started"].removesuffix("+00:00").replace("T", " "),
                    run["outcome"] or "did not end",
                    ", ".join(f"{number} {status}" for status, number in run["counts"].items()),
                )
                for run in shown["last_runs"]
            ],
        )
    return FOUND


def _scheme_line(scheme: dict[str, Any]) -> str:
    """Return shingle size, id, and the parameters that are not the default."""
    others = {
        name: value
        for name, value in scheme.items()
        if name not in ("id", "shingle_size", "version", "unit")
    }
    unit = "character" if scheme.get("unit") == "characters" else "word"
    line = f"{scheme['shingle_size']}-{unit} shingles, {scheme['id']}"
    return f"{line}, {json.dumps(others)}" if others else line


def _show(options: argparse.Namespace, settings: DedupSettings) -> int:
    with open_store(options, settings) as store:
        found = store.find(options.url)
        duplicates = {page.id: store.duplicates(page) for page in found}
        texts = {page.id: store.text(page) if options.text else None for page in found}
    if options.json:
        print_json(
            [
                {
                    **page.as_dict(),
                    "duplicates": [duplicate.as_dict() for duplicate in duplicates[page.id]],
                    **({"text": texts[page.id]} if options.text else {}),
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
            for name, value in page.as_dict().items()
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
    return FOUND


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


def _forget(options: argparse.Namespace, settings: DedupSettings) -> int:
    if not (options.url or options.site or options.run is not None):
        raise UsageError("name URLs, or --site, or --run", print_help=False)
    with open_store(options, settings) as store:
        number = store.count(options.url, site=options.site, run=options.run)
        if (
            number
            and not options.yes
            and not _confirmed(f"Forget {number:,} {'page' if number == 1 else 'pages'}?")
        ):
            if options.json:
                print_json({"forgotten": 0})
            else:
                print("nothing was forgotten")
            return NOT_FOUND
        if number:
            rules = _fitting(settings.rules, store)
            number = store.forget(options.url, site=options.site, run=options.run, rules=rules)
    if options.json:
        print_json({"forgotten": number})
    else:
        print(f"{number:,} {'page' if number == 1 else 'pages'} forgotten")
    return FOUND if number else NOT_FOUND


def _fitting(rules: Rules, store: Store) -> Rules | None:
    """Return the rules where they are such as the store was indexed for, else None."""
    usual = store.index.usual_rules()
    fit = (rules.method == "simhash") == (usual.method == "simhash")
    return rules if fit and (rules.containment is None) == (usual.containment is None) else None


def _rebuild(options: argparse.Namespace, settings: DedupSettings) -> int:
    threshold = settings.threshold if options.threshold is None else options.threshold
    if not 0 < threshold <= 1:
        raise UsageError("--threshold takes a number above 0, at most 1", print_help=False)
    if options.threshold is None and options.method is None and options.containment is None:
        raise UsageError("name --threshold, --method or --containment", print_help=False)
    with open_store(options, settings) as store:
        sampled = store.index.sampled if options.containment is None else options.containment
        method = options.method or _method_of(store, settings)
        rules = Rules(
            threshold=threshold,
            method=method,
            containment=DEFAULT_CONTAINMENT if sampled else None,
        )
        index = store.rebuild(rules=rules)
    if options.json:
        shown: dict[str, Any] = index.columns()
        if isinstance(index.keys_of, Banding) and "minhash" in method:
            shown["recall"] = round(index.keys_of.recall(threshold), 4)
        return print_json(shown)
    print(f"{index}, which find {_found(index, method, threshold)}")
    return FOUND


def _method_of(store: Store, settings: DedupSettings) -> str:
    """Return the method of the settings; where that is `exact`, the index's own."""
    return store.index.usual_rules().method if settings.method == "exact" else settings.method


def _found(index: Index, method: str, threshold: float) -> str:
    if not isinstance(index.keys_of, Banding):
        return f"all pairs within {MOST_DISTANCE} bits"
    if method == "megashingle":
        return "all pairs with an equal megashingle"
    return f"{index.keys_of.recall(threshold):.1%} of the pairs at {threshold:g}"


def _tune(options: argparse.Namespace, settings: DedupSettings) -> int:
    from shingling.plugin.tune import tune

    try:
        store = open_store(options, settings)
    except NoStoreError:
        if options.pairs is None or options.store:
            raise
        # Pairs of texts need no store.
        return tune(options, None, settings.scheme, settings.rules)
    with store:
        return tune(options, store, store.scheme, settings.rules)


def _upgrade(options: argparse.Namespace, settings: DedupSettings) -> int:
    with open_store(options, settings) as store:
        revision = store.status()["revision"]
    if options.json:
        return print_json({"revision": revision})
    print(f"the store is up to date (revision {revision})")
    return FOUND


_COMMANDS: dict[str, Callable[[argparse.Namespace, DedupSettings], int]] = {
    "status": _status,
    "show": _show,
    "similar": similar,
    "compare": compare_texts,
    "groups": _groups,
    "list": _list,
    "forget": _forget,
    "rebuild": _rebuild,
    "tune": _tune,
    "upgrade": _upgrade,
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


def _confirmed(question: str) -> bool:
    print(f"{question} [y/N] ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")
