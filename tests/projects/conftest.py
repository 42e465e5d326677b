"""Copies of the projects."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.projects.running import UserProject

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.fixture
def project(tmp_path: Path, user_python: Path) -> Callable[[str], UserProject]:
    """Return a copy of the project of a name."""
    return lambda name: UserProject(name, tmp_path, user_python)
