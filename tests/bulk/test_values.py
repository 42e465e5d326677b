"""Rows in memory: what stays comes back as the kind that it was."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas
import polars
import pyarrow as arrow
import pytest

from shingling.bulk import Options, deduplicate
from shingling.errors import BulkError

from .collections import bulk, families, random_texts, write_lines

if TYPE_CHECKING:
    from pathlib import Path

ROWS: list[dict[str, Any]] = [
    {**row, "time": float(place)} for place, row in enumerate(families(3, 120, random_texts(1, 8)))
]
ROWS.append({"id": "no text", "text": None, "time": 0.5})
IN_THREAD = Options(workers=0)


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    folder = tmp_path_factory.mktemp("rows")
    found = bulk(write_lines(folder / "rows.jsonl", ROWS), folder / "out")
    assert 20 < len(found.kept) < 120
    return found.kept


def test_dicts_come_back_as_they_were(kept: list[str]) -> None:
    found = deduplicate(ROWS, options=IN_THREAD)
    assert [row["id"] for row in found] == kept
    assert all(any(row is one for one in ROWS) for row in found)
    assert deduplicate(ROWS) == found
    assert deduplicate([]) == []


def test_an_iterator_comes_back_as_one(kept: list[str]) -> None:
    found = deduplicate(iter(ROWS), options=IN_THREAD)
    assert next(found) is ROWS[0]
    assert [row["id"] for row in found] == kept[1:]


def test_a_table_of_arrow_comes_back(kept: list[str]) -> None:
    found = deduplicate(arrow.Table.from_pylist(ROWS), options=IN_THREAD)
    assert isinstance(found, arrow.Table)
    assert found.column("id").to_pylist() == kept


def test_a_frame_of_pandas_comes_back_with_its_index(kept: list[str]) -> None:
    frame = pandas.DataFrame(ROWS, index=range(1000, 1000 + len(ROWS)))
    found = deduplicate(frame, options=IN_THREAD)
    assert isinstance(found, pandas.DataFrame)
    assert found["id"].tolist() == kept
    assert found.index[0] == 1000
    assert found.dtypes.equals(frame.dtypes)


def test_a_frame_of_polars_comes_back(kept: list[str]) -> None:
    found = deduplicate(polars.DataFrame(ROWS), options=IN_THREAD)
    assert isinstance(found, polars.DataFrame)
    assert found["id"].to_list() == kept


def test_all_options_are_for_values_too(tmp_path: Path, kept: list[str]) -> None:
    file = write_lines(tmp_path / "known.jsonl", ROWS)
    left = deduplicate(ROWS, options=IN_THREAD, against=file)
    assert [row for row in left if len((row["text"] or "").split()) > 19] == []
    options = Options(workers=0, output="parquet", keep="newest", order_field="time")
    assert {row["id"] for row in deduplicate(ROWS, options=options)} != {*kept}
    large = [{**ROWS[0], "other": "x" * 5000}] * 2
    rows = [*large, {"text": "another text"}]
    assert deduplicate(rows, options=Options(workers=0)) == rows[1:]
    assert deduplicate(rows, options=Options(workers=0, max_bytes=5000)) == rows


@pytest.mark.parametrize(
    ("rows", "problem"),
    [
        ("articles.jsonl", "str is no collection of rows; to read files, name a folder"),
        ({"text": "a"}, "dict is no collection"),
        (5, "int is no collection"),
        (["a text"], "a row is a str, not a dict"),
        ([ROWS[0], None], "a row is a NoneType"),
    ],
)
def test_what_is_no_row_is_refused(rows: Any, problem: str) -> None:
    with pytest.raises(BulkError, match=problem):
        deduplicate(rows)


def test_one_file_may_be_named_alone(tmp_path: Path) -> None:
    file = write_lines(tmp_path / "rows.jsonl", ROWS)
    for name in (file, str(file)):
        summary = deduplicate(name, tmp_path / "out", IN_THREAD, restart=True)
        assert (summary.total, summary.without_text) == (121, 1)
    with pytest.raises(BulkError, match=r"none\.jsonl: No such file"):
        deduplicate(str(tmp_path / "none.jsonl"), tmp_path / "out")
