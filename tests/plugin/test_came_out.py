"""Whether an item has come out is a fact: walks of a store."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import pytest

from tests.plugin.walks import walk
from tests.support.stores import ENDINGS, place_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


pytestmark = pytest.mark.usefixtures("reactor")

WALKS = {"sqlite": range(8), "postgres": range(2)}


@pytest.fixture(params=ENDINGS)
def file(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    yield from place_of(request, tmp_path)


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    logging.disable()
    yield
    logging.disable(logging.NOTSET)


def test_every_original_comes_out_and_none_twice(file: Path) -> None:
    for seed in WALKS["postgres" if file.suffix == ".pg" else "sqlite"]:
        assert walk(seed, file.with_name(f"{seed}{file.suffix}")) == []
