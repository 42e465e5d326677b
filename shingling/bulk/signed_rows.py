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
- `bad`: a line of JSON for each row that could not be signed, or has no text: number of the input,
  line, reason, and whether it is kept because it only has no text.
"""

from __future__ import annotations

import json
import shutil
import struct
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from shingling.bulk.rows import compared_text
from shingling.errors import BulkError
from shingling.files.lines import json_object
from shingling.sketch import FUNCTIONS, Banding

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from shingling.arrays import Hashes, Integers, Minima, Records
    from shingling.bulk.inputs.sources import Source
    from shingling.bulk.options import Options
    from shingling.sketch import Halves, Signature
    from shingling.store.model import Page

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
_PACKED_ROW = struct.Struct("<16s16sQIIQQIIQd")  # a `ROW_RECORD`

IN_LINES = 1 << 63
"""Bit of an offset: the row is in `lines`, not in its input file."""

NO_ROW = np.uint32(0xFFFFFFFF)
"""Instead of the number of a row."""

KEPT, EXACT, NEAR, SHORT = range(4)
"""What becomes of a row."""

DECISION = np.dtype(
    [("state", "u1"), ("original", "<u4"), ("resemblance", "<f8"), ("containment", "<f8")]
)
"""What is decided on a row; an original has `NO_ROW` as its original."""

_BLOCK_ROWS = 1 << 13
_ROWS_PICKED = 1 << 12  # at once
_MAX_OPEN_FILES = 64
_MINIMA = np.dtype(("<u4", (FUNCTIONS,)))


@dataclass
class SignedPart:
    """A part of an input as a worker signs it; its rows count from the part's start.

    Args:
        lines: number of its lines.
        bad: number and reason of each line that could not be signed.
        without_text: the same of rows that have no text, and are signed as an empty one.
        rows: a `ROW_RECORD` for each row, one after the other, like what follows.
        minima: uint32[84] of each row.
        ids: the ids, in UTF-8.
        own: the rows that have to be stored, as JSON.
        fields: names of those of a row that is bad or has no text, if there is one.
        pages: of the items of a feed, in the place of all that is kept of rows.
    """

    lines: int = 0
    bad: list[tuple[int, str]] = field(default_factory=list)
    without_text: list[tuple[int, str]] = field(default_factory=list)
    rows: bytearray = field(default_factory=bytearray)
    minima: bytearray = field(default_factory=bytearray)
    ids: bytearray = field(default_factory=bytearray)
    own: bytearray = field(default_factory=bytearray)
    fields: tuple[str, ...] = ()
    pages: list[Page] = field(default_factory=list)

    def add_row(
        self,
        line: int,
        name: bytes,
        signature: Signature,
        place: tuple[int, int] | bytes,
        order: float = 0.0,
    ) -> None:
        """Add a signed row.

        Args:
            line: its number.
            name: its id; "" if it has none.
            signature: of its text.
            place: offset and length in its file; or the row itself, which has to be stored.
            order: rows with a lower one are decided first.
        """
        if isinstance(place, bytes):
            offset, length = IN_LINES | len(self.own), len(place)
            self.own += place
        else:
            offset, length = place
        id_hash = blake2b(name, digest_size=16).digest() if name else bytes(16)
        hashes = signature.text_hash, id_hash, signature.simhash
        places = line, offset, length, len(name), len(self.ids)
        source = 0  # `RowsWriter` knows it
        self.minima += signature.minima.astype("<u4", copy=False).tobytes()
        self.ids += name
        self.rows += _PACKED_ROW.pack(*hashes, signature.words, source, *places, order)


def _band(number: int) -> str:
    return f"keys-{number:02}"


class RowsWriter:
    """Appends signed parts to the files of a folder.

    Args:
        folder: is made anew.
        keys: what rows share keys of; those of minima are written.

    Raises:
        OSError: the disk is full, or the like.
    """

    def __init__(self, folder: Path, keys: Banding | Halves | None) -> None:
        self._folder = folder
        self._keys = keys
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        self.rows = 0
        """Number of rows that are stored."""
        self._source, self._lines = -1, 0  # of the last part, and lines of its input so far
        for name in ("rows", "minima", "ids", "lines", "known", "bad"):
            (folder / name).touch()

    def append(self, signed: SignedPart, source: int) -> list[tuple[int, str]]:
        """Append a part of an input; return line and reason of rows that are bad or have no text.

        Raises:
            OSError: the disk is full, or the like.
        """
        if source != self._source:
            self._source, self._lines = source, 0
        bad = [(self._lines + line, reason) for line, reason in (*signed.bad, *signed.without_text)]
        rows = np.frombuffer(signed.rows, ROW_RECORD)
        rows["source"] = source
        rows["line"] += np.uint64(self._lines)
        rows["id_offset"] += np.uint64((self._folder / "ids").stat().st_size)
        is_in_lines = rows["offset"] >= np.uint64(IN_LINES)
        rows["offset"][is_in_lines] += np.uint64((self._folder / "lines").stat().st_size)
        contents: dict[str, bytes | bytearray] = {
            "rows": signed.rows,
            "minima": signed.minima,
            "ids": signed.ids,
            "lines": signed.own,
            "bad": b"".join(
                b"%s\n" % json.dumps([source, *problem, place >= len(signed.bad)]).encode()
                for place, problem in enumerate(bad)
            ),
        }
        if isinstance(self._keys, Banding):
            minima = np.frombuffer(signed.minima, "<u4").reshape(-1, FUNCTIONS)
            for band, keys in enumerate(self._keys.keys(minima).T):
                contents[_band(band)] = keys.tobytes()
        for name, content in contents.items():
            with (self._folder / name).open("ab") as file:
                file.write(content)
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
        sources: the inputs.
        options: which text of a row is compared.
        known: number of inputs whose rows are known before the run.

    Attributes:
        known: number of these inputs.
        first: the first row that is not of them.
    """

    def __init__(
        self, folder: Path, sources: Sequence[Source], options: Options, known: int
    ) -> None:
        self._folder = folder
        self._sources = sources
        self._options = options
        self._decided = len(self.known_decisions())
        self._rows = (folder / "rows").stat().st_size // ROW_RECORD.itemsize
        self._open_files: dict[str, IO[bytes]] = {}
        self.known = known
        self.first = int(np.searchsorted(self.column("source"), known)) if known else 0

    def __len__(self) -> int:
        return self._rows

    def close(self) -> None:
        """Close all files."""
        while self._open_files:
            self._open_files.popitem()[1].close()

    def bad(self) -> Iterator[tuple[int, int, str, bool]]:
        """Yield input, line and reason of each bad row, and of those kept without a text."""
        with (self._folder / "bad").open("rb") as file:
            for line in file:
                source, number, reason, is_kept = json.loads(line)
                yield source, number, reason, is_kept

    def blocks(self, first: int = 0) -> Iterator[tuple[int, int]]:
        """Yield bounds of rows, some thousands at a time: the first, and the one after."""
        for start in range(first, len(self), _BLOCK_ROWS):
            yield start, min(start + _BLOCK_ROWS, len(self))

    def records(self, start: int, stop: int) -> Records:
        """Read the records from `start` to before `stop`: `ROW_RECORD`[stop - start]."""
        offset = start * ROW_RECORD.itemsize
        return np.fromfile(self._folder / "rows", ROW_RECORD, stop - start, offset=offset)

    def keys(self, band: int) -> Hashes:
        """Read the keys of a band: uint64[rows]."""
        return np.fromfile(self._folder / _band(band), np.uint64)

    def column(self, name: str) -> Records:
        """Read a field of `ROW_RECORD` of all rows."""
        return np.concatenate([self.records(*bounds)[name] for bounds in self.blocks()])

    def forget_ids(self, rows: Integers) -> None:
        """Let rows be called by their input and line, as those without an id."""
        if len(rows):
            np.memmap(self._folder / "rows", ROW_RECORD, "r+")["id_length"][rows] = 0

    def known_decisions(self) -> Records:
        """Read what is decided already, on the first rows: `DECISION`[n]."""
        return np.fromfile(self._folder / "known", DECISION)

    def records_of(self, rows: Records) -> Records:
        """Read the records of single rows: `ROW_RECORD`[n]."""
        return self._pick("rows", ROW_RECORD, rows)

    def minima_of(self, rows: Records) -> Minima:
        """Read the minima of single rows: uint32[n, 84]."""
        return self._pick("minima", _MINIMA, rows)

    def _pick(self, name: str, kind: np.dtype[Any], rows: Records) -> Records:
        picked = np.empty(len(rows), kind)
        for start in range(0, len(rows), _ROWS_PICKED):
            # Mapped anew each time: what stays mapped counts as memory of this process.
            file = np.memmap(self._folder / name, kind, "r")
            part = slice(start, start + _ROWS_PICKED)
            picked[part] = file[rows[part]]
        return picked

    def lines(self, records: Records) -> Iterator[bytes]:
        """Yield the rows of records as lines of JSON."""
        for source, offset, length in records[["source", "offset", "length"]].tolist():
            file = self._sources[source].file
            if file is None or offset & IN_LINES:
                yield self._read("lines", offset & ~IN_LINES, length)
            else:
                yield self._read(file, offset, length)

    def text(self, row: int) -> str:
        """Text of a row, as it was signed.

        Raises:
            BulkError: the file has changed since.
        """
        size = ROW_RECORD.itemsize
        record = np.frombuffer(self._read("rows", row * size, size), ROW_RECORD)
        [line] = self.lines(record)
        values = json_object(line)
        text = self.text_of(row, values) if isinstance(values, dict) else None
        if text is not None or not record[0]["words"]:
            return text or ""
        name, number = self.position(record[0])
        raise BulkError(f"{name}, line {number:,}: the file has changed since it was signed")

    def text_of(self, row: int, values: dict[str, Any]) -> str | None:
        """Text of a row that is compared; a store has no others."""
        skip_words = 0 if row < self._decided else self._options.skip_words
        return compared_text(values.get(self._options.fields.text), skip_words)

    def position(self, record: Any) -> tuple[str, int]:
        """Input that a row comes from, and the number of its line there."""
        return self.name(int(record["source"])), int(record["line"])

    def name(self, source: int) -> str:
        """Name of an input."""
        return self._sources[source].name

    def ids(self, records: Records) -> list[str]:
        """Ids of rows; a row without one is called by its input and line."""
        places = records[["id_offset", "id_length", "source", "line"]].tolist()
        return [
            self._read("ids", start, length).decode() or f"{self.name(source)}:{line}"
            for start, length, source, line in places
        ]

    def _read(self, name: str, start: int, length: int) -> bytes:
        """Read a part of a file of the folder, or of an input by its absolute path."""
        file = self._open_files.get(name)
        if file is None:
            if len(self._open_files) >= _MAX_OPEN_FILES:
                self.close()
            file = self._open_files[name] = (self._folder / name).open("rb")  # see `close`
        file.seek(start)
        return file.read(length)
