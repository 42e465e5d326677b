"""Commands run in the test's process, and the stores that they are given."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import pytest

from tests.support.commands import Done, dedup_command
from tests.support.invariants import verify

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


@pytest.fixture
def url(tmp_path: Path) -> str:
    """The URL of the store of the settings."""
    return f"sqlite:///{tmp_path / 'dedup.db'}"


@pytest.fixture
def dedup(url: str, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Done]:
    """Scrapy's command line in this process; without standard input, at a terminal."""
    return partial(dedup_command, monkeypatch, DEDUP_STORE_URL=url)


@pytest.fixture
def target(tmp_path: Path) -> Iterator[str]:
    """The URL of a store that is not there yet, and is in order in the end."""
    file = tmp_path / "target.db"
    yield f"sqlite:///{file}"
    if file.exists():
        verify(file)
