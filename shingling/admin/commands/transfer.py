"""The commands that move stores and old crawls: `export` and `import`."""

from __future__ import annotations

import sys
from contextlib import closing
from dataclasses import replace
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING

from scrapy.exceptions import UsageError

from shingling.console.opening import chosen_url, open_session
from shingling.console.options import EVERY, flag, name_option, option
from shingling.console.output import (
    FAILED,
    FOUND,
    counted,
    print_json,
    print_left_out,
    print_lines,
    print_result,
)
from shingling.console.progress import progress_bar
from shingling.console.subcommand import HelpGroup, Subcommand
from shingling.errors import NoStoreError, RecordError

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Iterable, Iterator

    from shingling.admin.importing import Imported
    from shingling.admin.records import Record
    from shingling.console.options import CommandOptions
    from shingling.console.progress import Show
    from shingling.files.lines import Line

_PAGES_PER_STEP = 256  # of progress
_LINES_LOOKED_AT = 10  # to tell an exported store, whose first line is broken, from a feed


def _export(options: CommandOptions) -> int:
    from rich.filesize import decimal

    from shingling.admin.files import output, write_records
    from shingling.admin.transfer import export

    with open_session(options) as session:
        records = closing(export(session, with_texts=not options.no_text))
        with records as opened, output(options.file, force=options.force) as file:
            header = next(opened)
            pages = header.fields["pages"]
            # A bar would be among the lines if both go to one terminal.
            shown = options.file != "-" or not sys.stdout.isatty()
            with progress_bar("pages", shown=shown) as show:
                write_records(_watched(chain([header], opened), "export", pages, show), file)
    if options.file == "-":
        return FOUND
    size = Path(options.file).stat().st_size
    as_json = {"file": options.file, "pages": pages, "bytes": size}
    line = f"{options.file}: {counted(pages, 'page')}, {decimal(size)}"
    return print_result(options, as_json, line)


def _watched(records: Iterable[Record], phase: str, total: int, show: Show) -> Iterator[Record]:
    """Pass records on, and show how many of the pages among them are done."""
    done = 0
    show(phase, done, 0.0)
    for record in records:
        yield record
        if record.kind == "page":
            done += 1
            if done % _PAGES_PER_STEP == 0 or done == total:
                show(phase, done, done / total)


def _import(options: CommandOptions) -> int:
    from shingling.admin.files import is_record, read_lines, records_in

    if options.file == "-" and sys.stdin.isatty():
        raise UsageError("name a file, or send one to standard input")
    try:
        with closing(read_lines(options.file)) as lines:
            head = list(islice(lines, _LINES_LOOKED_AT))
            if not head:
                raise RecordError("there is nothing in it")
            everything = chain(head, lines)
            if is_record(head[0]):
                return _import_store(options, records_in(everything))
            if any(map(is_record, head)):
                problem = head[0].problem or "not the record of a store"
                raise RecordError(
                    f"line 1: {problem}; an exported store cannot be read without its first line"
                )
            return _import_feed(options, everything)
    except RecordError as error:
        name = "standard input" if options.file == "-" else options.file
        raise RecordError(f"{name}: {error}") from error


def _import_store(options: CommandOptions, records: Iterator[Record]) -> int:
    """Restore a store if there is none or an empty one; else decide the pages of the file."""
    from shingling.admin.importing import decide_export
    from shingling.admin.records import Header
    from shingling.admin.transfer import restore
    from shingling.store.session import Session

    header = Header.from_record(next(records))
    try:
        opened = open_session(options)
    except NoStoreError:  # it is created for the file's scheme
        url = chosen_url(options)
        opened = Session.open(url, scheme=header.scheme, rules=options.settings.rules)
    with (
        opened as session,
        progress_bar("pages", seconds_between_lines=options.every, announced=False) as show,
    ):
        watched = _watched(records, "import", header.pages, show)
        restored = restore(session, header, watched)
        if restored is None:
            settings = options.settings
            as_run = "import", settings.for_run()
            imported = decide_export(session, settings.rules, header, watched, as_run)
    if restored is not None:
        return _print_restored(options, restored)
    status = _print_counts(options, imported)
    if not options.json:
        print_lines(
            "only pages and reviews are taken in: the store keeps its own runs, rules and templates"
        )
    return status


def _import_feed(options: CommandOptions, lines: Iterable[Line]) -> int:
    """Decide the pages of an old crawl's items, in their order."""
    from shingling.admin.importing import decide_feed

    settings = options.settings
    if (settings.scope == "spider") != (options.spider is not None):
        raise UsageError('DEDUP_SCOPE = "spider" and --spider NAME go together')
    settings.scheme.canonical.require_packs()
    if options.id_field is not None:
        ids: tuple[str, ...] = (options.id_field,)
    else:
        ids = ("id", "_id") if options.url_field is None else ()
    named = replace(
        settings,
        url_field=options.url_field or settings.url_field,
        text_fields=(options.text_field,) if options.text_field else settings.text_fields,
        html_fields=(options.html_field,) if options.html_field else settings.html_fields,
    )
    with progress_bar("pages", seconds_between_lines=options.every, announced=False) as show:
        imported = decide_feed(
            chosen_url(options),
            named,
            lines,
            ids=ids,
            time_field=options.time_field,
            spider=options.spider,
            show=show,
        )
    return _print_counts(options, imported)


def _print_restored(options: CommandOptions, restored: Counter[str]) -> int:
    kinds = ("page", "run", "review")
    pages, runs, reviews = (counted(restored[kind], kind) for kind in kinds)
    line = f"{pages} restored as they were, with {runs} and {reviews}"
    numbers = {f"{kind}s": restored[kind] for kind in kinds}
    return print_result(options, {"restored": True, **numbers}, line)


def _print_counts(options: CommandOptions, imported: Imported) -> int:
    from shingling.store.model import STATUSES

    counts, bad, problems = imported.counts, imported.bad, imported.problems
    pages, removed = counts.total(), counts["exact"] + counts["near"] - imported.kept
    shares = {status: counts[status] / max(pages, 1) for status in STATUSES}
    if options.json:
        print_json(
            {
                "restored": False,
                "pages": pages,
                "read": pages + bad,
                "bad": bad,
                "kept": pages - removed,
                "removed": removed,
                **{status: counts[status] for status in STATUSES},
                "shares": {status: round(share, 4) for status, share in shares.items()},
                "wrong": bad,
                "problems": [{"where": at, "problem": problem} for at, problem in problems],
            }
        )
    else:
        for at, problem in problems:
            print_lines(f"{at}: {problem}", error=True)
        print_left_out(bad - len(problems), "… ", error=True)
        by_status = [
            f"{counts[status]:,} {status} ({share:.1%})"
            for status, share in shares.items()
            if share
        ]
        print_lines(
            ": ".join(filter(None, [counted(pages, "page"), ", ".join(by_status)])),
            f"{counted(pages + bad, 'row')} read: {bad:,} bad, {pages - removed:,} kept,"
            f" {removed:,} removed",
        )
    return FAILED if bad and not pages else FOUND


COMMANDS = (
    Subcommand(
        name="export",
        group=HelpGroup.FILES,
        summary="write the store to a file",
        example="store.jsonl.gz",
        options=(
            option(
                "file",
                metavar="FILE",
                nargs="?",
                default="-",
                help="JSON lines, packed if the name ends in .gz (default: -, stdout)",
            ),
            flag("--no-text", "leave out the main texts"),
            flag("--force", "replace an existing file"),
        ),
        run=_export,
    ),
    Subcommand(
        name="import",
        group=HelpGroup.FILES,
        summary="read an exported store, or the items of an old crawl",
        example="items.jsonl",
        options=(
            option(
                "file",
                metavar="FILE",
                nargs="?",
                default="-",
                help="what export wrote, or Spark (the folder `store`), or items of a crawl, in"
                " JSON lines (default: -, stdin)",
            ),
            name_option("--url-field", "field of an item (default: DEDUP_URL_FIELD)"),
            name_option("--text-field", "field of an item (default: DEDUP_TEXT_FIELD)"),
            name_option("--html-field", "field of an item (default: DEDUP_HTML_FIELD)"),
            name_option(
                "--time-field",
                "field of an item: when it was fetched, in ISO 8601 or seconds since 1970"
                " (default: now)",
            ),
            name_option(
                "--id-field",
                "field that an item without a URL is called by (default: id or _id, unless"
                " --url-field is given)",
            ),
            name_option("--spider", 'spider that crawled the items, with DEDUP_SCOPE = "spider"'),
            EVERY,
        ),
        run=_import,
    ),
)
