"""Signed rows on disk: a folder for each part of an input, which is there whole or not at all.

A chunk holds

- `head.json`: what the part was, how many rows and lines it has, and its bad rows;
- `rows`: a record (`ROW`) for each row that could be signed, in the order of the input;
- `minima`: uint32[rows, 84];
- `keys`: int64[bands, rows], under which candidates are found;
- `ids`: the ids of its rows, one after the other, in UTF-8;
- `rows.jsonl`: the rows that are not lines of a file which can be read again.
"""

from __future__ import annotations

import json
import mmap
import os
import shutil
from collections import OrderedDict
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from shingling.errors import BulkError
from shingling.sketch import FUNCTIONS
from shingling.text import clean

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from shingling.sketch import Signature
    from shingling.sketch.banding import Banding

ROW = np.dtype(
    [
        ("text", "<u8", 2),  # 128-bit hash of the canonical words
        ("id", "<u8", 2),  # 128-bit hash of the id; 0 where it has none
        ("simhash", "<u8"),
        ("words", "<u4"),
        ("line", "<u4"),  # within the part, from 1 on
        ("offset", "<u8"),  # of the row in its file; with `OWN`, in `rows.jsonl`
        ("length", "<u4"),
        ("id_end", "<u4"),  # in `ids`
    ]
)
_FACTS = ("simhash", "words", "line", "offset", "length", "id_end")
_ARRAYS: dict[str, tuple[Any, Callable[[int], tuple[int, ...]]]] = {
    "rows": (ROW, lambda rows: (rows,)),
    "minima": ("<u4", lambda rows: (rows, FUNCTIONS)),
    "keys": ("<i8", lambda rows: (-1, rows)),
}
OWN = 1 << 63
_OPEN = 64  # files held open


@dataclass
class Head:
    """What is known of a chunk.

    Args:
        source: number of the input.
        rows: signed.
        lines: of the part.
        file: with the rows that are not the chunk's own.
        bad: lines that could not be taken, and why.
        types: names of the rows' fields, with the types that their values have.
        digest: of the part, where nothing else tells whether the input has changed.
    """

    source: int
    rows: int = 0
    lines: int = 0
    file: str | None = None
    bad: list[tuple[int, str]] = field(default_factory=list)
    types: dict[str, list[str]] = field(default_factory=dict)
    digest: str | None = None


class ChunkWriter:
    """A chunk that is being made."""

    def __init__(self, head: Head) -> None:
        self.head = head
        self._facts: list[tuple[int, int, int, int, int, int]] = []
        self._minima: list[bytes] = []
        self._texts: list[bytes] = []
        self._keys: list[bytes] = []
        self._ids: list[bytes] = []
        self._id_end = 0
        self._own: list[bytes] = []
        self._own_end = 0
        self._shapes: set[tuple[Any, ...]] = set()  # names of fields, and their types

    def bad(self, line: int, reason: str) -> None:
        """Note a row that could not be taken."""
        self.head.bad.append((line, reason))

    def add(
        self,
        signature: Signature,
        line: int,
        row_id: tuple[bytes, bytes] | None,
        values: dict[str, Any],
        place: tuple[int, int] | bytes,
    ) -> None:
        """Add a row.

        Args:
            signature: of its text.
            line: within the part.
            row_id: the id and its 128-bit hash.
            values: its fields.
            place: offset and length in the part's own file, or the row itself.
        """
        if isinstance(place, bytes):
            self._own.append(place)
            own, place = self._own_end, (OWN | self._own_end, len(place))
            self._own_end = own + place[1] + 1
        name, key = row_id or (b"", bytes(16))
        self._id_end += len(name)
        self._ids.append(name)
        self._minima.append(signature.minima.tobytes())
        self._texts.append(signature.text_hash)
        self._keys.append(key)
        self._facts.append((signature.simhash, signature.words, line, *place, self._id_end))
        self._shapes.add((*values, *map(type, values.values())))

    def write(self, folder: Path, number: int, banding: Banding | None) -> None:
        """Write the chunk; it is there once all of it is.

        Raises:
            OSError: the disk is full, or the like.
        """
        head = self.head
        head.rows = len(self._facts)
        head.types = self._types()
        part = folder / f"{number:08}.part"
        shutil.rmtree(part, ignore_errors=True)
        part.mkdir()
        rows = np.empty(head.rows, ROW)
        rows["text"] = np.frombuffer(b"".join(self._texts), "<u8").reshape(-1, 2)
        rows["id"] = np.frombuffer(b"".join(self._keys), "<u8").reshape(-1, 2)
        for name, column in zip(_FACTS, zip(*self._facts, strict=True), strict=False):
            rows[name] = column
        minima = np.frombuffer(b"".join(self._minima), "<u4").reshape(-1, FUNCTIONS)
        (part / "rows").write_bytes(rows.tobytes())
        (part / "minima").write_bytes(minima.tobytes())
        if banding is not None:
            (part / "keys").write_bytes(banding.keys([*minima]).T.tobytes())
        (part / "ids").write_bytes(b"".join(self._ids))
        if self._own:
            (part / "rows.jsonl").write_bytes(b"".join(row + b"\n" for row in self._own))
        (part / "head.json").write_text(json.dumps(asdict(head)), encoding="utf-8")
        part.replace(folder / f"{number:08}")

    def _types(self) -> dict[str, list[str]]:
        types: dict[str, set[str]] = {}
        for shape in self._shapes:
            half = len(shape) // 2
            for name, kind in zip(shape[:half], shape[half:], strict=True):
                types.setdefault(name, set()).add(kind.__name__)
        return {name: sorted(own) for name, own in types.items()}


def read_head(folder: Path, number: int) -> Head | None:
    """Return what is known of a chunk, or None where it has not been made."""
    with suppress(FileNotFoundError):
        raw = (folder / f"{number:08}" / "head.json").read_text(encoding="utf-8")
        values = json.loads(raw)
        return Head(**{**values, "bad": [tuple(one) for one in values["bad"]]})
    return None


class Signed:
    """All signed rows of a collection, numbered from 0 on in the order of the inputs.

    Args:
        folder: of the chunks.
        number: of chunks.
        names: of the inputs.
        text_field: what the rows call their text.
    """

    def __init__(self, folder: Path, number: int, names: list[str], text_field: str) -> None:
        self._folder = folder
        self._names = names
        self._text_field = text_field
        self.heads: list[Head] = []
        for place in range(number):
            head = read_head(folder, place)
            if head is None:
                raise BulkError(f"{folder / f'{place:08}'}: a part of the signed rows is missing")
            self.heads.append(head)
        self._base = np.concatenate([[0], np.cumsum([head.rows for head in self.heads])])
        lines: dict[int, int] = {}
        self._first_line: list[int] = []
        for head in self.heads:
            self._first_line.append(lines.get(head.source, 0))
            lines[head.source] = self._first_line[-1] + head.lines
        self._open: OrderedDict[str, IO[bytes]] = OrderedDict()
        self._records = lru_cache(_OPEN)(lambda number: self.load(number, "rows"))
        self._places: dict[int, tuple[int, int, int]] = {}  # chunk, offset and length

    def __reduce__(self) -> tuple[Any, ...]:
        """Another process opens the same files."""
        return Signed, (self._folder, len(self.heads), self._names, self._text_field)

    def __len__(self) -> int:
        return int(self._base[-1])

    def close(self) -> None:
        """Close all files."""
        self._records.cache_clear()
        while self._open:
            self._open.popitem()[1].close()

    def chunks(self, start: int = 0, stop: int | None = None) -> Iterator[tuple[int, int, int]]:
        """Yield the chunks with some rows: number of each, its first row, and that behind it."""
        stop = len(self) if stop is None else stop
        number = int(np.searchsorted(self._base, start, side="right")) - 1
        while number < len(self.heads) and self._base[number] < stop:
            if self.heads[number].rows:
                yield number, int(self._base[number]), int(self._base[number + 1])
            number += 1

    def load(self, number: int, name: str) -> np.ndarray[Any, Any]:
        """Return an array of a chunk that has rows, as it lies on disk."""
        kind, shape = _ARRAYS[name]
        with (self._folder / f"{number:08}" / name).open("rb") as file:
            content = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        return np.frombuffer(content, kind).reshape(shape(self.heads[number].rows))

    @property
    def bounds(self) -> NDArray[np.int64]:
        """Return the first row of each chunk, and the number of rows: int64[chunks + 1]."""
        return self._base

    def first(self, number: int) -> int:
        """Return the first row of a chunk."""
        return int(self._base[number])

    def rows(self, start: int, stop: int) -> np.ndarray[Any, Any]:
        """Return the records of rows, `ROW`[stop - start]."""
        parts = [
            self.load(number, "rows")[max(start - first, 0) : stop - first]
            for number, first, _ in self.chunks(start, stop)
        ]
        return np.concatenate(parts) if parts else np.empty(0, ROW)

    def pick(self, name: str, rows: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """Return `rows` or `minima` of some rows, whose numbers rise."""
        parts = [self.load(number, name)[places] for number, places in self._by_chunk(rows)]
        if parts:
            return np.concatenate(parts)
        return np.empty((0, FUNCTIONS), "<u4") if name == "minima" else np.empty(0, ROW)

    def lines(self, number: int, places: NDArray[np.int64]) -> list[bytes]:
        """Return rows of a chunk by their places, which rise."""
        records = self.load(number, "rows")[places]
        found: list[bytes] = [b""] * len(places)
        for own in (0, OWN):
            chosen = np.flatnonzero((records["offset"] & np.uint64(OWN)) == own)
            if not len(chosen):
                continue
            starts = (records["offset"][chosen] - np.uint64(own)).astype(np.int64)
            ends = starts + records["length"][chosen]
            first = int(starts[0])
            raw = self.line_at(number, own | first, int(ends[-1]) - first)
            spans = zip((starts - first).tolist(), (ends - first).tolist(), strict=True)
            for place, (start, end) in zip(chosen.tolist(), spans, strict=True):
                found[place] = raw[start:end]
        return found

    def will_read(self, rows: NDArray[np.int64]) -> None:
        """Have the system read rows ahead, whose numbers rise, and remember where they are."""
        self._places.clear()
        for number, places in self._by_chunk(rows):
            records = self.load(number, "rows")[places]
            offsets, lengths = records["offset"].tolist(), records["length"].tolist()
            first = self.first(number)
            for place, offset, length in zip(places.tolist(), offsets, lengths, strict=True):
                self._places[first + place] = number, offset, length
                if hasattr(os, "posix_fadvise"):
                    file, at = self._file_with(number, offset)
                    os.posix_fadvise(file.fileno(), at, length, os.POSIX_FADV_WILLNEED)

    def raw(self, row: int) -> bytes:
        """Return a row as its line."""
        if row in self._places:
            return self.line_at(*self._places[row])
        number, record = self._record(row)
        return self.line_at(number, int(record["offset"]), int(record["length"]))

    def _record(self, row: int) -> tuple[int, Any]:
        """Return the chunk of a row, and its record."""
        number = int(np.searchsorted(self._base, row, side="right")) - 1
        return number, self._records(number)[row - int(self._base[number])]

    def line_at(self, number: int, offset: int, length: int) -> bytes:
        """Return a row of a chunk by its place, as its record has it."""
        file, at = self._file_with(number, offset)
        file.seek(at)
        return file.read(length)

    def _file_with(self, number: int, offset: int) -> tuple[IO[bytes], int]:
        """Return the file that has a row of a chunk, and where it is there."""
        own = offset & OWN
        name = self.heads[number].file
        if own or name is None:
            name = str(self._folder / f"{number:08}" / "rows.jsonl")
        return self._file(name), offset - own

    def _file(self, name: str) -> IO[bytes]:
        if name in self._open:
            self._open.move_to_end(name)
            return self._open[name]
        while len(self._open) >= _OPEN:
            self._open.popitem(last=False)[1].close()
        self._open[name] = Path(name).open("rb")  # noqa: SIM115 (closed by `close`)
        return self._open[name]

    def text(self, row: int) -> str:
        """Return the text of a row, as it was signed.

        Raises:
            BulkError: its file has changed meanwhile.
        """
        with suppress(ValueError, KeyError, TypeError):
            return clean(json.loads(self.raw(row))[self._text_field])
        name, line = self.place(row)
        raise BulkError(f"{name}, line {line:,}: the file has changed since it was signed")

    def place(self, row: int) -> tuple[str, int]:
        """Return the input that a row comes from, and its line there."""
        number, record = self._record(row)
        return self.line(number, int(record["line"]))

    def line(self, number: int, line: int) -> tuple[str, int]:
        """Return the input of a chunk, and the line there of one of its lines."""
        return self._names[self.heads[number].source], self._first_line[number] + line

    def ids(self, rows: NDArray[Any]) -> list[str]:
        """Return the ids of rows, whose numbers rise; those without one are called by their place.

        Args:
            rows: integers[n].
        """
        names: list[str] = []
        for number, places in self._by_chunk(rows):
            raw = (self._folder / f"{number:08}" / "ids").read_bytes()
            records = self.load(number, "rows")
            ends = records["id_end"]
            starts = np.where(places > 0, ends[places - 1], 0)
            for start, end, line in zip(
                starts.tolist(),
                ends[places].tolist(),
                records["line"][places].tolist(),
                strict=True,
            ):
                name = raw[start:end].decode()
                names.append(name or "{}:{}".format(*self.line(number, line)))
        return names

    def _by_chunk(self, rows: NDArray[Any]) -> Iterator[tuple[int, NDArray[np.int64]]]:
        """Yield the chunks of rows, whose numbers rise, with their places there."""
        numbers = np.searchsorted(self._base, rows, side="right") - 1
        starts = np.flatnonzero(np.diff(numbers, prepend=-1)).tolist()
        for start, end in zip(starts, [*starts[1:], len(rows)], strict=False):
            number = int(numbers[start])
            yield number, rows[start:end].astype(np.int64) - self._base[number]


def save(path: Path, array: np.ndarray[Any, Any]) -> None:
    """Write an array as `np.save` does, whose errors do not say that the disk is full.

    Raises:
        OSError: it is, or the like.
    """
    array = np.ascontiguousarray(array)
    with path.open("wb") as file:
        np.lib.format.write_array_header_1_0(file, np.lib.format.header_data_from_array_1_0(array))
        file.write(array.tobytes())


def sync(file: IO[bytes]) -> None:
    """Have what was written outlive a power cut."""
    file.flush()
    os.fsync(file.fileno())
