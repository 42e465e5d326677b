"""What is written: the rows that are kept, those that are removed and why, groups, bad rows."""

from __future__ import annotations

import contextlib
import json
from itertools import product
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from shingling.bulk.bands import NONE
from shingling.bulk.chunks import sync
from shingling.bulk.files.payloads import dumped
from shingling.bulk.greedy import EXACT, LEFT_OUT, NEAR, SHORT
from shingling.bulk.options import OUTPUTS, Problem, Summary
from shingling.errors import BulkError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from numpy.typing import NDArray

    from shingling.bulk.chunks import Signed

_FILES = ("bad", "kept", "removed", "groups")
SHOWN = 5  # problems in the summary
DUPLICATE_ID = "the id of an earlier row"
_STATES = {EXACT: "exact", NEAR: "near"}
_LOOKED_UP = 1 << 18  # removed rows that are written at a time
_GROUPED = 1 << 22  # removed rows that are grouped at a time
_ROWS = 10_000  # in a row group of Parquet
_REMOVED = ("id", "original", "status", "resemblance", "containment", "file", "line")


class _Writer(Protocol):
    def write(self, row: dict[str, Any]) -> None: ...


class Outcome:
    """The decisions on a collection.

    Args:
        signed: the rows.
        decided: returns what was decided of rows, `DECIDED`[stop - start].
        out: folder to write to.
    """

    def __init__(
        self, signed: Signed, decided: Callable[[int, int], NDArray[Any]], out: Path, form: str
    ) -> None:
        self._signed = signed
        self._decided = decided
        self._out = out
        self._form = form
        self.summary = Summary()

    def write(self, note: Callable[[int], None]) -> Summary:
        """Write all files; each takes its name once it is complete.

        Args:
            note: is told how many rows are done.

        Raises:
            OSError: the disk is full, or the like.
            BulkError: a value does not fit into Parquet.
        """
        for name, form in product(_FILES, OUTPUTS):  # of another run
            (self._out / f"{name}.{form}").unlink(missing_ok=True)
        self._write_bad()
        self._write_kept(note)
        self._write_removed()
        self._write_groups()
        return self.summary

    def _write_bad(self) -> None:
        """Write the rows that could not be taken, and count them."""
        summary = self.summary
        with self._writer("bad", "jsonl") as writer:
            for number, head in enumerate(self._signed.heads):
                for line, reason in sorted([*head.bad, *self._left_out(number, head.rows)]):
                    problem = Problem(*self._signed.line(number, line), reason)
                    writer.write(problem._asdict())
                    summary.bad += 1
                    summary.reasons[reason] += 1
                    if len(summary.problems) < SHOWN:
                        summary.problems.append(problem)

    def _left_out(self, number: int, size: int) -> list[tuple[int, str]]:
        if not size:
            return []
        first = self._signed.first(number)
        states = self._decided(first, first + size)["state"]
        lines = self._signed.load(number, "rows")["line"][states == LEFT_OUT]
        return [(line, DUPLICATE_ID) for line in lines.tolist()]

    def _write_kept(self, note: Callable[[int], None]) -> None:
        """Write the rows that are kept, and count all rows."""
        summary = self.summary
        with self._writer("kept", self._form, self._types()) as writer:
            for number, start, stop in self._signed.chunks():
                decided = self._decided(start, stop)
                states = np.bincount(decided["state"], minlength=LEFT_OUT + 1).tolist()
                summary.total += stop - start - states[LEFT_OUT]
                summary.exact += states[EXACT]
                summary.near += states[NEAR]
                summary.short += states[SHORT]
                kept = (decided["original"] == NONE) & (decided["state"] != LEFT_OUT)
                lines = self._signed.lines(number, np.flatnonzero(kept))
                if isinstance(writer, _Lines):
                    writer.write_lines(lines)
                else:
                    for line in lines:
                        writer.write(json.loads(line))
                note(stop)
        summary.repeated = summary.exact + summary.near
        summary.unique = summary.total - summary.repeated

    def _write_removed(self) -> None:
        """Write the rows that are removed, each with its original."""
        with self._writer("removed", self._form, _REMOVED_TYPES) as writer:
            rows: list[NDArray[np.uint32]] = []
            decided: list[NDArray[Any]] = []
            for _, start, stop in self._signed.chunks():
                own = self._decided(start, stop)
                places = np.flatnonzero(own["original"] != NONE)
                rows.append((places + start).astype(np.uint32))
                decided.append(own[places])
                if sum(map(len, rows)) >= _LOOKED_UP or stop == len(self._signed):
                    self._write_some(np.concatenate(rows), np.concatenate(decided), writer)
                    rows, decided = [], []

    def _write_some(self, rows: NDArray[np.uint32], decided: NDArray[Any], writer: _Writer) -> None:
        names = self._signed.ids(rows)
        own, inverse = np.unique(decided["original"], return_inverse=True)
        heads = self._signed.ids(own)
        for row, name, head, facts in zip(
            rows.tolist(), names, inverse.tolist(), decided.tolist(), strict=True
        ):
            state, _, resemblance, containment = facts
            values = (
                *(name, heads[head], _STATES[state]),
                *(round(resemblance, 4), round(containment, 4)),
                *self._signed.place(row),
            )
            writer.write(dict(zip(_REMOVED, values, strict=True)))

    def _write_groups(self) -> None:
        """Write each original that has duplicates, with them, in the order of the originals."""
        with self._writer("groups", self._form, _GROUP_TYPES) as writer:
            for first, last in self._ranges():
                heads, rows = self._members(first, last)
                starts = np.flatnonzero(np.r_[True, heads[1:] != heads[:-1]])
                names = self._signed.ids(heads[starts])
                rising, inverse = np.unique(rows, return_inverse=True)
                found = self._signed.ids(rising)
                members = [found[place] for place in inverse.tolist()]
                ends = [*starts[1:].tolist(), len(heads)]
                for name, start, stop in zip(names, starts.tolist(), ends, strict=True):
                    writer.write({"original": name, "duplicates": members[start:stop]})

    def _ranges(self) -> Iterator[tuple[int, int]]:
        """Yield ranges of originals that have about so many duplicates as are grouped at a time."""
        counts = np.zeros(len(self._signed.heads) + 1, np.int64)
        bounds = self._signed.bounds
        for _, start, stop in self._signed.chunks():
            originals = self._decided(start, stop)["original"]
            originals = originals[originals != NONE]
            places = np.searchsorted(bounds, originals, side="right") - 1
            counts[: len(bounds)] += np.bincount(places, minlength=len(bounds))[: len(counts)]
        first, waiting = 0, 0
        for number, count in enumerate(counts.tolist()[: len(bounds) - 1]):
            if waiting and waiting + count > _GROUPED:
                yield first, int(bounds[number])
                first, waiting = int(bounds[number]), 0
            waiting += count
        if waiting:
            yield first, int(bounds[-1])

    def _members(self, first: int, last: int) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
        """Return originals of a range, each with one of its duplicates; in their order."""
        heads, rows = [np.empty(0, np.uint32)], [np.empty(0, np.uint32)]
        for _, start, stop in self._signed.chunks(first):
            originals = self._decided(start, stop)["original"]
            taken = (originals >= first) & (originals < last)
            heads.append(originals[taken])
            rows.append(np.arange(start, stop, dtype=np.uint32)[taken])
        of, own = np.concatenate(heads), np.concatenate(rows)
        order = np.argsort(of, kind="stable")
        return of[order], own[order]

    def _types(self) -> dict[str, set[str]]:
        types: dict[str, set[str]] = {}
        for head in self._signed.heads:
            for name, own in head.types.items():
                types.setdefault(name, set()).update(own)
        return types

    @contextlib.contextmanager
    def _writer(
        self, name: str, form: str, types: dict[str, set[str]] | None = None
    ) -> Iterator[_Writer]:
        part = self._out / f"{name}.{form}.part"
        with part.open("wb") as file:
            if form == "parquet":
                with contextlib.closing(_Parquet(file, types or {})) as writer:
                    yield writer
            else:
                yield _Lines(file)
            sync(file)
        part.replace(self._out / f"{name}.{form}")


_REMOVED_TYPES = {
    **{name: {"str"} for name in ("id", "original", "status", "file")},
    **{name: {"float"} for name in ("resemblance", "containment")},
    "line": {"int"},
}
_GROUP_TYPES = {"original": {"str"}, "duplicates": {"strings"}}


class _Lines:
    """JSON lines."""

    def __init__(self, file: Any) -> None:
        self._file = file

    def write(self, row: dict[str, Any]) -> None:
        self._file.write(dumped(row) + b"\n")

    def write_lines(self, lines: Iterable[bytes]) -> None:
        self._file.writelines(line + b"\n" for line in lines)


class _Parquet:
    """A file of Parquet; columns whose values differ in type, or are nested, are JSON."""

    def __init__(self, file: Any, types: dict[str, set[str]]) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        simple = {
            frozenset({"bool"}): pa.bool_(),
            frozenset({"int"}): pa.int64(),
            frozenset({"float"}): pa.float64(),
            frozenset({"int", "float"}): pa.float64(),
            frozenset({"strings"}): pa.list_(pa.string()),
        }
        kinds = {name: frozenset(own - {"NoneType"}) for name, own in types.items()}
        self._as_json = [
            name for name, kind in kinds.items() if kind not in simple and not kind <= {"str"}
        ]
        self._schema = pa.schema(
            [(name, simple.get(kind, pa.string())) for name, kind in kinds.items()]
        )
        self._parquet = pq.ParquetWriter(file, self._schema, compression="zstd")
        self._waiting: list[dict[str, Any]] = []

    def write(self, row: dict[str, Any]) -> None:
        for name in self._as_json:
            if row.get(name) is not None:
                row[name] = json.dumps(row[name], ensure_ascii=False)
        self._waiting.append(row)
        if len(self._waiting) == _ROWS:
            self._flush()

    def _flush(self) -> None:
        import pyarrow as pa

        try:
            table = pa.Table.from_pylist(self._waiting, schema=self._schema)
        except (pa.ArrowException, OverflowError) as error:  # an integer of more than 64 bits
            raise BulkError(f"a row cannot be written as Parquet: {error}") from error
        self._parquet.write_table(table)
        self._waiting = []

    def close(self) -> None:
        try:
            if self._waiting:
                self._flush()
        finally:
            self._parquet.close()
