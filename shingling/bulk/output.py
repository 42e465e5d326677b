"""The files of a finished run: kept rows, removed rows, groups, and bad rows."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, islice, product, takewhile
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from shingling.admin.files import write_records
from shingling.bulk.deciding import groups_of, with_more_kept
from shingling.bulk.options import OUTPUT_FORMATS, Problem, Summary
from shingling.bulk.rows import compared_text
from shingling.bulk.signed_rows import EXACT, NEAR, NO_ROW, SHORT
from shingling.bulk.store_records import end_record
from shingling.bulk.storing import STORE_FILE, export_of
from shingling.console.files import LEFT_OVER, written_whole
from shingling.errors import BulkError
from shingling.json_values import to_json
from shingling.rules import METHODS
from shingling.similarity.comparison import compare
from shingling.similarity.own_text import says_more
from shingling.store.index import Index
from shingling.text import plain_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from shingling.arrays import Records
    from shingling.bulk.options import Options
    from shingling.bulk.signed_rows import SignedRows

MAX_PROBLEMS_SHOWN = 5  # in the summary
_MUCH = 0.5  # of the rows: removed
_LEAST_ROWS = 20  # so that the share of those removed says something
_ROWS_COMPARED = 20  # of the largest group
_FILES = ("bad", "kept", "removed", "groups")
_IDS_AT_ONCE = 1 << 16  # in memory
_ROWS_PER_PARQUET_GROUP = 10_000
_REMOVED_COLUMNS = {
    **dict.fromkeys(("id", "original", "status"), "string"),
    **dict.fromkeys(("resemblance", "containment"), "double"),
    "file": "string",
    "line": "int64",
}
_GROUP_COLUMNS = {"original": "string", "duplicates": "strings"}


@dataclass
class Output:
    """Writes the files of a run, and counts.

    Args:
        signed: the rows.
        decided: the decisions on them.
        out: folder to write to.
        options: with the format of the files; `bad.jsonl` is JSON lines always.
    """

    signed: SignedRows
    decided: Records
    out: Path
    options: Options

    @cached_property
    def staying(self) -> Records:
        """The decisions, by which `keep_each` rows of a group stay."""
        return with_more_kept(self.decided, self.options.keep_each)

    @property
    def _tells_distance(self) -> bool:
        return METHODS[self.options.rules.method].distance

    def write(self, report: Callable[[int], None]) -> Summary:
        """Write all files; each takes its name once it is complete.

        Args:
            report: called with the number of rows that are done.

        Raises:
            OSError: the disk is full, or the like.
            BulkError: Parquet cannot hold a value.
        """
        names = [STORE_FILE, *(f"{name}.{form}" for name, form in product(_FILES, OUTPUT_FORMATS))]
        for path in (*map(self.out.joinpath, names), *self.out.glob(LEFT_OVER)):  # of another run
            path.unlink(missing_ok=True)
        form = self.options.output
        summary = Summary()
        self._save("bad", "jsonl", self._bad(summary), {})
        rows = map(json.loads, self._kept(lambda _: None))
        columns = _columns_of(rows) if form == "parquet" else {}
        self._save("kept", form, self._kept(report), columns)
        columns = _REMOVED_COLUMNS | ({"distance": "int64"} if self._tells_distance else {})
        self._save("removed", form, map(to_json, self._removed()), columns)
        self._save("groups", form, map(to_json, self._groups()), _GROUP_COLUMNS)
        if self.options.export:
            index = Index.for_rules(self.options.rules, self.options.scheme)
            header, records = export_of(self.signed, self.decided, self.options, index)
            end = end_record(header.pages)
            with written_whole(self.out / STORE_FILE) as file:
                write_records(chain([header.record()], records, [end]), file)
        return summary

    def removed_too_many(self, summary: Summary) -> str:
        """Say that most rows are removed, what the largest group shares, and which options help.

        "" if few are.
        """
        if summary.total < _LEAST_ROWS or summary.repeated <= _MUCH * summary.total:
            return ""
        originals, duplicates, starts, sizes = groups_of(self.staying, self.signed.first)
        largest = sizes.argmax()
        rows = duplicates[starts[largest] :][: sizes[largest]]
        shared = np.median(self.staying["resemblance"][rows])
        message = (
            f"Removed {summary.repeated:,} of {summary.total:,} rows, {len(rows):,} of them as"
            f" duplicates of one row, {plain_line(next(self._ids(originals[largest:])))}"
            f" (resemblance {shared:.2f})"
        )
        texts = [self.signed.text(int(row)) for row in rows[:_ROWS_COMPARED]]
        words = zip(*map(str.split, texts), strict=False)
        start = sum(1 for _ in takewhile(lambda several: len({*several}) == 1, words))
        ways = "name a field that has only what is their own with --text-field, or another"
        rest = [compared_text(texts[at], start) for at in (0, -1)]
        alike = compare(rest[0] or "", rest[1] or "", self.options.scheme).resemblance
        if start and all(rest) and alike < self.options.rules.threshold:
            message += f". They begin with the same {start:,} words"
            skipped = self.options.skip_words + start
            ways = f"leave these out with --skip-words {skipped}, {ways}"
        elif self.options.own_text == "ignore" and says_more(
            texts[-1], texts[0], "keep", self.options.rules.min_words
        ):
            ways = f"keep rows that say something of their own with --own-text keep, {ways}"
        return f"{message}. If they are no copies, {ways} --threshold"

    def _save(self, name: str, form: str, lines: Iterator[bytes], columns: dict[str, str]) -> None:
        """Write rows, which are lines of JSON."""
        with written_whole(self.out / f"{name}.{form}") as file:
            if form == "parquet":
                _write_parquet(file, lines, columns)
            else:
                file.writelines(line + b"\n" for line in lines)

    def _bad(self, summary: Summary) -> Iterator[bytes]:
        """Yield the bad rows, and count all rows."""
        first = self.signed.first
        states = self.staying["state"][first:]
        counts = np.bincount(states, minlength=SHORT + 1).tolist()
        summary.total = len(states)
        summary.exact, summary.near, summary.short = counts[EXACT], counts[NEAR], counts[SHORT]
        for source, line, reason, is_kept in self.signed.bad():
            if source < self.signed.known:
                continue
            if is_kept:
                summary.without_text += 1
                continue
            problem = Problem(self.signed.name(source), line, reason)
            yield to_json(problem._asdict())
            summary.bad += 1
            summary.reasons[reason] += 1
            if len(summary.problems) < MAX_PROBLEMS_SHOWN:
                summary.problems.append(problem)
        summary.short -= summary.without_text
        summary.repeated = summary.exact + summary.near
        summary.unique = summary.total - summary.repeated

    def _kept(self, report: Callable[[int], None]) -> Iterator[bytes]:
        """Yield the rows that are kept."""
        for start, stop in self.signed.blocks(self.signed.first):
            kept = self.staying[start:stop]["original"] == NO_ROW
            yield from self.signed.lines(self.signed.records(start, stop)[kept])
            report(stop)

    def _removed(self) -> Iterator[dict[str, Any]]:
        """Yield the removed rows, each with its original."""
        signed = self.signed
        for start, stop in signed.blocks(signed.first):
            decided = self.staying[start:stop]
            is_removed = decided["original"] != NO_ROW
            decided, records = decided[is_removed], signed.records(start, stop)[is_removed]
            originals = signed.records_of(decided["original"])
            distances = np.bitwise_count(records["simhash"] ^ originals["simhash"]).tolist()
            ids = zip(signed.ids(records), signed.ids(originals), strict=True)
            for (own, original), decision, record, distance in zip(
                ids, decided.tolist(), records, distances, strict=True
            ):
                state, _, resemblance, containment = decision
                file, line = signed.position(record)
                yield {
                    "id": own,
                    "original": original,
                    "status": "exact" if state == EXACT else "near",
                    "resemblance": round(resemblance, 4),
                    "containment": round(containment, 4),
                    "file": file,
                    "line": line,
                    **({"distance": distance} if self._tells_distance else {}),
                }

    def _groups(self) -> Iterator[dict[str, Any]]:
        """Yield each original that has duplicates with them, in the order of the originals."""
        originals, rows, _, sizes = groups_of(self.staying, self.signed.first)
        duplicates = self._ids(rows)
        for original, size in zip(self._ids(originals), sizes.tolist(), strict=True):
            yield {"original": original, "duplicates": [*islice(duplicates, size)]}

    def _ids(self, rows: Records) -> Iterator[str]:
        for start in range(0, len(rows), _IDS_AT_ONCE):
            yield from self.signed.ids(self.signed.records_of(rows[start : start + _IDS_AT_ONCE]))


def _columns_of(rows: Iterable[dict[str, Any]]) -> dict[str, str]:
    """Names of all fields of rows, each with the type of its values in Parquet.

    Nested values, and those of more than one type, are texts of JSON.
    """
    types: dict[str, set[type]] = {}
    for row in rows:
        for name, value in row.items():
            types.setdefault(name, set()).add(type(value))
    columns = {}
    for name, seen in types.items():
        kinds = seen - {type(None)}
        fitting = (column for column, taken in _COLUMN_TYPES.items() if kinds <= taken)
        columns[name] = next(fitting, "json")
    return columns


_COLUMN_TYPES: dict[str, set[type]] = {
    "string": {str},
    "bool": {bool},
    "int64": {int},
    "double": {int, float},
}


def _write_parquet(file: IO[bytes], lines: Iterable[bytes], columns: dict[str, str]) -> None:
    """Write a Parquet file.

    Args:
        file: to write to.
        lines: rows as lines of JSON.
        columns: names, each with a type of Arrow, `strings` or `json`.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    own = {"strings": pa.list_(pa.string()), "json": pa.string()}
    schema = pa.schema(
        [
            (name, own[kind] if kind in own else pa.type_for_alias(kind))
            for name, kind in columns.items()
        ]
    )
    rows = map(json.loads, lines)
    with pq.ParquetWriter(file, schema, compression="zstd") as parquet:
        while group := [*islice(rows, _ROWS_PER_PARQUET_GROUP)]:
            for row, name in product(group, (name for name in columns if columns[name] == "json")):
                if row.get(name) is not None:
                    row[name] = json.dumps(row[name], ensure_ascii=False)
            try:
                table = pa.Table.from_pylist(group, schema=schema)
            except (pa.ArrowException, OverflowError) as error:  # an integer of more than 64 bits
                raise BulkError(f"a row cannot be written as Parquet: {error}") from error
            parquet.write_table(table)
