"""A report on labelled pairs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from shingling.errors import SchemeError
from shingling.text import Canonicaliser
from tests.tuning.pairs import made_pairs, tuned

if TYPE_CHECKING:
    from shingling.tuning.report import Report


@pytest.fixture(scope="module")
def report() -> Report:
    return tuned(made_pairs(same=12))


@pytest.fixture
def without_packs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave out the settings that need language packs: dictionaries take seconds to load."""

    def require(canonical: Canonicaliser) -> None:
        if canonical != Canonicaliser():  # which a store asks for as well
            raise SchemeError("left out")

    monkeypatch.setattr(Canonicaliser, "require_packs", require)
