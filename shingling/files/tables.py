"""CSV as people have it: with several delimiters, cells of several lines, and stray quotes."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter, deque
from typing import IO, TYPE_CHECKING

from shingling.files.lines import Line, name_without_packing
from shingling.rules import MAX_LINE_BYTES

if TYPE_CHECKING:
    from collections.abc import Iterator

CSV_SUFFIXES = (".csv", ".tsv")

_DELIMITERS = ",;\t|"  # the one that the header has most often is taken; in doubt, the first
_NOT_UTF8 = re.compile("[\ud800-\udfff]")
_LINE_CHARACTERS = 100  # that a line of a row counts for, besides its own
_SKIPPED_AT_ONCE = 1 << 20  # characters of a line that is too long


def is_csv(name: str) -> bool:
    """Whether a file is a table of text by its name."""
    return name_without_packing(name).endswith(CSV_SUFFIXES)


def csv_lines(
    file: IO[bytes], max_characters: int = MAX_LINE_BYTES, delimiter: str | None = None
) -> Iterator[Line]:
    """Yield the rows of CSV in UTF-8 after its header, each with the number of its first line.

    A row may span lines as RFC 4180 has it: the quote that ends the cell is followed by a delimiter
    or the end of the line, and there are as many cells as in the header. If that is not so, only
    the first line is a bad row, and the others are read again: each is a row of its own, up to the
    one at which it was seen.

    Args:
        file: to read from.
        max_characters: of a line, a cell and a row.
        delimiter: of cells; None finds it in the header.
    """
    limit = csv.field_size_limit(max_characters)  # of all readers in the process
    text = io.TextIOWrapper(file, encoding="utf-8-sig", errors="surrogateescape", newline="")
    try:
        yield from _Table(text, max_characters, delimiter).rows()
    finally:
        csv.field_size_limit(limit)
        text.detach()


class _Table:
    """Rows of CSV, whose lines can be read again."""

    def __init__(self, text: io.TextIOWrapper, max_characters: int, delimiter: str | None) -> None:
        self._text = text
        self._most = max_characters
        self._number = 1  # of the first line of the row
        self._taken: list[str] = []  # the lines of the row
        self._size = 0  # of the row
        self._alone = 0  # of the lines that are read again: each is a row of its own
        while (line := self._read()).isspace():
            self._number += 1
        self._again = deque([line])
        unquoted = "".join(line.split('"')[::2])
        self._delimiter = delimiter or max(_DELIMITERS, key=unquoted.count)

    def rows(self) -> Iterator[Line]:
        """Yield the rows after the header, or what is wrong with that."""
        names = self._row()
        if names is None:
            return
        if problem := _header_problem(names, self._problem):
            yield Line(self._number, problem)
            return
        self._number += len(self._taken)
        while (row := self._row()) is not None:
            problem = self._problem
            if row or problem:
                if not problem and len(row) != len(names):
                    problem = f"{len(row)} cells, not {len(names)}"
                if problem and len(self._taken) > 1:
                    self._again.extendleft(reversed(self._taken[1:]))
                    self._alone = len(self._taken) - 1
                    del self._taken[1:]
                if not problem and _NOT_UTF8.search("".join(row)):
                    problem = "not UTF-8"
                yield Line(self._number, problem or dict(zip(names, row, strict=True)))
            self._number += len(self._taken)

    def _row(self) -> list[str] | None:
        """Read a row, and note what is wrong with it; None at the end."""
        self._taken, self._size, self._problem = [], 0, ""
        self._alone = max(self._alone - 1, 0)
        row: list[str] | None = []
        try:
            row = next(csv.reader(iter(self._take, ""), delimiter=self._delimiter), None)
            if len(self._taken) > 1:  # or one that is not complete
                next(csv.reader(self._taken, delimiter=self._delimiter, strict=True))
        except csv.Error:
            self._problem = "a stray quote, or cut off"
        if not self._taken[-1]:
            self._taken.pop()
        if row is not None and len(self._taken[-1]) > self._most:
            self._problem = f"longer than {self._most:,} characters"
        return row

    def _take(self) -> str:
        """Give the row another line, or "" if it gets none."""
        line = ""
        if not (self._taken and (self._alone or self._size > self._most)):
            line = self._again.popleft() if self._again else self._read()
        self._taken.append(line)
        self._size += len(line) + _LINE_CHARACTERS
        return line

    def _read(self) -> str:
        """Read a line; one that is too long is cut."""
        line = piece = self._text.readline(self._most + 1)
        if len(line) > self._most:
            while piece and not piece.endswith(("\n", "\r")):
                piece = self._text.readline(_SKIPPED_AT_ONCE)
        return line


def _header_problem(names: list[str], problem: str) -> str:
    """Say what is wrong with a header."""
    if problem:
        return f"the header is not CSV: {problem}"
    for name, times in Counter(filter(None, names)).most_common(1):
        return f"the header has {name} twice" if times > 1 else ""
    return "the header is empty"
