"""The signed rows of a whole collection, read from the chunks on disk.

Signing writes the chunks (`signing.chunks`); sorting, deciding and writing read them here, where
all rows are numbered from 0 on in the order of the inputs.
"""

from __future__ import annotations

import json
import mmap
import os
from collections import OrderedDict
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from shingling.bulk.signing.chunks import (
    IN_CHUNK,
    ROW_RECORD,
    ChunkHeader,
    chunk_folder,
    read_header,
)
from shingling.errors import BulkError
from shingling.sketch import FUNCTIONS
from shingling.text import clean

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

_ARRAYS: dict[str, tuple[Any, Callable[[int], tuple[int, ...]]]] = {
    "rows": (ROW_RECORD, lambda rows: (rows,)),
    "minima": ("<u4", lambda rows: (rows, FUNCTIONS)),
    "keys": ("<i8", lambda rows: (-1, rows)),
}
_MAX_OPEN_FILES = 64


class SignedRows:
    """All signed rows of a collection.

    Args:
        folder: of the chunks.
        number: of chunks.
        names: of the inputs.
        text_field: name of the field with the text.

    Raises:
        BulkError: a chunk is missing.
    """

    def __init__(self, folder: Path, number: int, names: list[str], text_field: str) -> None:
        self._folder = folder
        self._names = names
        self._text_field = text_field
        self.headers: list[ChunkHeader] = []
        for chunk in range(number):
            header = read_header(folder, chunk)
            if header is None:
                missing = chunk_folder(folder, chunk)
                raise BulkError(f"{missing}: a part of the signed rows is missing")
            self.headers.append(header)
        self._bounds = np.concatenate([[0], np.cumsum([header.rows for header in self.headers])])
        lines: dict[int, int] = {}
        self._lines_before: list[int] = []  # of each chunk, in its input
        for header in self.headers:
            self._lines_before.append(lines.get(header.source, 0))
            lines[header.source] = self._lines_before[-1] + header.lines
        self._open_files: OrderedDict[str, IO[bytes]] = OrderedDict()
        self._records = lru_cache(_MAX_OPEN_FILES)(lambda chunk: self.load(chunk, "rows"))
        self._prefetched: dict[int, tuple[int, int, int]] = {}  # chunk, offset and length by row

    def __reduce__(self) -> tuple[Any, ...]:
        """Another process opens the same files."""
        return SignedRows, (self._folder, len(self.headers), self._names, self._text_field)

    def __len__(self) -> int:
        return int(self._bounds[-1])

    def close(self) -> None:
        """Close all files."""
        self._records.cache_clear()
        while self._open_files:
            self._open_files.popitem()[1].close()

    @property
    def bounds(self) -> NDArray[np.int64]:
        """First row of each chunk, then the number of all rows: int64[chunks + 1]."""
        return self._bounds

    def chunks(self, start: int = 0, stop: int | None = None) -> Iterator[tuple[int, int, int]]:
        """Yield the chunks with rows from `start` to before `stop`.

        Yields:
            The chunk's number, its first row, and the row after its last.
        """
        stop = len(self) if stop is None else stop
        chunk = int(np.searchsorted(self._bounds, start, side="right")) - 1
        while chunk < len(self.headers) and self._bounds[chunk] < stop:
            if self.headers[chunk].rows:
                yield chunk, int(self._bounds[chunk]), int(self._bounds[chunk + 1])
            chunk += 1

    def load(self, chunk: int, name: str) -> np.ndarray[Any, Any]:
        """Map an array of a chunk into memory; the chunk must have rows.

        Args:
            chunk: its number.
            name: `rows`, `minima` or `keys`.
        """
        kind, shape = _ARRAYS[name]
        with (chunk_folder(self._folder, chunk) / name).open("rb") as file:
            content = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        return np.frombuffer(content, kind).reshape(shape(self.headers[chunk].rows))

    def records(self, start: int, stop: int) -> np.ndarray[Any, Any]:
        """Read the records from `start` to before `stop`: `ROW_RECORD`[stop - start]."""
        parts = [
            self.load(chunk, "rows")[max(start - first, 0) : stop - first]
            for chunk, first, _ in self.chunks(start, stop)
        ]
        return np.concatenate(parts) if parts else np.empty(0, ROW_RECORD)

    def pick(self, name: str, rows: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """Values of single rows.

        Args:
            name: `rows` or `minima`.
            rows: rising integers[n].
        """
        parts = [self.load(chunk, name)[places] for chunk, places in self._by_chunk(rows)]
        if parts:
            return np.concatenate(parts)
        return np.empty((0, FUNCTIONS), "<u4") if name == "minima" else np.empty(0, ROW_RECORD)

    def lines(self, chunk: int, places: NDArray[np.int64]) -> list[bytes]:
        """Rows of a chunk as lines of JSON.

        Args:
            chunk: its number.
            places: rising places in the chunk, from 0 on.
        """
        records = self.load(chunk, "rows")[places]
        found: list[bytes] = [b""] * len(places)
        for flag in (0, IN_CHUNK):
            chosen = np.flatnonzero((records["offset"] & np.uint64(IN_CHUNK)) == flag)
            if not len(chosen):
                continue
            starts = (records["offset"][chosen] - np.uint64(flag)).astype(np.int64)
            ends = starts + records["length"][chosen]
            first = int(starts[0])
            raw = self._read(chunk, flag | first, int(ends[-1]) - first)
            spans = zip((starts - first).tolist(), (ends - first).tolist(), strict=True)
            for place, (start, end) in zip(chosen.tolist(), spans, strict=True):
                found[place] = raw[start:end]
        return found

    def prefetch(self, rows: NDArray[np.int64]) -> None:
        """Ask the system to read the texts of rising rows ahead, and remember where they are."""
        self._prefetched.clear()
        for chunk, places in self._by_chunk(rows):
            records = self.load(chunk, "rows")[places]
            offsets, lengths = records["offset"].tolist(), records["length"].tolist()
            first = int(self._bounds[chunk])
            for place, offset, length in zip(places.tolist(), offsets, lengths, strict=True):
                self._prefetched[first + place] = chunk, offset, length
                if hasattr(os, "posix_fadvise"):
                    file, at = self._open(chunk, offset)
                    os.posix_fadvise(file.fileno(), at, length, os.POSIX_FADV_WILLNEED)

    def text(self, row: int) -> str:
        """Text of a row, as it was signed.

        Raises:
            BulkError: the file has changed since.
        """
        with suppress(ValueError, KeyError, TypeError):
            return clean(json.loads(self._line(row))[self._text_field])
        name, line = self.position(row)
        raise BulkError(f"{name}, line {line:,}: the file has changed since it was signed")

    def position(self, row: int) -> tuple[str, int]:
        """Input that a row comes from, and the number of its line there."""
        chunk, record = self._record(row)
        return self.line_position(chunk, int(record["line"]))

    def line_position(self, chunk: int, line: int) -> tuple[str, int]:
        """Input of a chunk, and the number there of one of the chunk's lines."""
        return self._names[self.headers[chunk].source], self._lines_before[chunk] + line

    def ids(self, rows: NDArray[Any]) -> list[str]:
        """Ids of rows; a row without one is called by its input and line.

        Args:
            rows: rising integers[n].
        """
        names: list[str] = []
        for chunk, places in self._by_chunk(rows):
            raw = (chunk_folder(self._folder, chunk) / "ids").read_bytes()
            records = self.load(chunk, "rows")
            ends = records["id_end"]
            starts = np.where(places > 0, ends[places - 1], 0)
            for start, end, line in zip(
                starts.tolist(),
                ends[places].tolist(),
                records["line"][places].tolist(),
                strict=True,
            ):
                name = raw[start:end].decode()
                names.append(name or "{}:{}".format(*self.line_position(chunk, line)))
        return names

    def _line(self, row: int) -> bytes:
        """Line of JSON of a row."""
        if row in self._prefetched:
            return self._read(*self._prefetched[row])
        chunk, record = self._record(row)
        return self._read(chunk, int(record["offset"]), int(record["length"]))

    def _record(self, row: int) -> tuple[int, Any]:
        """Chunk of a row, and its record."""
        chunk = int(np.searchsorted(self._bounds, row, side="right")) - 1
        return chunk, self._records(chunk)[row - int(self._bounds[chunk])]

    def _read(self, chunk: int, offset: int, length: int) -> bytes:
        """Bytes of a chunk's rows, from an offset as a record has it."""
        file, at = self._open(chunk, offset)
        file.seek(at)
        return file.read(length)

    def _open(self, chunk: int, offset: int) -> tuple[IO[bytes], int]:
        """Open the file that a record's offset points into.

        Returns:
            The file, and the offset without its flag.
        """
        flag = offset & IN_CHUNK
        name = self.headers[chunk].file
        if flag or name is None:
            name = str(chunk_folder(self._folder, chunk) / "rows.jsonl")
        if name in self._open_files:
            self._open_files.move_to_end(name)
            return self._open_files[name], offset - flag
        while len(self._open_files) >= _MAX_OPEN_FILES:
            self._open_files.popitem(last=False)[1].close()
        file = self._open_files[name] = Path(name).open("rb")  # noqa: SIM115 (closed by `close`)
        return file, offset - flag

    def _by_chunk(self, rows: NDArray[Any]) -> Iterator[tuple[int, NDArray[np.int64]]]:
        """Yield the chunks of rising rows, each with the places of its rows."""
        chunks = np.searchsorted(self._bounds, rows, side="right") - 1
        starts = np.flatnonzero(np.diff(chunks, prepend=-1)).tolist()
        for start, end in zip(starts, [*starts[1:], len(rows)], strict=False):
            chunk = int(chunks[start])
            yield chunk, rows[start:end].astype(np.int64) - self._bounds[chunk]
