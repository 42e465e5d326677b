"""A report on labelled pairs."""

from __future__ import annotations

import pytest

from shingling.errors import SchemeError
from shingling.text import Canonicaliser
from shingling.tuning.report import Report, tune_on
from tests.tuning.settings.pairs import DEFAULT, made_pairs


@pytest.fixture(scope="module")
def report() -> Report:
    return tune_on(made_pairs(same=12), DEFAULT, 0.8, unlabelled=3)


@pytest.fixture
def without_packs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave out the settings that need language packs: dictionaries take seconds to load."""

    def require(canonical: Canonicaliser) -> None:
        if canonical != Canonicaliser():  # which a store asks for as well
            raise SchemeError("left out")

    monkeypatch.setattr(Canonicaliser, "require_packs", require)
