"""Fixtures that several test files share."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import settings

ROOT = Path(__file__).parent.parent

# How long an example takes says more of the machine than of the code.
settings.register_profile("any machine", deadline=None)
settings.load_profile("any machine")


@pytest.fixture(scope="session")
def data() -> Path:
    """The folder of the labelled pages; tests that need it are skipped where it is absent."""
    folder = Path(os.environ.get("DEDUP_DATA", ROOT.parent / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip("the labelled pages are not here (DEDUP_DATA)")
    return folder
