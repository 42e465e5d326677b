"""The command `bulk`: a whole collection, deduplicated without a crawl."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING

from scrapy.exceptions import UsageError

from shingling.console.opening import chosen_url
from shingling.console.option_types import add_every, share, text, whole_number
from shingling.console.output import FOUND, print_json, print_lines, print_table
from shingling.console.progress import progress_bar
from shingling.console.subcommand import HelpGroup, Subcommand
from shingling.errors import BulkError
from shingling.extraction.cpus import usable_cpus
from shingling.rules.defaults import MAX_SIMHASH_DISTANCE
from shingling.rules.measures import THRESHOLD_MEASURES, resemblance_of_dice
from shingling.rules.methods import METHODS

if TYPE_CHECKING:
    import argparse

    from shingling.bulk import Options, Summary
    from shingling.plugin.settings import DedupSettings

_UNITS = {"k": 10**3, "m": 10**6, "g": 10**9}
_MIN_MEMORY_BYTES, _MAX_MEMORY_BYTES = 10**6, 10**12


def _add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "input",
        metavar="INPUT",
        nargs="+",
        help=".jsonl or .csv (also .gz, .zst), .parquet, .warc, .tar, a folder of .txt, .md or"
        " HTML, an SQLAlchemy URL, a MongoDB URL such as mongodb://localhost/news.articles, or -"
        " for stdin",
    )
    parser.add_argument("--out", metavar="DIR", required=True, help="folder to write to")
    parser.add_argument(
        "--threshold", type=share, help="resemblance of near-duplicates (default: DEDUP_THRESHOLD)"
    )
    parser.add_argument(
        "--measure",
        choices=[*THRESHOLD_MEASURES],
        help="what --threshold is of (default: resemblance)",
    )
    parser.add_argument(
        "--method",
        choices=[*METHODS],
        help="how duplicates are found (default: DEDUP_METHOD)",
    )
    parser.add_argument(
        "--distance",
        type=whole_number(0, MAX_SIMHASH_DISTANCE),
        metavar="BITS",
        help="bits in which SimHashes of near-duplicates differ at most (default:"
        " DEDUP_SIMHASH_DISTANCE)",
    )
    for name in ("text", "html"):
        parser.add_argument(
            f"--{name}-field",
            metavar="NAME",
            type=text,
            help=f"field of a row (default: DEDUP_{name.upper()}_FIELD)",
        )
    parser.add_argument(
        "--id-field",
        metavar="NAME",
        type=text,
        help="field of a row (default: id, url or _id, where a row has one; else its file and"
        " line)",
    )
    parser.add_argument(
        "--format",
        choices=["jsonl", "csv", "parquet", "warc", "html"],
        help="format of all inputs, whatever they are called",
    )
    parser.add_argument(
        "--query",
        metavar="SQL",
        type=text,
        help="query to send to an SQLAlchemy URL; for MongoDB, a filter in JSON",
    )
    parser.add_argument(
        "--to",
        choices=["jsonl", "parquet"],
        default="jsonl",
        help="format of the output (default: jsonl)",
    )
    parser.add_argument(
        "--into-store", action="store_true", help="put the rows into the store as well"
    )
    parser.add_argument(
        "--workers",
        type=whole_number(0, 1024),
        metavar="N",
        help="number of processes (default: one for each CPU)",
    )
    parser.add_argument(
        "--memory", default="1G", metavar="SIZE", help="memory that sorting may use (default: 1G)"
    )
    parser.add_argument("--strict", action="store_true", help="stop at the first bad row")
    parser.add_argument(
        "--restart", action="store_true", help="start again, whatever another run has left in DIR"
    )
    add_every(parser)


def _bulk(options: argparse.Namespace, settings: DedupSettings) -> int:
    settings.scheme.canonical.require_packs()
    from shingling.bulk import deduplicate
    from shingling.store import Store

    chosen = _options(options, settings)
    with ExitStack() as stack:
        store = None
        if options.into_store:
            url = chosen_url(options, settings)
            store = stack.enter_context(Store.open(url, scheme=settings.scheme, rules=chosen.rules))
        show = stack.enter_context(progress_bar("rows", seconds_between_lines=options.every))
        try:
            summary = deduplicate(
                options.input,
                options.out,
                chosen,
                store=store,
                restart=options.restart,
                progress=lambda step: show(step.phase, step.rows, step.share),
            )
        except KeyboardInterrupt:
            raise BulkError("interrupted; the same command goes on from here") from None
    if options.json:
        return print_json(summary.as_dict())
    _print(summary, options.out)
    return FOUND


def _options(options: argparse.Namespace, settings: DedupSettings) -> Options:
    from shingling.bulk import Fields, Options

    threshold = options.threshold
    if options.measure is not None and threshold is None:
        raise UsageError("--measure says what --threshold is of: give both", print_help=False)
    if options.measure == "dice":
        # Rounded down, so that a pair exactly at the threshold is found.
        threshold = resemblance_of_dice(threshold) * (1 - 1e-12)
    given = {
        "threshold": threshold,
        "method": options.method,
        "simhash_distance": options.distance,
    }
    chosen = {name: value for name, value in given.items() if value is not None}
    rules = replace(settings.rules, **chosen)
    for name, is_used in (
        ("threshold", METHODS[rules.method].threshold),
        ("distance", METHODS[rules.method].distance),
    ):
        if getattr(options, name) is not None and not is_used:
            raise UsageError(
                f"--{name} has no effect with the method {rules.method}", print_help=False
            )
    return Options(
        rules=rules,
        scheme=settings.scheme,
        extractor=settings.extractor,
        fields=Fields(
            options.text_field or settings.text_field,
            options.html_field or settings.html_field,
            options.id_field,
        ),
        format=options.format,
        query=options.query,
        output=options.to,
        workers=usable_cpus() if options.workers is None else options.workers,
        memory=_bytes(options.memory),
        max_bytes=settings.max_bytes,
        timeout=settings.timeout,
        worker_memory=settings.worker_memory,
        strict=options.strict,
    )


def _bytes(size: str) -> int:
    """Parse a size such as `500M` or `2G` to bytes."""
    number, unit = size[:-1], size[-1:].lower()
    if unit.isdigit():
        number, unit = size, ""
    try:
        found = int(float(number) * _UNITS.get(unit, 0 if unit else 1))
    except (ValueError, OverflowError):
        found = 0
    if not _MIN_MEMORY_BYTES <= found <= _MAX_MEMORY_BYTES:
        raise UsageError(
            "--memory takes a size from 1M to 1000G, such as 500M or 2G", print_help=False
        )
    return found


def _print(summary: Summary, out: str) -> None:
    total = max(summary.total, 1)
    kinds = f"{summary.exact:,} exact, {summary.near:,} near"
    rows = [
        ("rows", f"{summary.total:,}"),
        ("unique", f"{summary.unique:,} ({summary.unique / total:.1%})"),
        ("repeated", f"{summary.repeated:,} ({summary.repeated / total:.1%}): {kinds}"),
        ("seconds", f"{summary.seconds:,.1f}"),
        ("written to", out),
    ]
    if summary.short:
        rows.insert(2, ("short", f"{summary.short:,} of the unique ones are compared exactly only"))
    if summary.stored is not None:
        counts_shown = ", ".join(
            f"{number:,} {status}" for status, number in summary.stored.items()
        )
        rows.append(("in the store", counts_shown or "nothing"))
    if summary.bad:
        rows.append(("bad rows", f"{summary.bad:,}, listed in bad.jsonl"))
    print_table(["", ""], rows, header=False)
    if summary.problems:
        print_lines("")
        print_table(
            ["file", "line", "problem"],
            [(problem.file, f"{problem.line:,}", problem.reason) for problem in summary.problems],
        )
        left = summary.bad - len(summary.problems)
        if left:
            print_lines(f"and {left:,} more")


COMMANDS = (
    Subcommand(
        name="bulk",
        group=HelpGroup.FILES,
        summary="deduplicate a whole collection: files, archives or a query",
        example="articles.jsonl.gz --out deduplicated",
        add_options=_add_options,
        run=_bulk,
    ),
)
