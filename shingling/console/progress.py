"""How far a command has come: a bar on a terminal, otherwise lines."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from contextlib import contextmanager
from typing import TYPE_CHECKING

from shingling.console.output import print_lines

if TYPE_CHECKING:
    from collections.abc import Iterator

Show = Callable[[str, int, float | None], None]
"""Takes the phase, how many are done in it, and the share of it, 0 to 1; None is unknown."""


@contextmanager
def progress_bar(
    unit: str,
    *,
    seconds_between_lines: float | None = None,
    announced: bool = True,
    shown: bool = True,
) -> Iterator[Show]:
    """Show progress on standard error: a bar if that is a terminal.

    Args:
        unit: what is counted, such as `pages`.
        seconds_between_lines: where it is no terminal, print a line that often; None prints
            nothing there.
        announced: whether there is also a line when a phase begins.
        shown: False shows nothing at all.

    Yields:
        What is to be called from time to time.
    """
    if shown and sys.stderr.isatty() and not os.environ.get("NO_COLOR"):
        with _bar(unit) as show:
            yield show
    elif shown and seconds_between_lines is not None:
        yield _lines(unit, seconds_between_lines, announced=announced)
    else:
        yield lambda *_: None


@contextmanager
def _bar(unit: str) -> Iterator[Show]:
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        Progress,
        TaskProgressColumn,
        TextColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(show_speed=False),
        TextColumn(f"{{task.fields[done]:,}} {unit}, {{task.fields[rate]:,.0f}}/s"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=None, done=0, rate=0.0)
        rate = _Rate()

        def show(phase: str, done: int, share: float | None) -> None:
            if phase != rate.phase:
                bar.reset(task, description=phase, total=None)
            total = None if share is None else 1.0
            per_second = rate.per_second(phase, done)
            bar.update(task, completed=share or 0.0, total=total, done=done, rate=per_second)

        yield show


def _lines(unit: str, seconds: float, *, announced: bool) -> Show:
    """Make what prints a line of progress so often, and one when a phase begins if announced."""
    rate, printed = _Rate(), 0.0

    def show(phase: str, done: int, share: float | None) -> None:
        nonlocal printed
        begins = phase != rate.phase
        per_second = rate.per_second(phase, done)
        now = time.monotonic()
        if not begins and now - printed < seconds:
            return
        printed = now
        if not begins:
            shown = "" if share is None else f", {share:.0%}"
            line = f"{phase}: {done:,} {unit}, {per_second:,.0f} {unit}/s{shown}"
            print_lines(line, error=True)
        elif announced:
            print_lines(f"{phase} ...", error=True)

    return show


class _Rate:
    """How many are done a second, since the phase began."""

    def __init__(self) -> None:
        self.phase = ""
        self._began = 0.0
        self._done_before = 0

    def per_second(self, phase: str, done: int) -> float:
        now = time.monotonic()
        if phase != self.phase:
            self.phase, self._began, self._done_before = phase, now, done
        return (done - self._done_before) / max(now - self._began, 1e-9)
