"""How the commands print: tables for a person, JSON for machines."""

from __future__ import annotations

import csv
import io
import json
import os
import sys
from typing import TYPE_CHECKING, Any, TypeVar

from shingling.errors import printable
from shingling.json_values import json_value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from rich.console import Console

    from shingling.console.options import CommandOptions
    from shingling.store.model import StoredPage

_T = TypeVar("_T")

FOUND, NOT_FOUND, FAILED = 0, 1, 2
"""Exit statuses."""

_SHORTEST_URL = 8  # characters of a URL that is cut
_MARGIN = 16  # characters beside a URL in a line
_FORMULA_SIGNS = ("=", "+", "-", "@", "\t", "\r")  # that a formula of a spreadsheet may begin with


def print_lines(*lines: str, end: str = "\n", error: bool = False) -> None:
    """Print lines, without what a terminal would obey: a line end within one is a space.

    Args:
        lines: to print.
        end: what follows the last one.
        error: whether they go to standard error.
    """
    shown = "\n".join(map(printable, lines))
    print(shown, end=end, file=sys.stderr if error else sys.stdout, flush=error)


def confirmed(options: CommandOptions, question: str) -> bool:
    """Ask on standard error, unless there is `--yes`, and read standard input for a yes."""
    if options.yes:
        return True
    print_lines(f"{question} [y/N] ", end="", error=True)
    try:
        return sys.stdin.readline().strip().lower() in ("y", "yes")
    except KeyboardInterrupt:
        print_lines("", error=True)
        raise


def print_json(value: Any, *, indent: int | None = 2) -> int:
    """Print JSON.

    Args:
        value: what `json_value` takes, such as objects with an `as_dict`.
        indent: spaces of each level; None prints one line.

    Returns:
        The exit status for what was found.
    """
    is_unicode = (sys.stdout.encoding or "utf-8").lower().startswith("utf")
    print(json_text(json_value(value), ascii_only=not is_unicode, indent=indent))
    return FOUND


def print_result(options: CommandOptions, as_json: Any, *lines: str, found: bool = True) -> int:
    """Print what a command has done: JSON, or lines for a person.

    Returns:
        The exit status.
    """
    if options.json:
        print_json(as_json)
    else:
        print_lines(*lines)
    return FOUND if found else NOT_FOUND


def json_text(value: Any, *, ascii_only: bool = False, indent: int | None = None) -> str:
    r"""Write JSON that a terminal shows as it is: what `printable` replaces is escaped as `\u`.

    Args:
        value: what `json.dumps` takes.
        ascii_only: whether all characters beyond ASCII are escaped.
        indent: spaces of each level; None writes one line.
    """
    text = json.dumps(value, ensure_ascii=ascii_only, indent=indent)
    lines = text.split("\n")  # JSON's own: within strings they are escaped
    return "\n".join(line if line.isprintable() else _escaped(line) for line in lines)


def csv_text(rows: Iterable[Mapping[str, Any]], *, header: bool = True) -> str:
    """Write rows as CSV (RFC 4180), with the names of the first row as header if it is wanted.

    A page within a row is its URL, any other nested value JSON. A text that a spreadsheet would
    take for a formula gets an apostrophe before it.
    """
    written = io.StringIO()
    writer = csv.writer(written)
    for number, row in enumerate(rows):
        if header and not number:
            writer.writerow(row)
        writer.writerow(map(_csv_cell, row.values()))
    return written.getvalue()


def _csv_cell(value: Any) -> Any:
    if isinstance(value, dict) and "url" in value:
        value = value["url"]
    elif isinstance(value, (dict, list)):
        value = json_text(value)
    return harmless_cell(value) if isinstance(value, str) else value


def harmless_cell(text: str) -> str:
    """Write ' before a cell that a spreadsheet would take for a formula: it shows the text."""
    return f"'{text}" if text.startswith(_FORMULA_SIGNS) else text


def _escaped(line: str) -> str:
    # json.dumps gives the pair of escapes for a character beyond U+FFFF.
    return "".join(char if char.isprintable() else json.dumps(char)[1:-1] for char in line)


def terminal(**options: Any) -> Console:
    """Make a console of Rich; with NO_COLOR, nothing that it prints has escape codes."""
    from rich.console import Console

    return Console(color_system=None if os.environ.get("NO_COLOR") else "auto", **options)


def print_table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table, with a header if a column has a name; no cell is read as markup.

    On a terminal, URLs are cut in the middle so that a row fits in a line; other long cells are
    folded.
    """
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, show_header=any(columns), pad_edge=False, header_style="bold")
    for column in columns:
        table.add_column(column, overflow="fold")
    cells = [[printable(cell).strip() for cell in row] for row in rows]
    if sys.stdout.isatty():
        cells = _with_urls_cut([columns, *cells], terminal().width)[1:]
    for row in cells:
        table.add_row(*map(Text, row))
    if sys.stdout.isatty():
        terminal().print(table)
        return
    # Piped into a file, a line is as long as it has to be, and no longer.
    text = io.StringIO()
    Console(file=text, width=10_000).print(table)
    print_lines(*(line.rstrip() for line in text.getvalue().splitlines()))


def cut_url(url: str, room: int | None = None) -> str:
    """Cut a URL in the middle so that it has room.

    Args:
        url: the URL.
        room: number of characters; None: of most of a line of the terminal, if there is one.
    """
    if room is None:
        room = terminal().width - _MARGIN if sys.stdout.isatty() else len(url)
    if len(url) <= room:
        return url
    end = room // 2
    return f"{url[: room - end - 1]}…{url[len(url) - end :]}"


def _with_urls_cut(rows: Sequence[Sequence[str]], width: int) -> list[list[str]]:
    """Cut the URLs in a table whose lines have so many characters."""
    columns = [*zip(*rows, strict=True)]
    has_urls = [any("://" in cell for cell in column) for column in columns]
    widest = [2 + max(map(len, column)) for column in columns]
    taken = sum(size for size, is_url in zip(widest, has_urls, strict=True) if not is_url)
    room = max((width - taken) // max(sum(has_urls), 1) - 2, _SHORTEST_URL)
    return [[cut_url(cell, room) if "://" in cell else cell for cell in row] for row in rows]


def print_pages(pages: Iterable[StoredPage]) -> None:
    """Print stored pages, one a line; columns that would be empty are left out."""
    from shingling.store.decided import change_said, required_value

    rows = []
    for page in pages:
        least = required_value(page)
        kept = "kept: " if page.status == "new" else ""
        names = f" ({', '.join(page.fields)})" if page.fields else ""
        has_changed = page.last_verdict == "changed"
        changed = ", changed" if has_changed else ""
        row = {
            "status": f"{page.status}{changed}",
            "words": str(page.words),
            "resemblance": "" if page.resemblance is None else f"{page.resemblance:.3f}",
            "threshold": "" if least is None or page.reason == "piece" else f"{least:g}",
            "URL": page.url,
            "original": page.original or "",
            "compared with": page.compared_with or "",
            "reason": "" if page.reason is None else f"{kept}{page.reason}{names}",
            "change": change_said(page.change) if has_changed and page.change else "",
        }
        rows.append(row)
    columns = [name for name in rows[0] if any(row[name] for row in rows)]
    print_table(columns, [[row[name] for name in columns] for row in rows])


def print_found(
    items: Sequence[_T],
    options: CommandOptions,
    show: Callable[[Sequence[_T]], object],
    nothing: str,
    as_json: Callable[[_T], Any] = json_value,
) -> int:
    """Print what was found, `--limit` of it at most, and say whether there is more.

    Args:
        items: one more than the limit, if there is more.
        options: of the command.
        show: prints it for a person.
        nothing: line for a person if nothing was found.
        as_json: converts one of it to values that JSON has.

    Returns:
        The exit status.
    """
    shown = items[: options.limit]
    if options.json:
        print_json([*map(as_json, shown)])
    elif options.jsonl:
        for item in shown:
            print_json(as_json(item), indent=None)
    elif options.csv:
        print(csv_text(map(as_json, shown)), end="")
    elif shown:
        show(shown)
    else:
        print_lines(nothing)
    print_more(items, options)
    return FOUND if shown else NOT_FOUND


def print_left_out(number: int, about: str = "", *, error: bool = False) -> None:
    """Say how many of a list are not shown, if there are any."""
    if number > 0:
        print_lines(f"{about}and {number:,} more", error=error)


def print_more(items: Sequence[object], options: CommandOptions) -> None:
    """Say that there is more than `--limit` shows, if there is."""
    if options.limit is not None and len(items) > options.limit:
        more = f"… and more: --limit is {options.limit:,}"
        print_lines(more, error=options.data_formats > 0)


def counted(number: int, noun: str) -> str:
    """Say a number with its noun: `1 page`, `1,204 pages`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
