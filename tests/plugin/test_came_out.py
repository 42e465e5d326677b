"""Whether an item has come out is a fact: walks of a store, and failures that they find."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

import pytest

from shingling.plugin.items.checking import Checker
from shingling.store.decide import apply, meet
from tests.plugin.walks import walk
from tests.support.stores import ENDINGS, place_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from shingling.store.decide.read import PageState
    from shingling.store.model import Verdict
    from shingling.store.schema.rows import Row

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


def an_original_has_come_out(patch: pytest.MonkeyPatch) -> None:
    repeats = apply._repeats

    def repeats_originals(page: PageState, *arguments: Any) -> str | None:
        page.row.came_out = page.row.came_out or 0
        return repeats(page, *arguments)

    patch.setattr(apply, "_repeats", repeats_originals)


def what_is_lost_is_not_taken_back(patch: pytest.MonkeyPatch) -> None:
    async def withdraw(*_: object) -> None:
        """Leave it there."""

    patch.setattr(Checker, "take_back", withdraw)
    patch.setattr(Checker, "withdraw", withdraw)


def what_a_duplicate_was_is_not_taken_back(patch: pytest.MonkeyPatch) -> None:
    place = apply._place

    def place_only(row: Row, *arguments: Any, **options: Any) -> None:
        came_out = row.came_out
        place(row, *arguments, **options)
        row.came_out = came_out

    say = apply.verdict_on

    def say_only(page: PageState, *arguments: Any) -> Verdict:
        came_out = page.row.came_out
        verdict = say(page, *arguments)
        page.row.came_out = came_out if verdict.is_duplicate else page.row.came_out
        return verdict

    patch.setattr(apply, "_place", place_only)
    patch.setattr(meet, "verdict_on", say_only)


def nothing_is_noted(patch: pytest.MonkeyPatch) -> None:
    repeats = apply._repeats

    def repeats_nothing(page: PageState, *arguments: Any) -> str | None:
        page.row.came_out = None
        return repeats(page, *arguments)

    patch.setattr(apply, "_repeats", repeats_nothing)


FAILURES: dict[Callable[[Any], None], tuple[int, ...]] = {
    an_original_has_come_out: (3, 6),
    what_is_lost_is_not_taken_back: (2, 10),
    what_a_duplicate_was_is_not_taken_back: (13, 16),
    nothing_is_noted: (0, 1),
}


@pytest.mark.parametrize(("fail", "seeds"), FAILURES.items())
def test_walks_find_a_failure(
    fail: Callable[[Any], None],
    seeds: tuple[int, ...],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    fail(monkeypatch)
    assert any(walk(seed, tmp_path / f"{seed}.db") for seed in seeds)
