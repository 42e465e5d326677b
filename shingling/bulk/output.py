"""The files of a finished run: kept rows, removed rows, groups, and bad rows."""

from __future__ import annotations

import contextlib
import json
import os
from itertools import product
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from shingling.bulk.files.payloads import to_json
from shingling.bulk.greedy import EXACT, NEAR, REPEATED_ID, SHORT
from shingling.bulk.options import OUTPUT_FORMATS, Problem, Summary
from shingling.bulk.sorting import NO_ROW
from shingling.errors import BulkError
from shingling.rules.methods import METHODS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from numpy.typing import NDArray

    from shingling.bulk.options import Options
    from shingling.bulk.signed_rows import SignedRows

MAX_PROBLEMS_SHOWN = 5  # in the summary
REPEATED_ID_REASON = "the id of an earlier row"
_FILES = ("bad", "kept", "removed", "groups")
_STATUSES = {EXACT: "exact", NEAR: "near"}
_REMOVED_ROWS_AT_ONCE = 1 << 18  # in memory, to be written
_GROUPS_AT_ONCE = 1 << 16  # whose ids are in memory
_ROWS_PER_PARQUET_GROUP = 10_000
_REMOVED_FIELDS = ("id", "original", "status", "resemblance", "containment", "file", "line")


class _Writer(Protocol):
    def write(self, row: dict[str, Any]) -> None: ...


class Output:
    """Writes the files of a run, and counts.

    Args:
        signed: the rows.
        decided: gives the decisions on the rows from a start to before a stop,
            `DECISION`[stop - start].
        out: folder to write to.
        options: with the format of the files; `bad.jsonl` is JSON lines always.
    """

    def __init__(
        self,
        signed: SignedRows,
        decided: Callable[[int, int], NDArray[Any]],
        out: Path,
        options: Options,
    ) -> None:
        self._signed = signed
        self._decided = decided
        self._out = out
        self._form = options.output
        self._tells_distance = METHODS[options.rules.method].distance
        self._summary = Summary()

    def write(self, report: Callable[[int], None]) -> Summary:
        """Write all files; each takes its name once it is complete.

        Args:
            report: called with the number of rows that are done.

        Raises:
            OSError: the disk is full, or the like.
            BulkError: Parquet cannot hold a value.
        """
        for name, form in product(_FILES, OUTPUT_FORMATS):  # of another run
            (self._out / f"{name}.{form}").unlink(missing_ok=True)
        self._write_bad()
        self._write_kept(report)
        self._write_removed()
        self._write_groups()
        return self._summary

    def _write_bad(self) -> None:
        """Write and count the bad rows."""
        summary = self._summary
        with self._writer("bad", "jsonl") as writer:
            for chunk, header in enumerate(self._signed.headers):
                for line, reason in sorted([*header.bad, *self._repeated_ids(chunk)]):
                    problem = Problem(*self._signed.line_position(chunk, line), reason)
                    writer.write(problem._asdict())
                    summary.bad += 1
                    summary.reasons[reason] += 1
                    if len(summary.problems) < MAX_PROBLEMS_SHOWN:
                        summary.problems.append(problem)

    def _repeated_ids(self, chunk: int) -> list[tuple[int, str]]:
        """Lines of a chunk with the id of an earlier row, each with the reason why it is bad."""
        start, stop = self._signed.bounds[chunk : chunk + 2].tolist()
        if start == stop:
            return []
        states = self._decided(start, stop)["state"]
        lines = self._signed.load(chunk, "rows")["line"][states == REPEATED_ID]
        return [(line, REPEATED_ID_REASON) for line in lines.tolist()]

    def _write_kept(self, report: Callable[[int], None]) -> None:
        """Write the rows that are kept, and count all rows."""
        summary = self._summary
        with self._writer("kept", self._form, self._types()) as writer:
            for chunk, start, stop in self._signed.chunks():
                decided = self._decided(start, stop)
                states = np.bincount(decided["state"], minlength=REPEATED_ID + 1).tolist()
                summary.total += stop - start - states[REPEATED_ID]
                summary.exact += states[EXACT]
                summary.near += states[NEAR]
                summary.short += states[SHORT]
                kept = (decided["original"] == NO_ROW) & (decided["state"] != REPEATED_ID)
                lines = self._signed.lines(chunk, np.flatnonzero(kept))
                if isinstance(writer, _Lines):
                    writer.write_lines(lines)
                else:
                    for line in lines:
                        writer.write(json.loads(line))
                report(stop)
        summary.repeated = summary.exact + summary.near
        summary.unique = summary.total - summary.repeated

    def _write_removed(self) -> None:
        """Write the rows that are removed, each with its original."""
        types = _REMOVED_TYPES | ({"distance": {"int"}} if self._tells_distance else {})
        with self._writer("removed", self._form, types) as writer:
            rows: list[NDArray[np.uint32]] = []
            decided: list[NDArray[Any]] = []
            for _, start, stop in self._signed.chunks():
                of_chunk = self._decided(start, stop)
                places = np.flatnonzero(of_chunk["original"] != NO_ROW)
                rows.append((places + start).astype(np.uint32))
                decided.append(of_chunk[places])
                is_last = stop == len(self._signed)
                if is_last or sum(map(len, rows)) >= _REMOVED_ROWS_AT_ONCE:
                    self._write_duplicates(np.concatenate(rows), np.concatenate(decided), writer)
                    rows, decided = [], []

    def _write_duplicates(
        self, rows: NDArray[np.uint32], decided: NDArray[Any], writer: _Writer
    ) -> None:
        ids = self._signed.ids(rows)
        originals, inverse = np.unique(decided["original"], return_inverse=True)
        original_ids = self._signed.ids(originals)
        simhashes = self._signed.pick("rows", rows)["simhash"]
        distances = np.bitwise_count(
            simhashes ^ self._signed.pick("rows", originals)["simhash"][inverse]
        )
        for row, row_id, original, decision, distance in zip(
            rows.tolist(),
            ids,
            inverse.tolist(),
            decided.tolist(),
            distances.tolist(),
            strict=True,
        ):
            state, _, resemblance, containment = decision
            values = (
                *(row_id, original_ids[original], _STATUSES[state]),
                *(round(resemblance, 4), round(containment, 4)),
                *self._signed.position(row),
            )
            removed = dict(zip(_REMOVED_FIELDS, values, strict=True))
            writer.write(removed | ({"distance": distance} if self._tells_distance else {}))

    def _write_groups(self) -> None:
        """Write each original that has duplicates with them, in the order of the originals."""
        originals, rows = self._duplicates()
        starts = np.flatnonzero(np.diff(originals, prepend=-1))
        stops = np.append(starts[1:], len(rows))
        with self._writer("groups", self._form, _GROUP_TYPES) as writer:
            for at in range(0, len(starts), _GROUPS_AT_ONCE):
                groups = slice(at, at + _GROUPS_AT_ONCE)
                first, last = int(starts[at]), int(stops[groups][-1])
                rising, inverse = np.unique(rows[first:last], return_inverse=True)
                row_ids = self._signed.ids(rising)
                ids = [row_ids[place] for place in inverse.tolist()]
                original_ids = self._signed.ids(originals[starts[groups]])
                bounds = zip(starts[groups].tolist(), stops[groups].tolist(), strict=True)
                for original, (start, stop) in zip(original_ids, bounds, strict=True):
                    duplicates = ids[start - first : stop - first]
                    writer.write({"original": original, "duplicates": duplicates})

    def _duplicates(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """All originals, rising and repeated for each of their duplicates, and the duplicates."""
        found, rows = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
        for _, start, stop in self._signed.chunks():
            originals = self._decided(start, stop)["original"]
            places = np.flatnonzero(originals != NO_ROW)
            found.append(originals[places].astype(np.int64))
            rows.append(places + start)
        all_originals, all_rows = np.concatenate(found), np.concatenate(rows)
        order = np.argsort(all_originals, kind="stable")
        return all_originals[order], all_rows[order]

    def _types(self) -> dict[str, set[str]]:
        """Names of all fields, each with the types of its values."""
        types: dict[str, set[str]] = {}
        for header in self._signed.headers:
            for name, kinds in header.types.items():
                types.setdefault(name, set()).update(kinds)
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
            file.flush()
            os.fsync(file.fileno())
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
        self._file.write(to_json(row) + b"\n")

    def write_lines(self, lines: Iterable[bytes]) -> None:
        self._file.writelines(line + b"\n" for line in lines)


class _Parquet:
    """A Parquet file; columns with nested values, or of more than one type, are JSON texts."""

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
        kinds = {name: frozenset(found - {"NoneType"}) for name, found in types.items()}
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
        if len(self._waiting) == _ROWS_PER_PARQUET_GROUP:
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
