"""Rows that are in memory: lists of dicts, data frames and tables."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shingling.bulk.inputs.sources import source_of_lines
from shingling.errors import BulkError
from shingling.json_values import json_value, to_json

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from shingling.bulk.inputs.sources import Source
    from shingling.bulk.options import Options


def kept_values(rows: Any, options: Options, run: Callable[[Source, Path], object]) -> Any:
    """Deduplicate rows, and give those that stay as the kind that they came in.

    Rows that cannot be read, because they have no text for instance, stay.

    Args:
        rows: a list or an iterable of dicts, a DataFrame of pandas or Polars, or a table of Arrow.
        options: of the run.
        run: deduplicates an input into a folder.

    Raises:
        BulkError: `rows` is none of these.
    """
    kind = type(rows).__module__.partition(".")[0], type(rows).__name__
    if kind == ("pandas", "DataFrame"):
        return rows.iloc[_staying(rows.to_dict("records"), options, run)]
    if kind == ("polars", "DataFrame"):
        return rows[_staying(rows.to_dicts(), options, run)]
    if kind == ("pyarrow", "Table"):
        return rows.take(_staying(rows.to_pylist(), options, run))
    if isinstance(rows, str | bytes | Path | Mapping) or not isinstance(rows, Iterable):
        raise BulkError(
            f"{kind[1]} is no collection of rows; to read files, name a folder for `out`"
        )
    listed = [*rows]
    stay = [listed[place] for place in _staying(listed, options, run)]
    return stay if isinstance(rows, list) else iter(stay)


def _staying(
    rows: Sequence[Any], options: Options, run: Callable[[Source, Path], object]
) -> list[int]:
    """Places of the rows that stay."""
    if not rows:
        return []
    with tempfile.TemporaryDirectory() as folder:
        run(source_of_lines("rows", lambda: map(_line, rows), options), Path(folder))
        with (Path(folder) / "removed.jsonl").open("rb") as file:
            removed = {json.loads(line)["line"] - 1 for line in file}
    return [place for place in range(len(rows)) if place not in removed]


def _line(row: Any) -> bytes:
    if not isinstance(row, Mapping):
        raise BulkError(f"a row is a {type(row).__name__}, not a dict")
    return to_json(json_value(dict(row)))
