"""The command `bulk`: a whole collection, deduplicated without a crawl."""

from __future__ import annotations

import sys
import time
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn
from scrapy.exceptions import UsageError

from shingling.bulk import Fields, Options, Summary, deduplicate
from shingling.cli.output import FOUND, print_json, print_table
from shingling.errors import BulkError
from shingling.extraction.cpus import usable_cpus
from shingling.plugin.settings import store_url
from shingling.store import Store
from shingling.text import plain_line

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterator

    from shingling.bulk import Progress as Step
    from shingling.plugin.settings import DedupSettings

_UNITS = {"k": 10**3, "m": 10**6, "g": 10**9}


def bulk(options: argparse.Namespace, settings: DedupSettings) -> int:
    """Deduplicate a collection.

    Args:
        options: those of the command (see `commands._bulk`).
        settings: those in use, for what no option says.

    Returns:
        The exit status, 0.

    Raises:
        UsageError: an option with a value that is not accepted.
        ShinglingError: an input or the output is not what it should be, or it was interrupted.
    """
    if options.every <= 0:
        raise UsageError("--every takes a number of seconds above 0", print_help=False)
    settings.scheme.canonical.require()
    with ExitStack() as stack:
        store = stack.enter_context(_store(options, settings)) if options.into_store else None
        progress = stack.enter_context(_progress(options.every))
        try:
            summary = deduplicate(
                options.input,
                options.out,
                _options(options, settings),
                store=store,
                restart=options.restart,
                progress=progress,
            )
        except KeyboardInterrupt:
            raise BulkError("interrupted; the same command goes on from here") from None
    if options.json:
        return print_json(summary.as_dict())
    _print(summary, options.out)
    return FOUND


def _options(options: argparse.Namespace, settings: DedupSettings) -> Options:
    threshold = settings.threshold if options.threshold is None else options.threshold
    if not 0 < threshold <= 1:
        raise UsageError("--threshold takes a number above 0, at most 1", print_help=False)
    if options.workers is not None and options.workers < 0:
        raise UsageError("--workers takes a number from 0 on", print_help=False)
    return Options(
        rules=replace(
            settings.rules, threshold=threshold, method=options.method or settings.method
        ),
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
        strict=options.strict,
    )


def _bytes(size: str) -> int:
    """Return a size as a number of bytes: `500M`, `2G`."""
    number, unit = size[:-1], size[-1:].lower()
    if unit.isdigit():
        number, unit = size, ""
    try:
        found = int(float(number) * _UNITS.get(unit, 0 if unit else 1))
    except ValueError:
        found = 0
    if found < 1_000_000:
        raise UsageError("--memory takes a size from 1M on, such as 500M or 2G", print_help=False)
    return found


@contextmanager
def _store(options: argparse.Namespace, settings: DedupSettings) -> Iterator[Store]:
    """Hold the store that rows are put into; it is made where there is none."""
    url = store_url(options.store) if options.store else settings.store_url
    rules = _options(options, settings).rules
    with Store.open(url, scheme=settings.scheme, rules=rules) as store:
        yield store


@contextmanager
def _progress(every: float) -> Iterator[Callable[[Step], None]]:
    """Show how far the run is: a bar on a terminal, else a line from time to time."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield _Lines(every)
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(show_speed=False),
        TextColumn("{task.fields[rows]:,} rows, {task.fields[rate]:,.0f}/s"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("", total=None, rows=0, rate=0.0)
        phase, rate = "", _Rate()

        def show(step: Step) -> None:
            nonlocal phase
            if step.phase != phase:
                phase = step.phase
                bar.reset(task, description=phase, total=None)
            total = None if step.share is None else 1.0
            bar.update(
                *(task,),
                completed=step.share or 0.0,
                total=total,
                rows=step.rows,
                rate=rate.of(step),
            )

        yield show


class _Rate:
    """Rows a second of a phase, since it began."""

    def __init__(self) -> None:
        self._phase = ""
        self._began = 0.0
        self._first = 0

    def of(self, step: Step) -> float:
        now = time.monotonic()
        if step.phase != self._phase:
            self._phase, self._began, self._first = step.phase, now, step.rows
        return (step.rows - self._first) / max(now - self._began, 1e-9)


class _Lines:
    """Tells how far a run is in lines on standard error, one for each phase at least."""

    def __init__(self, every: float) -> None:
        self._every = every
        self._told = ("", 0.0)
        self._rate = _Rate()

    def __call__(self, step: Step) -> None:
        now = time.monotonic()
        rate = self._rate.of(step)
        phase, told = self._told
        if step.phase == phase and now - told < self._every:
            return
        self._told = step.phase, now
        if step.phase != phase:
            line = f"{step.phase} ..."
        else:
            line = f"{step.phase}: {step.rows:,} rows, {rate:,.0f} rows/s"
            if step.share is not None:
                line += f", {step.share:.0%}"
        print(line, file=sys.stderr, flush=True)


def _print(summary: Summary, out: str) -> None:
    total = max(summary.total, 1)
    kinds = f"{summary.exact:,} exact, {summary.near:,} near"
    rows = [
        ("rows", f"{summary.total:,}"),
        ("unique", f"{summary.unique:,} ({summary.unique / total:.1%})"),
        ("repeated", f"{summary.repeated:,} ({summary.repeated / total:.1%}): {kinds}"),
        ("seconds", f"{summary.seconds:,.1f}"),
        ("written to", plain_line(out)),
    ]
    if summary.short:
        rows.insert(2, ("short", f"{summary.short:,} of the unique ones are compared exactly only"))
    if summary.stored is not None:
        said = ", ".join(f"{number:,} {status}" for status, number in summary.stored.items())
        rows.append(("in the store", said or "nothing"))
    if summary.bad:
        rows.append(("bad rows", f"{summary.bad:,}, listed in bad.jsonl"))
    print_table(["", ""], rows, header=False)
    if summary.problems:
        print()
        print_table(
            ["file", "line", "problem"],
            [(problem.file, f"{problem.line:,}", problem.reason) for problem in summary.problems],
        )
        left = summary.bad - len(summary.problems)
        if left:
            print(f"and {left:,} more")
