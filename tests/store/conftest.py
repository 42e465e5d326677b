"""A new store in each database, which is in order when a test is done with it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import shingling.store.backends.recent
from shingling import Store
from tests.support.invariants import verify
from tests.support.stores import ENDINGS, make_empty, place_of, url_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


def in_a_database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    """Where a store can be made, as `url_of` knows it; another one is `file.with_stem(name)`."""
    yield from place_of(request, tmp_path)


def empty_in_a_database(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Path]:
    """An empty store, for `emptied`."""
    for path in place_of(request, tmp_path_factory.mktemp("empty")):
        make_empty(path)
        yield path


file = pytest.fixture(params=ENDINGS)(in_a_database)
empty = pytest.fixture(scope="module", params=ENDINGS)(empty_in_a_database)


@pytest.fixture(scope="module")
def few_recent() -> Iterator[None]:
    """Have SQLite's tables of keys take up what is recent after a few pages."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(shingling.store.backends.recent, "MAX_RECENT_ENTRIES", 40)
        yield


@pytest.fixture
def store(file: Path) -> Iterator[Store]:
    with Store.open(url_of(file)) as opened:
        yield opened
    verify(file)
