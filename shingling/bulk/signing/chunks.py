"""A chunk: the signed rows of one part of an input, a folder that is written whole or not at all.

The folder holds

- `head.json`: the `ChunkHeader`;
- `rows`: a `ROW_RECORD` for each row that could be signed, in the order of the input;
- `minima`: uint32[rows, 84];
- `keys`: int64[bands, rows], one key for each band of minima; absent if only exact duplicates
  are looked for;
- `ids`: the ids of the rows, one after the other, in UTF-8;
- `rows.jsonl`: the rows that cannot be read again as lines of their input file.
"""

from __future__ import annotations

import json
import shutil
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from tempfile import mkdtemp
from typing import TYPE_CHECKING, Any

import numpy as np

from shingling.sketch import FUNCTIONS

if TYPE_CHECKING:
    from shingling.sketch import Signature
    from shingling.sketch.banding import Banding

ROW_RECORD = np.dtype(
    [
        ("text", "<u8", 2),  # 128-bit hash of the canonical words
        ("id", "<u8", 2),  # 128-bit hash of the id; 0 if the row has none
        ("simhash", "<u8"),
        ("words", "<u4"),
        ("line", "<u4"),  # within the part, from 1 on
        ("offset", "<u8"),  # bytes, in the input file; with `IN_CHUNK`, in `rows.jsonl`
        ("length", "<u4"),  # bytes
        ("id_end", "<u4"),  # bytes, in `ids`
    ]
)
IN_CHUNK = 1 << 63
"""Bit of an offset: the row is in the chunk's `rows.jsonl`, not in its input file."""

_NUMBER_COLUMNS = ("simhash", "words", "line", "offset", "length", "id_end")


@dataclass
class ChunkHeader:
    """Facts about a chunk.

    Args:
        source: number of the input.
        rows: number of signed rows.
        lines: number of lines of the part.
        file: path of the input file with the rows that are not in `rows.jsonl`.
        bad: number and reason of each line that could not be signed.
        types: names of the rows' fields, each with the types of its values.
        digest: hash of the part, if nothing else shows that the input has changed.
    """

    source: int
    rows: int = 0
    lines: int = 0
    file: str | None = None
    bad: list[tuple[int, str]] = field(default_factory=list)
    types: dict[str, list[str]] = field(default_factory=dict)
    digest: str | None = None


def chunk_folder(folder: Path, chunk: int) -> Path:
    """Folder of a chunk."""
    return folder / f"{chunk:08}"


def read_header(folder: Path, chunk: int) -> ChunkHeader | None:
    """Header of a chunk, or None if the chunk has not been written.

    Args:
        folder: of all chunks.
        chunk: its number.
    """
    with suppress(FileNotFoundError):
        raw = (chunk_folder(folder, chunk) / "head.json").read_text(encoding="utf-8")
        values = json.loads(raw)
        return ChunkHeader(**{**values, "bad": [tuple(pair) for pair in values["bad"]]})
    return None


class ChunkWriter:
    """Collects the rows of a part and writes them as a chunk."""

    def __init__(self, header: ChunkHeader) -> None:
        self.header = header
        self._numbers: list[tuple[int, int, int, int, int, int]] = []
        self._minima: list[bytes] = []
        self._text_hashes: list[bytes] = []
        self._id_hashes: list[bytes] = []
        self._ids: list[bytes] = []
        self._id_end = 0
        self._lines: list[bytes] = []
        self._lines_end = 0
        self._shapes: set[tuple[Any, ...]] = set()  # names of fields, then their types

    def add_bad(self, line: int, reason: str) -> None:
        """Note a line that cannot be signed, and why."""
        self.header.bad.append((line, reason))

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
            line: its number within the part.
            row_id: the id and its 128-bit hash.
            values: its fields.
            place: offset and length in the input file, in bytes, or the row itself as JSON.
        """
        if isinstance(place, bytes):
            self._lines.append(place)
            offset, place = self._lines_end, (IN_CHUNK | self._lines_end, len(place))
            self._lines_end = offset + place[1] + 1
        name, id_hash = row_id or (b"", bytes(16))
        self._id_end += len(name)
        self._ids.append(name)
        self._minima.append(signature.minima.tobytes())
        self._text_hashes.append(signature.text_hash)
        self._id_hashes.append(id_hash)
        self._numbers.append((signature.simhash, signature.words, line, *place, self._id_end))
        self._shapes.add((*values, *map(type, values.values())))

    def write(self, folder: Path, chunk: int, banding: Banding | None) -> None:
        """Write the chunk under a temporary name, and rename it once it is complete.

        The temporary name is this writer's own: a worker of a killed run may still be writing the
        same chunk. Whoever is first, the chunk is the same.

        Args:
            folder: of all chunks.
            chunk: its number.
            banding: gives each row its keys; None writes no keys.

        Raises:
            OSError: the disk is full, or the like.
        """
        header = self.header
        header.rows = len(self._numbers)
        header.types = self._types()
        part = Path(mkdtemp(prefix=f"{chunk:08}-", suffix=".part", dir=folder))
        rows = np.empty(header.rows, ROW_RECORD)
        rows["text"] = np.frombuffer(b"".join(self._text_hashes), "<u8").reshape(-1, 2)
        rows["id"] = np.frombuffer(b"".join(self._id_hashes), "<u8").reshape(-1, 2)
        for name, column in zip(_NUMBER_COLUMNS, zip(*self._numbers, strict=True), strict=False):
            rows[name] = column
        minima = np.frombuffer(b"".join(self._minima), "<u4").reshape(-1, FUNCTIONS)
        (part / "rows").write_bytes(rows.tobytes())
        (part / "minima").write_bytes(minima.tobytes())
        if banding is not None:
            (part / "keys").write_bytes(banding.keys([*minima]).T.tobytes())
        (part / "ids").write_bytes(b"".join(self._ids))
        if self._lines:
            (part / "rows.jsonl").write_bytes(b"".join(line + b"\n" for line in self._lines))
        (part / "head.json").write_text(json.dumps(asdict(header)), encoding="utf-8")
        complete = chunk_folder(folder, chunk)
        try:
            part.replace(complete)
        except OSError:
            if not complete.exists():
                raise
            shutil.rmtree(part)

    def _types(self) -> dict[str, list[str]]:
        types: dict[str, set[str]] = {}
        for shape in self._shapes:
            half = len(shape) // 2
            for name, kind in zip(shape[:half], shape[half:], strict=True):
                types.setdefault(name, set()).add(kind.__name__)
        return {name: sorted(kinds) for name, kinds in types.items()}
