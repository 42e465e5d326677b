"""The commands that change the store: what is kept, how it is indexed, and what was decided."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from scrapy.exceptions import UsageError

from shingling.cli.opening import open_store
from shingling.cli.output import FOUND, NOT_FOUND, print_json, print_table
from shingling.defaults import DEFAULT_CONTAINMENT, MOST_DISTANCE
from shingling.sketch import Banding
from shingling.store import Rules
from shingling.text import plain_line

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterator

    from shingling.plugin.settings import DedupSettings
    from shingling.store import Changes, Index, Store


def forget(options: argparse.Namespace, settings: DedupSettings) -> int:
    """Remove pages by URL, site or run."""
    if not (options.url or options.site or options.run is not None):
        raise UsageError("name URLs, or --site, or --run", print_help=False)
    chosen = {"urls": options.url, "site": options.site, "run": options.run}
    return _remove(options, settings, chosen, "forgotten")


def prune(options: argparse.Namespace, settings: DedupSettings) -> int:
    """Remove pages that were not seen for long."""
    if options.older_than <= 0:
        raise UsageError("--older-than takes a number of days above 0", print_help=False)
    chosen = {"site": options.site, "older_than": options.older_than}
    return _remove(options, settings, chosen, "pruned")


def _remove(
    options: argparse.Namespace, settings: DedupSettings, chosen: dict[str, Any], done: str
) -> int:
    with open_store(options, settings) as store:
        number = store.admin.forget(**chosen, dry_run=True)
        question = f"Remove {number:,} {'page' if number == 1 else 'pages'} from the store?"
        if number and not options.yes and not _confirmed(question):
            if options.json:
                print_json({done: 0})
            else:
                print(f"nothing was {done}")
            return NOT_FOUND
        if number:
            number = store.admin.forget(**chosen, rules=_fitting(settings.rules, store))
    if options.json:
        print_json({done: number})
    else:
        print(f"{number:,} {'page' if number == 1 else 'pages'} {done}")
    return FOUND if number else NOT_FOUND


def _fitting(rules: Rules, store: Store) -> Rules | None:
    """Return the rules where they are such as the store was indexed for, else None."""
    usual = store.index.usual_rules()
    fit = (rules.method == "simhash") == (usual.method == "simhash")
    return rules if fit and (rules.containment is None) == (usual.containment is None) else None


def rebuild(options: argparse.Namespace, settings: DedupSettings) -> int:
    """Make the index anew, decide all pages again, or sign them again."""
    threshold = settings.threshold if options.threshold is None else options.threshold
    if not 0 < threshold <= 1:
        raise UsageError("--threshold takes a number above 0, at most 1", print_help=False)
    decide = options.decide or options.scheme
    given = [options.threshold, options.method, options.containment, options.decide or None]
    asked = any(option is not None for option in given) or options.scheme
    alone = sum([asked, options.resume, options.abandon])
    if alone != 1:
        raise UsageError(
            "name --threshold, --method, --containment, --decide or --scheme; or --resume or"
            " --abandon",
            print_help=False,
        )
    if options.dry_run and not decide:
        raise UsageError("--dry-run goes with --decide or --scheme", print_help=False)
    with open_store(options, settings) as store:
        if options.abandon:
            return _abandoned(options, store.admin.abandon_rebuild())
        if options.resume:
            with _progress("rebuilding") as progress:
                made = store.admin.resume_rebuild(progress)
            if made is None:
                print("no rebuild was interrupted")
                return NOT_FOUND
            index, changes = made
            rules = settings.rules
        else:
            rules = _rules_of(options, settings, store, threshold)
            changes = None
            if decide:
                scheme = settings.scheme if options.scheme else None
                with _progress("deciding") as progress:
                    changes = store.admin.redecide(
                        rules, scheme=scheme, dry_run=options.dry_run, progress=progress
                    )
                index = store.index
            else:
                with _progress("indexing") as progress:
                    index = store.admin.rebuild(rules=rules, progress=progress)
    if changes is not None:
        return _print_changes(options, changes, index)
    return _print_index(options, index, rules)


def _rules_of(
    options: argparse.Namespace, settings: DedupSettings, store: Store, threshold: float
) -> Rules:
    """Return the rules of the settings with what the options say instead."""
    method = options.method or _method_of(store, settings)
    if options.decide or options.scheme:
        method = options.method or settings.method
        containment = settings.containment
        if options.containment is not None:
            containment = DEFAULT_CONTAINMENT if options.containment else None
        return replace(settings.rules, threshold=threshold, method=method, containment=containment)
    sampled = store.index.sampled if options.containment is None else options.containment
    return Rules(
        threshold=threshold, method=method, containment=DEFAULT_CONTAINMENT if sampled else None
    )


def _method_of(store: Store, settings: DedupSettings) -> str:
    """Return the method of the settings; where that is `exact`, the index's own."""
    return store.index.usual_rules().method if settings.method == "exact" else settings.method


def _abandoned(options: argparse.Namespace, begun: bool) -> int:
    if options.json:
        print_json({"abandoned": begun})
    else:
        print("the rebuild is abandoned" if begun else "no rebuild was interrupted")
    return FOUND if begun else NOT_FOUND


def _print_index(options: argparse.Namespace, index: Index, rules: Rules) -> int:
    if options.json:
        shown: dict[str, Any] = index.columns()
        if isinstance(index.keys_of, Banding) and "minhash" in rules.method:
            shown["recall"] = round(index.keys_of.recall(rules.threshold), 4)
        return print_json(shown)
    print(f"{index}, which find {_found(index, rules)}")
    return FOUND


def _found(index: Index, rules: Rules) -> str:
    if not isinstance(index.keys_of, Banding):
        return f"all pairs within {MOST_DISTANCE} bits"
    if rules.method == "megashingle":
        return "all pairs with an equal megashingle"
    return f"{index.keys_of.recall(rules.threshold):.1%} of the pairs at {rules.threshold:g}"


def _print_changes(options: argparse.Namespace, changes: Changes, index: Index) -> int:
    if options.json:
        shown = {**changes.as_dict(), "dry_run": options.dry_run, "index": index.columns()}
        return print_json(shown)
    before, after = changes.originals
    print_table(
        ["", ""],
        [
            ("pages decided again", f"{changes.pages:,}"),
            ("originals", f"{before:,} before, {after:,} now"),
            ("new duplicates", f"{changes.to_duplicate:,}"),
            ("duplicates no longer", f"{changes.to_original:,}"),
            ("other original", f"{changes.moved:,}"),
        ],
        header=False,
    )
    if changes.examples:
        print()
        shown_as = [
            (one.url, one.before or "(an original)", one.after or "(an original)")
            for one in changes.examples
        ]
        print_table(["URL", "duplicate of, before", "now"], shown_as)
        left = changes.to_original + changes.to_duplicate + changes.moved - len(shown_as)
        if left:
            print(f"and {left:,} more")
    if options.dry_run:
        print("\nnothing was changed (--dry-run)")
    return FOUND


@contextmanager
def _progress(what: str) -> Iterator[Callable[[int, int], None] | None]:
    """Show a bar on standard error, where that is a terminal."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield None
        return
    columns = TextColumn(what), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task(what, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def review(options: argparse.Namespace, settings: DedupSettings) -> int:
    """Note a person's word on two pages, or list what was said."""
    said = options.same is not None or options.undo
    if len(options.url) > 2 or (len(options.url) == 2) != said:
        raise UsageError(
            "name two URLs with --same, --different or --undo; or one or none to list what was"
            " said",
            print_help=False,
        )
    if options.note is not None and options.same is None:
        raise UsageError("--note goes with --same or --different", print_help=False)
    with open_store(options, settings) as store:
        if not said:
            return _print_reviews(options, store)
        a, b = options.url
        stored = [bool(store.find(url)) for url in (a, b)]
        before = store.admin.review(
            a, b, same=options.same, note=options.note, rules=_fitting(settings.rules, store)
        )
        pages = [page for url in (a, b) for page in store.find(url)]
    if options.json:
        print_json([page.as_dict() for page in pages])
    else:
        for url, there in zip((a, b), stored, strict=True):
            if not there:
                print(f"{plain_line(url)} is not stored yet; the word holds when it is")
        for page in pages:
            standing = page.status if page.original is None else f"duplicate of {page.original}"
            print(f"{plain_line(page.url)}: {plain_line(standing)}")
    return FOUND if before or not options.undo else NOT_FOUND


def _print_reviews(options: argparse.Namespace, store: Store) -> int:
    found = store.admin.reviews(options.url[0] if options.url else None)
    if options.json:
        print_json([one.as_dict() for one in found])
    elif found:
        print_table(
            ["a", "b", "said", "when", "note"],
            [
                (
                    one.a,
                    one.b,
                    "same" if one.same else "different",
                    f"{one.created:%Y-%m-%d %H:%M}",
                    one.note or "",
                )
                for one in found
            ],
        )
    else:
        print("nothing was said")
    return FOUND if found else NOT_FOUND


def vacuum(options: argparse.Namespace, settings: DedupSettings) -> int:
    """Give back the space of removed pages."""
    with open_store(options, settings) as store:
        before, after = store.admin.vacuum()
    if options.json:
        return print_json({"bytes_before": before, "bytes": after})
    print(f"{before / 1e6:,.1f} MB before, {after / 1e6:,.1f} MB now")
    return FOUND


def upgrade(options: argparse.Namespace, settings: DedupSettings) -> int:
    """Bring the tables up to date, which opening them does."""
    with open_store(options, settings) as store:
        revision = store.status().revision
    if options.json:
        return print_json({"revision": revision})
    print(f"the store is up to date (revision {revision})")
    return FOUND


def _confirmed(question: str) -> bool:
    print(f"{question} [y/N] ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")
