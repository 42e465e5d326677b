"""How the commands print: tables for a person, JSON for machines."""

from __future__ import annotations

import io
import json
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from shingling.store import StoredPage

FOUND, NOT_FOUND, FAILED = 0, 1, 2
"""Exit statuses."""


def print_json(value: Any) -> int:
    """Print JSON.

    Returns:
        The exit status for what was found.
    """
    print(json.dumps(value, ensure_ascii=False, indent=2))
    return FOUND


def print_table(
    columns: Sequence[str], rows: Sequence[Sequence[str]], *, header: bool = True
) -> None:
    """Print a table; long cells are folded, never cut, and no cell is read as markup."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from shingling.text import plain_line

    table = Table(box=None, show_header=header, pad_edge=False, header_style="bold")
    for column in columns:
        table.add_column(column, overflow="fold")
    for row in rows:
        table.add_row(*(Text(plain_line(cell)) for cell in row))
    if sys.stdout.isatty():
        Console().print(table)
        return
    # Piped into a file, a line is as long as it has to be, and no longer.
    text = io.StringIO()
    Console(file=text, width=10_000).print(table)
    print("\n".join(line.rstrip() for line in text.getvalue().splitlines()))


def print_pages(pages: Iterable[StoredPage]) -> None:
    """Print stored pages, one a line."""
    print_table(
        ["status", "words", "resemblance", "URL", "original"],
        [
            (
                page.status,
                str(page.words),
                "" if page.resemblance is None else f"{page.resemblance:.3f}",
                page.url,
                page.original or "",
            )
            for page in pages
        ],
    )


def counted(number: int, noun: str) -> str:
    """Say a number with its noun: `1 page`, `1,204 pages`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
