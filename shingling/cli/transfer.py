"""The commands that move stores and old crawls: `export` and `import`."""

from __future__ import annotations

import sys
from collections import Counter
from contextlib import closing, contextmanager
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.filesize import decimal
from scrapy.exceptions import UsageError

from shingling.cli.formats.feeds import FeedExtractor, Fields, Problems, batches_of, scope_by
from shingling.cli.formats.jsonl_csv import (
    FORMATS,
    format_of,
    is_record,
    opened,
    output,
    read_lines,
    records_in,
    write_csv,
    write_jsonl,
)
from shingling.cli.formats.parquet import read_parquet, require_parquet, write_parquet
from shingling.cli.merge import import_run, merge
from shingling.cli.opening import open_session
from shingling.cli.output import FAILED, FOUND, print_json
from shingling.errors import NoStoreError, RecordError
from shingling.plugin.settings import store_url
from shingling.store import STATUSES, Header, Record, Store
from shingling.store.admin.transfer import export as export_store, is_empty, restore
from shingling.store.session import Session
from shingling.text import plain_line

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterable, Iterator

    from shingling.bulk.files.lines import Line
    from shingling.plugin.settings import DedupSettings
    from shingling.sketch import Scheme
    from shingling.store import Restored, Verdict

_STEP = 256  # pages between two looks at the clock
_WRITERS = {"jsonl": write_jsonl, "csv": write_csv, "parquet": write_parquet}
assert tuple(_WRITERS) == FORMATS


def export(options: argparse.Namespace, settings: DedupSettings) -> int:
    """Write a store to a file or to standard output.

    Args:
        options: `file` (a path or `-`), `format` (or None), `no_text`, `force` and `json`.
        settings: those in use.

    Returns:
        The exit status, 0.

    Raises:
        UsageError: the file's name tells no format.
        ShinglingError: the file is there, the store is not, or pyarrow is not installed.
        OSError: the file cannot be written.
    """
    form = _usable_format(options)
    with open_session(options, settings) as session:
        records = closing(export_store(session, with_texts=not options.no_text))
        with records as found, output(options.file, force=options.force) as file:
            header = next(found)
            shown = options.file != "-" or not sys.stdout.isatty()
            with _progress("export", header.fields["pages"], shown=shown) as advance:
                _WRITERS[form](_counted(chain([header], found), advance), file)
    if options.file == "-":
        return FOUND
    pages, size = header.fields["pages"], Path(options.file).stat().st_size
    if options.json:
        return print_json({"file": options.file, "pages": pages, "bytes": size})
    print(f"{plain_line(options.file)}: {_pages(pages)}, {decimal(size)}")
    return FOUND


def _counted(records: Iterable[Record], advance: Callable[[int], None]) -> Iterator[Record]:
    number = 0
    for record in records:
        yield record
        number += record.kind == "page"
        if number == _STEP:
            advance(number)
            number = 0
    advance(number)


def import_(options: argparse.Namespace, settings: DedupSettings) -> int:
    """Read an exported store, or the feed of an old crawl, into a store.

    Args:
        options: `file` (a path or `-`), `format` (or None), `url_field`, `text_field`,
            `html_field`, `time_field`, `spider` (each or None) and `json`.
        settings: those in use.

    Returns:
        The exit status: 0, or 2 where there was nothing that could be read.

    Raises:
        UsageError: the file's name tells no format, or options contradict the settings.
        ShinglingError: the file is not what it should be, or does not go with the store.
        OSError: the file cannot be read.
    """
    form = _usable_format(options)
    if options.file == "-" and sys.stdin.isatty():
        raise UsageError("name a file, or send one to standard input", print_help=False)
    try:
        if form == "parquet":
            with Path(options.file).open("rb") as raw, closing(read_parquet(raw)) as records:
                return _import_store(options, settings, records)
        with opened(options.file) as file, closing(read_lines(file, form)) as lines:
            first = next(lines, None)
            if first is None:
                raise RecordError("there is nothing in it")
            everything = chain([first], lines)
            if is_record(first):
                return _import_store(options, settings, records_in(everything, form))
            return _import_feed(options, settings, everything)
    except RecordError as error:
        name = "standard input" if options.file == "-" else plain_line(options.file)
        raise RecordError(f"{name}: {error}") from error


def _usable_format(options: argparse.Namespace) -> str:
    form = format_of(options.file, options.format)
    if form == "parquet":
        if options.file == "-":
            raise UsageError("Parquet needs a file with a name", print_help=False)
        require_parquet()
    return form


def _import_store(
    options: argparse.Namespace, settings: DedupSettings, records: Iterator[Record]
) -> int:
    """Restore a store where there is none or an empty one; else decide its pages anew."""
    header = Header.of(next(records))
    with _session_for(options, settings, header) as session:
        empty = is_empty(session)
        with _progress("import", header.pages) as advance:
            counted = _counted(records, advance)
            if empty:
                return _say_restored(options, restore(session, header, counted))
            counts, problems = merge(session, settings, header, counted)
    return _say_counts(options, counts, problems)


def _session_for(options: argparse.Namespace, settings: DedupSettings, header: Header) -> Session:
    """Return the store to import into; one that is not there is made for the file's scheme."""
    try:
        return open_session(options, settings)
    except NoStoreError:
        return Session.open(_url(options, settings), scheme=header.scheme, rules=settings.rules)


def _url(options: argparse.Namespace, settings: DedupSettings) -> str:
    return store_url(options.store) if options.store else settings.store_url


def _import_feed(
    options: argparse.Namespace, settings: DedupSettings, lines: Iterable[Line]
) -> int:
    """Decide the pages of an old crawl's items, in their order."""
    if (settings.scope == "spider") != (options.spider is not None):
        raise UsageError('DEDUP_SCOPE = "spider" and --spider NAME go together', print_help=False)
    settings.scheme.canonical.require()
    url = _url(options, settings)
    fields = Fields(
        url=options.url_field or settings.url_field,
        text=options.text_field or settings.text_field,
        html=options.html_field or settings.html_field,
        time=options.time_field,
    )
    counts: Counter[str] = Counter()
    problems = Problems()
    scheme = _scheme_of(url, settings)
    with FeedExtractor(settings, scheme) as extractor, _progress("import", None) as advance:
        scope_of = scope_by(settings, options.spider)
        batches = batches_of(lines, fields, extractor, scope_of, problems)
        first = next(batches, None)
        if first is not None:
            with Store.open(url, scheme=scheme, rules=settings.rules) as store:
                store.require(settings.rules)
                with import_run(store, settings) as run:
                    for batch in chain([first], batches):
                        _count(counts, store.check(batch, rules=settings.rules, run=run))
                        advance(len(batch))
    return _say_counts(options, counts, problems)


def _scheme_of(url: str, settings: DedupSettings) -> Scheme:
    """Return the scheme of a store, or the one that it is going to be made with."""
    try:
        with Store.open(url, scheme=settings.scheme, create=False) as store:
            return store.scheme
    except NoStoreError:
        return settings.scheme


def _count(counts: Counter[str], verdicts: Iterable[Verdict]) -> None:
    counts.update(verdict.status for verdict in verdicts)


def _say_restored(options: argparse.Namespace, restored: Restored) -> int:
    numbers = {"pages": restored.pages, "runs": restored.runs, "reviews": restored.reviews}
    if options.json:
        return print_json({"restored": True, **numbers})
    print(
        f"{_pages(restored.pages)} restored as they were, with {_number(restored.runs, 'run')} and"
        f" {_number(restored.reviews, 'review')}"
    )
    return FOUND


def _say_counts(options: argparse.Namespace, counts: Counter[str], problems: Problems) -> int:
    if options.json:
        shown: dict[str, Any] = {"restored": False, "pages": counts.total()}
        shown |= {status: counts[status] for status in STATUSES}
        shown["wrong"] = problems.number
        shown["problems"] = [{"where": at, "problem": what} for at, what in problems.first]
        print_json(shown)
    else:
        for at, what in problems.first:
            print(f"{at}: {what}", file=sys.stderr)
        if problems.number > len(problems.first):
            print(f"… and {problems.number - len(problems.first):,} more", file=sys.stderr)
        by_status = [f"{counts[status]:,} {status}" for status in STATUSES if counts[status]]
        wrong = [f"{_number(problems.number, 'line')} wrong"] if problems.number else []
        said = "; ".join([", ".join(by_status), *wrong]) if by_status else "".join(wrong)
        print(f"{_pages(counts.total())}{': ' if said else ''}{said}")
    return FAILED if problems.number and not counts else FOUND


def _pages(number: int) -> str:
    return _number(number, "page")


def _number(number: int, name: str) -> str:
    return f"{number:,} {name}{'' if number == 1 else 's'}"


@contextmanager
def _progress(
    what: str, total: int | None, *, shown: bool = True
) -> Iterator[Callable[[int], None]]:
    """Show on a terminal how far it is; yield what is told how many more pages are done."""
    if not shown or not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn

    columns = (what, BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=total)
        yield lambda number: bar.advance(task, number)
