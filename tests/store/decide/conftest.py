"""Stores in SQLite alone: what decides is the same code in both databases.

The walks of the two references, large batches and odd characters are tried in PostgreSQL as well,
by `both_databases` of `tests.support.stores`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.stores import make_empty, place_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(params=["sqlite"])
def file(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    """Where a store can be made."""
    yield from place_of(request, tmp_path)


@pytest.fixture(scope="module", params=["sqlite"])
def empty(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Path]:
    """An empty store, for `emptied`."""
    for path in place_of(request, tmp_path_factory.mktemp("empty")):
        make_empty(path)
        yield path
