"""A user's project with one spider."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.crawling import SPIDER, Project

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def project(tmp_path: Path) -> Project:
    made = Project(tmp_path)
    made.write("shop/spiders/__init__.py", "")
    made.write("shop/spiders/spider.py", SPIDER)
    return made
