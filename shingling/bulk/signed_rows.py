"""The signed rows of a whole collection, in files that grow by one part of an input at a time.

Signing appends to them; sorting, deciding and writing read them. All rows are numbered from 0 on
in the order of the inputs. The folder holds

- `rows`: a `ROW_RECORD` for each row that could be signed;
- `minima`: uint32[rows, 84];
- `keys-00` and so on: int64[rows] for each band of minima; absent if only exact duplicates are
  looked for, or SimHashes;
- `ids`: the ids of the rows, one after the other, in UTF-8;
- `lines`: the rows that cannot be read again as lines of their input file, as JSON;
- `known`: a `DECISION` for each of the first rows that a store has decided; see `known`;
- `bad`: a line of JSON for each row that could not be signed: number of the input, line, reason.
"""

from __future__ import annotations

import json
import mmap
import shutil
from contextlib import suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NamedTuple

import numpy as np

from shingling.errors import BulkError
from shingling.sketch import FUNCTIONS
from shingling.text import clean

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from shingling.arrays import Hashes, Integers, Minima, Records


ROW_RECORD = np.dtype(
    [
        ("text", "<u8", 2),  # 128-bit hash of the canonical words
        ("id", "<u8", 2),  # 128-bit hash of the id; 0 if the row has none
        ("simhash", "<u8"),
        ("words", "<u4"),
        ("source", "<u4"),  # number of the input
        ("line", "<u8"),  # in its input, from 1 on
        ("offset", "<u8"),  # bytes, in the input file; with `IN_LINES`, in `lines`
        ("length", "<u4"),  # bytes; 0 if a known row has no text
        ("id_length", "<u4"),  # bytes
        ("id_offset", "<u8"),  # bytes, in `ids`
        ("order", "<f8"),  # rows with a lower one are decided first: `Order`
    ]
)
IN_LINES = 1 << 63
"""Bit of an offset: the row is in `lines`, not in its input file."""

NO_ROW = np.uint32(0xFFFFFFFF)
"""Instead of the number of a row."""

KEPT, EXACT, NEAR, SHORT, REPEATED_ID = range(5)
"""What becomes of a row; one with `REPEATED_ID` has the id of an earlier row, and is bad."""

DECISION = np.dtype(
    [("state", "u1"), ("original", "<u4"), ("resemblance", "<f8"), ("containment", "<f8")]
)
"""What is decided on a row; an original has `NO_ROW` as its original."""

_BLOCK_ROWS = 1 << 13
_ROWS_PICKED = 1 << 12  # at once
_MAX_OPEN_FILES = 64
_MINIMA = np.dtype(("<u4", (FUNCTIONS,)))


class SignedPart(NamedTuple):
    """A part of an input as a worker signs it; its rows count from the part's start.

    Args:
        lines: number of its lines.
        bad: number and reason of each line that could not be signed.
        rows: `ROW_RECORD`[n].
        minima: uint32[n, 84].
        keys: int64[bands, n], or None.
        ids: the ids, one after the other.
        own: the rows that have to be stored, one after the other.
        fields: names of those of a bad row, if there is one.
    """

    lines: int
    bad: list[tuple[int, str]]
    rows: Records
    minima: Minima
    keys: Integers | None
    ids: bytes
    own: bytes
    fields: tuple[str, ...] = ()


def _band(number: int) -> str:
    return f"keys-{number:02}"


class RowsWriter:
    """Appends signed parts to the files of a folder.

    Args:
        folder: is made anew.

    Raises:
        OSError: the disk is full, or the like.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        self.rows = 0
        """Number of rows that are stored."""
        self._source, self._lines = -1, 0  # of the last part, and lines of its input so far
        self._sizes = {"ids": 0, "lines": 0}
        for name in ("rows", "minima", "ids", "lines", "known", "bad"):
            (folder / name).touch()

    def append(self, signed: SignedPart, source: int) -> list[tuple[int, str]]:
        """Append a part of an input; return line and reason of its bad rows.

        Raises:
            OSError: the disk is full, or the like.
        """
        if source != self._source:
            self._source, self._lines = source, 0
        rows, bad = signed.rows, [(self._lines + line, reason) for line, reason in signed.bad]
        rows["source"] = source
        rows["line"] += np.uint64(self._lines)
        rows["id_offset"] += np.uint64(self._sizes["ids"])
        rows["offset"][rows["offset"] >= np.uint64(IN_LINES)] += np.uint64(self._sizes["lines"])
        keys = () if signed.keys is None else signed.keys
        contents = {
            "rows": rows.tobytes(),
            "minima": signed.minima.tobytes(),
            **{_band(band): of_band.tobytes() for band, of_band in enumerate(keys)},
            "ids": signed.ids,
            "lines": signed.own,
            "bad": b"".join(b"%s\n" % json.dumps([source, *one]).encode() for one in bad),
        }
        for name, content in contents.items():
            with (self._folder / name).open("ab") as file:
                file.write(content)
        for name in self._sizes:
            self._sizes[name] += len(contents[name])
        self.rows += len(rows)
        self._lines += signed.lines
        return bad

    def write_known(self, decisions: Records) -> None:
        """Note what is decided on the rows so far: `DECISION`[rows]."""
        decisions.tofile(self._folder / "known")


class SignedRows:
    """All signed rows of a collection.

    Args:
        folder: that they are stored in.
        names: of the inputs.
        files: the inputs as files, or None if their rows are in the folder.
        text_field: name of the field with the text.
        known: number of inputs whose rows are known before the run.

    Attributes:
        known: number of these inputs.
        first: the first row that is not of them.
    """

    def __init__(
        self,
        folder: Path,
        names: Sequence[str],
        files: Sequence[str | None],
        text_field: str,
        known: int = 0,
    ) -> None:
        self._folder = folder
        self._names = names
        self._files = files
        self._text_field = text_field
        self._rows = (folder / "rows").stat().st_size // ROW_RECORD.itemsize
        self._rows_file, self._lines_file = str(folder / "rows"), str(folder / "lines")
        self._open_files: dict[str, IO[bytes]] = {}
        self.known = known
        self.first = int(np.searchsorted(self.column("source"), known)) if known else 0

    def __len__(self) -> int:
        return self._rows

    def close(self) -> None:
        """Close all files."""
        while self._open_files:
            self._open_files.popitem()[1].close()

    def bad(self) -> Iterator[tuple[int, int, str]]:
        """Yield input, line and reason of each row that could not be signed, in their order."""
        with (self._folder / "bad").open("rb") as file:
            for line in file:
                source, number, reason = json.loads(line)
                if source >= self.known:
                    yield source, number, reason

    def blocks(self, first: int = 0) -> Iterator[tuple[int, int]]:
        """Yield bounds of rows, some thousands at a time: the first, and the one after."""
        for start in range(first, len(self), _BLOCK_ROWS):
            yield start, min(start + _BLOCK_ROWS, len(self))

    def records(self, start: int, stop: int) -> Records:
        """Read the records from `start` to before `stop`: `ROW_RECORD`[stop - start]."""
        return self._read("rows", ROW_RECORD, start, stop)

    def minima(self, start: int, stop: int) -> Minima:
        """Read the minima from `start` to before `stop`: uint32[stop - start, 84]."""
        return self._read("minima", _MINIMA, start, stop)

    def keys(self, band: int) -> Hashes:
        """Read the keys of a band: uint64[rows]."""
        return self._read(_band(band), np.dtype("<u8"), 0, len(self))

    def column(self, name: str) -> Records:
        """Read a field of `ROW_RECORD` of all rows."""
        parts = [self.records(start, stop)[name] for start, stop in self.blocks()]
        return np.concatenate([np.empty(0, ROW_RECORD)[name], *parts])

    def known_decisions(self) -> Records:
        """Read what is decided already, on the first rows: `DECISION`[n]."""
        return np.fromfile(self._folder / "known", DECISION)

    def records_of(self, rows: Records) -> Records:
        """Read the records of single rows: `ROW_RECORD`[n]."""
        return self._pick("rows", ROW_RECORD, rows)

    def minima_of(self, rows: Records) -> Minima:
        """Read the minima of single rows: uint32[n, 84]."""
        return self._pick("minima", _MINIMA, rows)

    def _read(self, name: str, kind: np.dtype[Any], start: int, stop: int) -> Records:
        return np.fromfile(
            self._folder / name,
            kind.base,
            (stop - start) * kind.itemsize // kind.base.itemsize,
            offset=start * kind.itemsize,
        ).reshape(-1, *kind.shape)

    def _pick(self, name: str, kind: np.dtype[Any], rows: Records) -> Records:
        shape = (self._rows, *kind.shape)
        picked = np.empty((len(rows), *kind.shape), kind.base)
        for start in range(0, len(rows), _ROWS_PICKED):
            # Mapped anew each time: what stays mapped counts as memory of this process.
            file = np.memmap(self._folder / name, kind.base, "r", shape=shape)
            part = slice(start, start + _ROWS_PICKED)
            picked[part] = file[rows[part]]
        return picked

    def lines(self, records: Records) -> Iterator[bytes]:
        """Yield the rows of records as lines of JSON."""
        for source, offset, length in records[["source", "offset", "length"]].tolist():
            yield self._line(source, offset, length)

    def text(self, row: int) -> str:
        """Text of a row, as it was signed.

        Raises:
            BulkError: the file has changed since.
        """
        file = self._open(self._rows_file)
        file.seek(row * ROW_RECORD.itemsize)
        record = np.frombuffer(file.read(ROW_RECORD.itemsize), ROW_RECORD)
        [line] = self.lines(record)
        with suppress(ValueError, KeyError, TypeError):
            return clean(json.loads(line)[self._text_field])
        name, number = self.position(record[0])
        raise BulkError(f"{name}, line {number:,}: the file has changed since it was signed")

    def position(self, record: Any) -> tuple[str, int]:
        """Input that a row comes from, and the number of its line there."""
        return self.name(int(record["source"])), int(record["line"])

    def name(self, source: int) -> str:
        """Name of an input."""
        return self._names[source]

    def ids(self, records: Records) -> list[str]:
        """Ids of rows; a row without one is called by its input and line."""
        names: list[str] = []
        file = self._folder / "ids"
        with file.open("rb") as opened:
            size = file.stat().st_size
            content = mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ) if size else b""
        for start, length, source, line in zip(
            *(records[name].tolist() for name in ("id_offset", "id_length", "source", "line")),
            strict=True,
        ):
            name = content[start : start + length].decode()
            names.append(name or f"{self.name(source)}:{line}")
        return names

    def _line(self, source: int, offset: int, length: int) -> bytes:
        name = self._files[source]
        if name is None or offset & IN_LINES:
            name, offset = self._lines_file, offset & ~IN_LINES
        file = self._open(name)
        file.seek(offset)
        return file.read(length)

    def _open(self, name: str) -> IO[bytes]:
        file = self._open_files.get(name)
        if file is None:
            if len(self._open_files) >= _MAX_OPEN_FILES:
                self._open_files.pop(next(iter(self._open_files))).close()
            file = self._open_files[name] = Path(name).open("rb")  # noqa: SIM115 (see `close`)
        return file


class OrderedRows:
    """Signed rows in another order, as deciding reads them.

    Args:
        signed: the rows.
        order: their numbers in this order: int64[rows].
    """

    def __init__(self, signed: SignedRows, order: Integers) -> None:
        self._signed = signed
        self._order = order
        self.first = signed.first
        self.known_decisions = signed.known_decisions

    def column(self, name: str) -> Records:
        """Read a field of `ROW_RECORD` of all rows."""
        return self._signed.column(name)[self._order]

    def keys(self, band: int) -> Hashes:
        """Read the keys of a band: uint64[rows]."""
        return self._signed.keys(band)[self._order]

    def minima_of(self, rows: Records) -> Minima:
        """Read the minima of single rows: uint32[n, 84]."""
        return self._signed.minima_of(self._order[rows])

    def text(self, row: int) -> str:
        """Text of a row, as it was signed."""
        return self._signed.text(int(self._order[row]))
