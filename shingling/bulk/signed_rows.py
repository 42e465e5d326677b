"""The signed rows of a whole collection, in files that grow by one part of an input at a time.

Signing appends to them; sorting, deciding and writing read them. All rows are numbered from 0 on
in the order of the inputs. The folder holds

- `rows`: a `ROW_RECORD` for each row that could be signed;
- `minima`: uint32[rows, 84];
- `keys-00` and so on: int64[rows] for each band of minima; absent if only exact duplicates are
  looked for, or SimHashes;
- `ids`: the ids of the rows, one after the other, in UTF-8;
- `lines`: the rows that cannot be read again as lines of their input file, as JSON;
- `parts`: a line of JSON for each `Part`. What the other files have beyond the last of these is
  left of an interruption.
"""

from __future__ import annotations

import json
import mmap
import shutil
from contextlib import suppress
from dataclasses import asdict, dataclass, field
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
        ("length", "<u4"),  # bytes
        ("id_length", "<u4"),  # bytes
        ("id_offset", "<u8"),  # bytes, in `ids`
    ]
)
IN_LINES = 1 << 63
"""Bit of an offset: the row is in `lines`, not in its input file."""

_PLACE = ["source", "offset", "length"]  # fields that tell where a row is
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
    """

    lines: int
    bad: list[tuple[int, str]]
    rows: Records
    minima: Minima
    keys: Integers | None
    ids: bytes
    own: bytes


@dataclass
class Part:
    """Facts about a part that is stored.

    Args:
        source: number of the input; -1 where there is none yet.
        start: number of its first row.
        rows: number of its rows.
        lines: number of its lines.
        lines_before: number of lines of the input before it.
        ids: bytes of the ids of all rows up to its end.
        own: bytes of all stored lines up to its end.
        bands: number of keys of a row.
        bad: line in the input and reason of each row that could not be signed.
        digest: hash of the part, if nothing else shows that the input has changed.
    """

    source: int = -1
    start: int = 0
    rows: int = 0
    lines: int = 0
    lines_before: int = 0
    ids: int = 0
    own: int = 0
    bands: int = 0
    bad: list[tuple[int, str]] = field(default_factory=list)
    digest: str | None = None

    @property
    def stop(self) -> int:
        """Number of rows up to its end."""
        return self.start + self.rows

    def sizes(self) -> dict[str, int]:
        """Bytes of each file up to its end."""
        rows = self.stop
        return {
            "rows": rows * ROW_RECORD.itemsize,
            "minima": rows * _MINIMA.itemsize,
            **{_band(band): 8 * rows for band in range(self.bands)},
            "ids": self.ids,
            "lines": self.own,
        }


def _band(number: int) -> str:
    return f"keys-{number:02}"


def read_parts(folder: Path) -> Iterator[Part]:
    """Yield the parts that are stored in a folder."""
    with suppress(FileNotFoundError), (folder / "parts").open(encoding="utf-8") as file:
        for line in file:
            if line.endswith("\n"):  # or it was being written
                yield Part(**json.loads(line))


class RowsWriter:
    """Appends signed parts to the files of a folder, behind those that are there already.

    Args:
        folder: is created if necessary.

    Raises:
        OSError: the disk is full, or the like.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._last = Part()
        self.digests: list[str | None] = []
        """Digest of each part that is stored."""
        for part in read_parts(folder):
            self._last = part
            self.digests.append(part.digest)
        if not self.digests:
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
        for name, size in self._last.sizes().items():
            with (folder / name).open("ab") as file:
                file.truncate(size)
        with (folder / "parts").open("a+b") as file:
            file.seek(0)
            file.truncate(file.read().rfind(b"\n") + 1)

    @property
    def rows(self) -> int:
        """Number of rows that are stored."""
        return self._last.stop

    def append(self, signed: SignedPart, source: int, digest: str | None) -> Part:
        """Append a part; return what is known of it.

        Raises:
            OSError: the disk is full, or the like.
        """
        last = self._last
        before = last.lines_before + last.lines if last.source == source else 0
        rows = signed.rows
        rows["source"] = source
        rows["line"] += np.uint64(before)
        rows["id_offset"] += np.uint64(last.ids)
        rows["offset"][rows["offset"] >= np.uint64(IN_LINES)] += np.uint64(last.own)
        keys = () if signed.keys is None else signed.keys
        contents = {
            "rows": rows,
            "minima": signed.minima,
            **{_band(band): of_band for band, of_band in enumerate(keys)},
            "ids": signed.ids,
            "lines": signed.own,
        }
        for name, content in contents.items():
            with (self._folder / name).open("ab") as file:
                file.write(content if isinstance(content, bytes) else content.tobytes())
        part = Part(
            source,
            last.stop,
            len(rows),
            signed.lines,
            before,
            last.ids + len(signed.ids),
            last.own + len(signed.own),
            len(keys),
            [(before + line, reason) for line, reason in signed.bad],
            digest,
        )
        with (self._folder / "parts").open("a", encoding="utf-8") as file:
            file.write(json.dumps(asdict(part)) + "\n")
        self._last = part
        return part


class SignedRows:
    """All signed rows of a collection.

    Args:
        folder: that they are stored in.
        names: of the inputs.
        files: the inputs as files, or None where their rows are in the folder.
        text_field: name of the field with the text.
    """

    def __init__(
        self, folder: Path, names: Sequence[str], files: Sequence[str | None], text_field: str
    ) -> None:
        self._folder = folder
        self._names = names
        self._files = files
        self._text_field = text_field
        self._rows = (folder / "rows").stat().st_size // ROW_RECORD.itemsize
        self._rows_file, self._lines_file = str(folder / "rows"), str(folder / "lines")
        self._open_files: dict[str, IO[bytes]] = {}

    def __reduce__(self) -> tuple[Any, ...]:
        """Another process opens the same files."""
        return SignedRows, (self._folder, self._names, self._files, self._text_field)

    def __len__(self) -> int:
        return self._rows

    def close(self) -> None:
        """Close all files."""
        while self._open_files:
            self._open_files.popitem()[1].close()

    def parts(self) -> Iterator[Part]:
        """Yield the parts that the rows are of."""
        return read_parts(self._folder)

    def blocks(self) -> Iterator[tuple[int, int]]:
        """Yield bounds of all rows, some thousands at a time: the first, and the one after."""
        for start in range(0, len(self), _BLOCK_ROWS):
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
        for place in records[_PLACE].tolist():
            yield self._line(*place)

    def text(self, row: int) -> str:
        """Text of a row, as it was signed.

        Raises:
            BulkError: the file has changed since.
        """
        file = self._open(self._rows_file)
        file.seek(row * ROW_RECORD.itemsize)
        [record] = np.frombuffer(file.read(ROW_RECORD.itemsize), ROW_RECORD)
        with suppress(ValueError, KeyError, TypeError):
            return clean(json.loads(self._line(*record[_PLACE].tolist()))[self._text_field])
        name, line = self.position(record)
        raise BulkError(f"{name}, line {line:,}: the file has changed since it was signed")

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
        file, at = self._open_line(source, offset)
        file.seek(at)
        return file.read(length)

    def _open_line(self, source: int, offset: int) -> tuple[IO[bytes], int]:
        """File that a row is in, and where."""
        name = self._files[source]
        if name is None or offset & IN_LINES:
            return self._open(self._lines_file), offset & ~IN_LINES
        return self._open(name), offset

    def _open(self, name: str) -> IO[bytes]:
        file = self._open_files.get(name)
        if file is None:
            if len(self._open_files) >= _MAX_OPEN_FILES:
                self._open_files.pop(next(iter(self._open_files))).close()
            file = self._open_files[name] = Path(name).open("rb")  # noqa: SIM115 (see `close`)
        return file
