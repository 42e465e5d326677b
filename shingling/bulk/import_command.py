"""The command `import`: what `export` wrote, or the items of an old crawl."""

from __future__ import annotations

import sys
from contextlib import closing
from dataclasses import replace
from itertools import chain, islice
from typing import TYPE_CHECKING

from scrapy.exceptions import UsageError

from shingling.console.opening import chosen_url, open_session
from shingling.console.options import EVERY, name_option, option
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
    from collections.abc import Iterable

    from shingling.admin.importing import Imported
    from shingling.bulk.signing import Task
    from shingling.console.options import CommandOptions

_LINES_LOOKED_AT = 10  # to tell an exported store, whose first line is broken, from a feed


def _import(options: CommandOptions) -> int:
    from shingling.admin.files import is_record
    from shingling.bulk.inputs.exports import files_of_lines, lines_of, naming
    from shingling.bulk.signing import tasks_of

    if options.file == "-" and sys.stdin.isatty():
        raise UsageError("name a file, or send one to standard input")
    name = "standard input" if options.file == "-" else options.file
    with closing(tasks_of(files_of_lines(options.file))) as tasks:
        begin = [*islice(tasks, 1)]
        head = [*islice(lines_of(task.payload for task in begin), _LINES_LOOKED_AT)]
        if not head:
            raise RecordError(f"{name}: there is nothing in it")
        records = [is_record(values) for _, values in head]
        everything = chain(begin, tasks)
        if not any(records) and (len(head) > 1 or isinstance(head[0][1], dict)):
            return _import_feed(options, everything)
        with naming(name):
            return _import_store(options, everything)


def _import_store(options: CommandOptions, tasks: Iterable[Task]) -> int:
    """Restore a store if there is none or an empty one; else decide the pages of the file."""
    from shingling.admin.importing import decide_export
    from shingling.admin.records import watched
    from shingling.admin.transfer import restore
    from shingling.bulk.inputs.exports import export_in
    from shingling.store.session import Session

    header, records = export_in(task.payload for task in tasks)
    settings = options.settings
    try:
        opened = open_session(options)
    except NoStoreError:  # it is created for the file's scheme
        opened = Session.open(chosen_url(options), scheme=header.scheme, rules=settings.rules)
    with (
        opened as session,
        progress_bar("pages", seconds_between_lines=options.every, announced=False) as show,
    ):
        seen = watched(records, "import", header.pages, show)
        restored = restore(session, header, seen)
        if restored is None:
            as_run = "import", settings.for_run()
            imported = decide_export(session, settings.rules, header, seen, as_run)
    if restored is not None:
        return _print_restored(options, restored)
    status = _print_counts(options, imported)
    if not options.json:
        print_lines(
            "only pages and reviews are taken in: the store keeps its own runs, rules and templates"
        )
    return status


def _import_feed(options: CommandOptions, tasks: Iterable[Task]) -> int:
    """Decide the pages of an old crawl's items, in their order."""
    from shingling.bulk.feeds import decide_feed

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
            tasks,
            ids=ids,
            time_field=options.time_field,
            spider=options.spider or "",
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


IMPORT = Subcommand(
    name="import",
    group=HelpGroup.FILES,
    summary="read an exported store, or the items of an old crawl",
    example="items.jsonl",
    options=(
        option(
            "file",
            "what export wrote, or Spark (the folder `store`), or items of a crawl, in"
            " JSON lines (default: -, stdin)",
            metavar="FILE",
            nargs="?",
            default="-",
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
)
