"""A site that the tests of a module crawl."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.serving import serving

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="module")
def site(request: pytest.FixtureRequest) -> Iterator[str]:
    """The URL of a server of the `PAGES` of the test's module."""
    with serving(request.module.PAGES) as server:
        yield server.url
