"""What all benchmarks have in common: how they take options, print tables and judge figures."""

from __future__ import annotations

import argparse
import re
from typing import TYPE_CHECKING, NamedTuple

from rich.console import Console
from rich.table import Table

if TYPE_CHECKING:
    from collections.abc import Iterable

WIDTH = 150  # characters of a line, also where the terminal is narrower
_FIGURE = re.compile(r"-?[\d,.]*( of [\d,]+|%)?$")


class Target(NamedTuple):
    """A figure beside its limit: what it is to be at most, or at least."""

    name: str
    measured: float
    limit: float
    at_least: bool = False

    @property
    def met(self) -> bool:
        """Whether it is what it is to be."""
        return self.measured >= self.limit if self.at_least else self.measured <= self.limit

    def __str__(self) -> str:
        met = "met" if self.met else "MISSED"
        sign = ">=" if self.at_least else "<="
        return f"{met:7}{self.name}: {number(self.measured)} (target {sign} {self.limit:,g})"


def options_of(doc: str | None, *, data: bool = False) -> argparse.ArgumentParser:
    """Return a parser of options.

    Args:
        doc: docstring of the benchmark, which is its help.
        data: whether it reads the labelled data.
    """
    parser = argparse.ArgumentParser(
        description=doc, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    if data:
        parser.add_argument("--data", help="folder of the labelled data (default: DEDUP_DATA)")
    return parser


def chosen(parser: argparse.ArgumentParser, given: str, known: Iterable[str]) -> list[str]:
    """Return names that are given with commas between; others than the known ones are refused."""
    names = given.split(",")
    if unknown := sorted({*names} - {*known}):
        parser.error(f"unknown: {', '.join(unknown)}; known: {', '.join(known)}")
    return names


def show(
    columns: Iterable[str], rows: Iterable[Iterable[object]], title: str | None = None
) -> None:
    """Print a table: names on the left, figures on the right."""
    cells = [[*map(str, row)] for row in rows]
    table = Table(box=None, pad_edge=False)
    for place, column in enumerate(columns):
        names = [row[place] for row in cells if not _FIGURE.match(row[place])]
        table.add_column(column, justify="left" if names else "right")
    for row in cells:
        table.add_row(*row)
    if title:
        print(title)
    Console(width=WIDTH, highlight=False, markup=False).print(table)


def number(value: float) -> str:
    """Write a figure with as many digits as are read."""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"
