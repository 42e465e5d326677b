"""The command `rebuild`: index, decide or sign all stored pages again."""

from __future__ import annotations

import argparse
import sys
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from scrapy.exceptions import UsageError

from shingling.console.opening import open_session
from shingling.console.options import flag, option, share, yes_options
from shingling.console.output import (
    FOUND,
    NOT_FOUND,
    confirmed,
    print_json,
    print_left_out,
    print_lines,
    print_result,
    print_table,
)
from shingling.console.progress import progress_bar
from shingling.console.subcommand import HelpGroup, Subcommand
from shingling.rules import DEFAULT_CONTAINMENT, INDEXED_METHODS, MAX_SIMHASH_DISTANCE, METHODS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from shingling.admin.rebuild import Changes
    from shingling.console.options import CommandOptions
    from shingling.rules.rules import Rules
    from shingling.store.index import Index
    from shingling.store.indexing import Steps
    from shingling.store.model import IndexShape
    from shingling.store.session import Session


def _rebuild(options: CommandOptions) -> int:
    _check(options)
    with open_session(options) as session:
        if options.decide or options.scheme:
            return _decide_again(options, session)
        return _index_again(options, session)


def _decide_again(options: CommandOptions, session: Session) -> int:
    from shingling.store.store import Store

    asks = sys.stdin.isatty() and not options.dry_run
    if asks and not confirmed(options, "Decide all pages of the store again?"):
        print_lines("nothing was changed", error=options.json)
        return NOT_FOUND
    with _progress("deciding") as progress:
        changes = Store(session).admin.redecide(
            _rules_to_decide_by(options),
            scheme=options.settings.scheme if options.scheme else None,
            dry_run=options.dry_run,
            progress=progress,
        )
    return _print_changes(options, changes, session.index.shape, session.extractors())


def _index_again(options: CommandOptions, session: Session) -> int:
    from shingling.store.store import Store

    rules = _rules_to_index_for(options, session.index)
    with _progress("indexing") as progress:
        index = Store(session).admin.rebuild(rules=rules, progress=progress)
    return _print_index(options, index, rules)


def _check(options: CommandOptions) -> None:
    decide = options.decide or options.scheme
    given = (options.threshold, options.method, options.containment)
    if not decide and given == (None, None, None):
        raise UsageError("name --threshold, --method, --containment, --decide or --scheme")
    if options.dry_run and not decide:
        raise UsageError("--dry-run goes with --decide or --scheme")


def _rules_to_decide_by(options: CommandOptions) -> Rules:
    """Rules of the settings with what the options say instead."""
    rules = options.settings.rules
    containment = rules.containment
    if options.containment is not None:
        containment = DEFAULT_CONTAINMENT if options.containment else None
    return replace(
        rules,
        threshold=options.threshold or rules.threshold,
        method=options.method or rules.method,
        containment=containment,
    )


def _rules_to_index_for(options: CommandOptions, index: Index) -> Rules:
    """Rules that a new index is for; what nothing is said of stays as in the present one."""
    from shingling.rules.rules import Rules

    method = options.method or options.settings.rules.method
    if METHODS[method].keys is None:  # needs no index of its own
        method = index.usual_rules().method
    sampled = index.sampled if options.containment is None else options.containment
    return Rules(
        threshold=options.threshold or options.settings.rules.threshold,
        method=method,
        containment=DEFAULT_CONTAINMENT if sampled else None,
    )


def _print_index(options: CommandOptions, index: IndexShape, rules: Rules) -> int:
    from shingling.sketch import Banding

    shown: dict[str, Any] = index._asdict()
    if index.indexed != "minima":
        pairs = f"all pairs within {MAX_SIMHASH_DISTANCE} bits"
    elif rules.least_resemblance is None:
        pairs = "all pairs with an equal megashingle"
    else:
        recall = Banding(index.bands, index.rows).recall(rules.least_resemblance)
        pairs = f"{recall:.1%} of the pairs at {rules.threshold:g}"
        shown["recall"] = round(recall, 4)
    return print_result(options, shown, f"{index}, which find {pairs}")


def _print_changes(
    options: CommandOptions, changes: Changes, index: IndexShape, extractors: list[str]
) -> int:
    if options.json:
        return print_json({**changes.as_dict(), "dry_run": options.dry_run, "index": index})
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
    )
    if changes.examples:
        print_lines("")
        shown_as = [
            (page.url, page.before or "(an original)", page.after or "(an original)")
            for page in changes.examples
        ]
        print_table(["URL", "duplicate of, before", "now"], shown_as)
        changed = changes.to_original + changes.to_duplicate + changes.moved
        print_left_out(changed - len(shown_as))
    if len(extractors) > 1:
        print_lines(
            "",
            f"some texts are by {', '.join(extractors[:-1])}, others by {extractors[-1]}: a"
            " rebuild keeps them, only a crawl extracts pages again",
        )
    if options.dry_run:
        print_lines("", "nothing was changed (--dry-run)")
    return FOUND


@contextmanager
def _progress(phase: str) -> Iterator[Steps]:
    with progress_bar("pages") as show:
        show(phase, 0, 0.0)
        yield lambda done, total: show(phase, done, done / max(total, 1))


COMMANDS = (
    Subcommand(
        name="rebuild",
        group=HelpGroup.DECIDE,
        summary="index, decide or sign all stored pages again, without a crawl",
        example="--threshold 0.6 --decide --dry-run",
        options=(
            option(
                "--threshold",
                "resemblance at which pages are to be found (default: DEDUP_THRESHOLD)",
                type=share,
            ),
            option(
                "--method",
                "method that the index is for (default: DEDUP_METHOD)",
                choices=INDEXED_METHODS,
            ),
            option(
                "--containment",
                "keep samples of the stored texts, for DEDUP_CONTAINMENT (default: as before)",
                action=argparse.BooleanOptionalAction,
            ),
            flag(
                "--decide",
                "decide all pages again as well, in the order in which they were first seen",
            ),
            flag(
                "--scheme",
                "sign all stored texts again, under DEDUP_SHINGLE_SIZE and DEDUP_SCHEME, and"
                " decide",
            ),
            *yes_options("what --decide or --scheme would change"),
        ),
        run=_rebuild,
    ),
)
