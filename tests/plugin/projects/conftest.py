"""Copies of the projects, and the environment that they run in."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.plugin.projects.user_project import UserProject
from tests.support.installed import Environment

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.plugin.projects.user_project import Projects


@pytest.fixture(scope="session")
def environment(user_python: Path) -> Iterator[Environment]:
    """The environment of a user, in which the wheel and not the checkout is found."""
    made = Environment(user_python)
    code = "import shingling; print(shingling.__file__)"
    with made.start("-c", code, cwd=user_python.parent) as process:
        found, _ = process.communicate()
    assert found.startswith(str(user_python.parent.parent)), "this is not the wheel"
    yield made
    made.close()


@pytest.fixture
def project(tmp_path: Path, environment: Environment) -> Projects:
    """Return a copy of the project of a name."""
    return lambda name: UserProject(name, tmp_path, environment)
