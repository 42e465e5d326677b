"""What is read from the data files of versions of Unicode is what `unicodedata` gives.

`python -m tests.text.test_unicode_data` writes the file of the version of the Python that runs it.
"""

from __future__ import annotations

import unicodedata
from inspect import unwrap
from typing import TYPE_CHECKING

import numpy as np
import pytest

from shingling.text import bounding
from shingling.text.bounding import class_table, kept_as_data, property_table
from shingling.text.folding import fold_changes

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

TABLES = [class_table, property_table, fold_changes]


@pytest.mark.parametrize("table", TABLES)
def test_what_is_read_is_what_is_made(table: Callable[[], np.ndarray]) -> None:
    made = unwrap(table)()
    assert table().dtype == made.dtype
    assert np.array_equal(table(), made)


def test_a_python_of_another_version_makes_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def numbers() -> np.ndarray:
        return np.arange(3)

    monkeypatch.setattr(bounding, "__file__", str(tmp_path / "bounding.py"))
    assert kept_as_data(numbers)().tolist() == [0, 1, 2]
    file = tmp_path / f"unicode-{unicodedata.unidata_version}.npz"
    np.savez_compressed(file, numbers=np.arange(4))
    assert kept_as_data(numbers)().tolist() == [0, 1, 2, 3]


if __name__ == "__main__":
    np.savez_compressed(
        f"shingling/text/unicode-{unicodedata.unidata_version}.npz",
        **{table.__name__: unwrap(table)() for table in TABLES},
    )
