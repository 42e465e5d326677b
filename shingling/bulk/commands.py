"""The commands `bulk`, a whole collection deduplicated without a crawl, and `import`."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING

from scrapy.exceptions import UsageError

from shingling.bulk.import_command import IMPORT
from shingling.console.opening import chosen_url
from shingling.console.options import (
    EVERY,
    OWN_TEXT_OPTION,
    flag,
    name_option,
    option,
    share,
    text,
    whole_number,
)
from shingling.console.output import (
    FOUND,
    counted,
    print_json,
    print_left_out,
    print_lines,
    print_table,
)
from shingling.console.progress import progress_bar
from shingling.console.subcommand import HelpGroup, Subcommand
from shingling.errors import BulkError
from shingling.extraction.limits import usable_cpus
from shingling.rules import MAX_SIMHASH_DISTANCE, METHODS, THRESHOLD_MEASURES, resemblance_of_dice

if TYPE_CHECKING:
    from shingling.bulk import Options, Summary
    from shingling.console.options import CommandOptions

_TABS = dict.fromkeys(("tab", "\\t"), "\t")


def _bulk(options: CommandOptions) -> int:
    options.settings.scheme.canonical.require_packs()
    if options.query is not None and not any(name.startswith("mongodb") for name in options.input):
        raise UsageError("--query is for a collection of MongoDB")
    from shingling.bulk import deduplicate
    from shingling.store.store import Store

    chosen = options_of(options)
    with ExitStack() as stack:
        store = None
        if options.into_store:
            url = chosen_url(options)
            store = stack.enter_context(
                Store.open(url, scheme=options.settings.scheme, rules=chosen.rules)
            )
        show = stack.enter_context(progress_bar("rows", seconds_between_lines=options.every))
        try:
            summary = deduplicate(
                options.input,
                options.out,
                chosen,
                against=options.against,
                store=store,
                restart=options.restart,
                progress=lambda step: show(*step),
            )
        except KeyboardInterrupt:
            raise BulkError("interrupted; give the same command again") from None
    if options.json:
        return print_json(summary)
    _print(summary, chosen, options.out)
    return FOUND


def options_of(options: CommandOptions) -> Options:
    """Options of a run, as the command line and the settings have them.

    Raises:
        UsageError: some of them contradict each other.
    """
    from shingling.bulk import Fields, Options

    threshold = options.threshold
    if options.measure is not None and threshold is None:
        raise UsageError("--measure says what --threshold is of: give both")
    if options.measure == "dice":
        # Rounded down, so that a pair exactly at the threshold is found.
        threshold = resemblance_of_dice(threshold) * (1 - 1e-12)
    given = {
        "threshold": threshold,
        "method": options.method,
        "simhash_distance": options.distance,
    }
    chosen = {name: value for name, value in given.items() if value is not None}
    rules = replace(options.settings.rules, **chosen)
    for name in ("threshold", "distance"):
        if getattr(options, name) is not None and not getattr(METHODS[rules.method], name):
            raise UsageError(f"--{name} has no effect with the method {rules.method}")
    return Options(
        rules=rules,
        scheme=options.settings.scheme,
        extractor=options.settings.extractor,
        fields=Fields(
            options.text_field or options.settings.text_fields[0],
            options.html_field or options.settings.html_fields[0],
            options.id_field,
        ),
        own_text=options.own_text or "ignore",
        skip_words=options.skip_words,
        format=options.format,
        delimiter=_TABS.get(options.delimiter, options.delimiter),
        query=options.query,
        keep=options.keep,
        order_field=options.order_field,
        keep_each=options.keep_each,
        export=options.export,
        output=options.to,
        workers=usable_cpus() if options.workers is None else options.workers,
        max_bytes=options.settings.max_bytes,
        timeout=options.settings.timeout,
        worker_memory=options.settings.worker_memory,
        strict=options.strict,
    )


def _print(summary: Summary, options: Options, out: str) -> None:
    total = summary.total or 1
    kinds = f"{summary.exact:,} exact, {summary.near:,} near"
    rows = [
        ("read", counted(summary.read, "row")),
        ("bad", f"{summary.bad:,}, listed in bad.jsonl" if summary.bad else "0"),
        ("kept", f"{summary.unique:,} ({summary.unique / total:.1%})"),
        ("removed", f"{summary.repeated:,} ({summary.repeated / total:.1%}): {kinds}"),
        ("seconds", f"{summary.seconds:,.1f}"),
        ("written to", out),
    ]
    if summary.short:
        least = counted(options.min_exact_words, "word")
        shown = f"{counted(summary.short, 'row')} with fewer than {least}"
        rows.insert(3, ("short", f"{shown} are kept without a comparison"))
    if summary.without_text:
        shown = f"{counted(summary.without_text, 'row')} kept without a comparison"
        rows.insert(3, ("without text", shown))
    if summary.same_id:
        shown = f"{counted(summary.same_id, 'row')}, named by file and line instead"
        rows.insert(2, ("id of an earlier row", f"{shown}, such as {summary.same_id_example}"))
    if summary.stored is not None:
        shown = ", ".join(f"{number:,} {status}" for status, number in summary.stored.items())
        rows.append(("in the store", shown or "nothing"))
    print_table(["", ""], rows)
    if summary.problems:
        print_lines("")
        print_table(
            ["file", "line", "problem"],
            [(problem.file, f"{problem.line:,}", problem.reason) for problem in summary.problems],
        )
        print_left_out(summary.bad - len(summary.problems))


COMMANDS = (
    Subcommand(
        name="bulk",
        group=HelpGroup.FILES,
        summary="deduplicate a whole collection: files or MongoDB",
        example="articles.jsonl.gz --out deduplicated",
        options=(
            option(
                "input",
                ".jsonl, .json or .csv (also .gz, .zst), .parquet, .warc, .wet, a folder of"
                " .txt, .md or HTML, a MongoDB URL such as mongodb://localhost/news.articles, or"
                " - for stdin",
                metavar="INPUT",
                nargs="+",
            ),
            option("--out", "folder to write to", metavar="DIR", required=True),
            option(
                "--threshold",
                "resemblance of near-duplicates (default: DEDUP_THRESHOLD)",
                type=share,
            ),
            option(
                "--measure",
                "what --threshold is of (default: resemblance)",
                choices=[*THRESHOLD_MEASURES],
            ),
            option(
                "--method",
                "how duplicates are found (default: DEDUP_METHOD)",
                choices=[*METHODS],
            ),
            option(
                "--distance",
                "bits in which SimHashes of near-duplicates differ at most (default:"
                " DEDUP_SIMHASH_DISTANCE)",
                type=whole_number(0, MAX_SIMHASH_DISTANCE),
                metavar="BITS",
            ),
            name_option(
                "--text-field",
                "field of a row (default: DEDUP_TEXT_FIELD)",
            ),
            name_option(
                "--html-field",
                "field of a row (default: DEDUP_HTML_FIELD)",
            ),
            name_option(
                "--id-field",
                "field of a row (default: id, url or _id, if a row has one; else its file"
                " and line)",
            ),
            OWN_TEXT_OPTION,
            option(
                "--skip-words",
                "leave out the first N words of each text, such as a prompt that most rows"
                " begin with; rows come out whole",
                type=whole_number(0, 1 << 31),
                default=0,
                metavar="N",
            ),
            option(
                "--format",
                "format of all inputs, whatever they are called",
                choices=["jsonl", "csv", "parquet", "warc", "html"],
            ),
            option(
                "--delimiter",
                "what separates the cells of CSV, such as ; or tab (default: what separates"
                " the names in the header: , ; tab or |)",
                metavar="CHAR",
                type=text,
            ),
            option(
                "--query",
                "filter for a collection of MongoDB",
                metavar="JSON",
                type=text,
            ),
            option(
                "--to",
                "format of the output (default: jsonl)",
                choices=["jsonl", "parquet"],
                default="jsonl",
            ),
            option(
                "--against",
                "leave out what is a duplicate of these rows as well: a store (its file or"
                " URL), an exported store, the folder of another run, or a file",
                metavar="KNOWN",
                type=text,
            ),
            flag("--into-store", "put the rows into the store as well"),
            flag("--export", "write store.jsonl as well, for `import` and `--against`"),
            option(
                "--keep",
                "which row of a group stays (default: first)",
                choices=["first", "longest", "newest"],
                default="first",
            ),
            name_option(
                "--order-field",
                "field whose lowest value is the first, or whose highest is the newest: a"
                " number or a time (default: the order of the rows; for newest: fetched)",
            ),
            option(
                "--keep-each",
                "number of rows of a group that stay (default: 1)",
                metavar="N",
                type=whole_number(1, 1 << 31),
                default=1,
            ),
            option(
                "--workers",
                "number of processes (default: one for each CPU)",
                type=whole_number(0, 1024),
                metavar="N",
            ),
            flag("--strict", "stop at the first bad row"),
            flag("--restart", "start again, whatever another run has left in DIR"),
            EVERY,
        ),
        run=_bulk,
    ),
    IMPORT,
)
