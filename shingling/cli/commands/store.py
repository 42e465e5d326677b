"""The commands of the store as a whole: `status` and `upgrade`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from shingling.console.opening import open_store
from shingling.console.output import FOUND, counted, print_json, print_lines, print_table
from shingling.console.subcommand import HelpGroup, Subcommand

if TYPE_CHECKING:
    import argparse

    from shingling.plugin.settings import DedupSettings
    from shingling.sketch import Scheme
    from shingling.store import RunRecord, StoreStatus

_RUNS_SHOWN = 5


def _status(options: argparse.Namespace, settings: DedupSettings) -> int:
    with open_store(options, settings) as store:
        status, last_runs = store.status(), store.runs(_RUNS_SHOWN)
    if options.json:
        return print_json({**status.as_dict(), "last_runs": [run.as_dict() for run in last_runs]})
    _print_status(status)
    if last_runs:
        print_lines("")
        _print_runs(last_runs)
    return FOUND


def _print_status(status: StoreStatus) -> None:
    from shingling.store import MAX_PAGES_PER_KEY

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
    ]
    if status.extractors:
        *before, last = status.extractors
        earlier = f" (older texts: {', '.join(before)})" if before else ""
        rows.append(("extractor", f"{last}{earlier}"))
    if status.reviews:
        rows.append(("reviews", f"{status.reviews:,}"))
    if status.full_keys:
        rows.append(
            (
                "full keys",
                f"{status.full_keys:,} (each is shared by over {MAX_PAGES_PER_KEY} originals)",
            )
        )
    if status.url_rules:
        fetches = f"{counted(status.url_rules, 'rule')} on URLs"
        if status.skipped_urls:
            fetches += f", {counted(status.skipped_urls, 'skipped request')}"
        rows.append(("fetches", f"{fetches} (`scrapy dedup rules`)"))
    if status.rebuilding:
        rows.append(("rebuild", "has begun and not ended: run `scrapy dedup rebuild --resume`"))
    print_table(["", ""], rows, header=False)


def _print_runs(runs: list[RunRecord]) -> None:
    from shingling.store import STATUSES

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
            for run in runs
        ],
    )


def _scheme_line(used: Scheme) -> str:
    """Shingle size, id, and the parameters that are not the default."""
    scheme = used.describe()
    others = {
        name: value
        for name, value in scheme.items()
        if name not in ("shingle_size", "version", "unit")
    }
    unit = "character" if scheme.get("unit") == "characters" else "word"
    line = f"{scheme['shingle_size']}-{unit} shingles, {used.id}"
    return f"{line}, {json.dumps(others)}" if others else line


def _upgrade(options: argparse.Namespace, settings: DedupSettings) -> int:
    with open_store(options, settings) as store:  # opening it upgrades it
        revision = store.status().revision
    if options.json:
        return print_json({"revision": revision})
    print_lines(f"the store is up to date (revision {revision})")
    return FOUND


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
)
