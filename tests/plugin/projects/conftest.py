"""Copies of the projects."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import pytest

from tests.plugin.projects.user_project import UserProject

if TYPE_CHECKING:
    from pathlib import Path

    from tests.plugin.projects.user_project import Projects


@pytest.fixture
def project(tmp_path: Path) -> Projects:
    """Return a copy of the project of a name."""
    return partial(UserProject, folder=tmp_path)
