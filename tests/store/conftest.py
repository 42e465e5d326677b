"""A new store in a file, which is in order when a test is done with it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from shingling import Store

from .invariants import url_of, verify

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "dedup.db"


@pytest.fixture
def store(file: Path) -> Iterator[Store]:
    with Store.open(url_of(file)) as opened:
        yield opened
    verify(file)
