"""Fixtures that several test files share."""

from __future__ import annotations

import asyncio
import gc
import inspect
import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings
from packaging.version import Version

from tests.support.crawls import SCRAPY, SPIDER, Project
from tests.support.installed import ROOT
from tests.support.postgres import Database, shared_database

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

# How long an example takes says more of the machine than of the code.
settings.register_profile("any machine", deadline=None)
settings.load_profile("any machine")

# Folders and modules by what their tests do. A fixture says it for tests elsewhere.
_MARKERS = {
    "crawl": (
        *("cli/test_bulk_command.py", "ecosystem/", "extraction/test_workers.py"),
        "hostile/test_crawls.py",
        *("peers/test_libraries.py", "plugin/faults/", "plugin/projects/"),
        *("repository/docs/test_how_to.py", "repository/packaging/test_wheel.py"),
        "repository/test_crawler.py",
    ),
    "slow": (
        *("admin/test_damage.py", "bulk/", "cli/test_exchange_commands.py"),
        *("extraction/hostile/test_memory.py", "extraction/hostile/test_starts.py"),
        *("hostile/files/", "hostile/test_kills.py", "hostile/test_patterns.py"),
        *("hostile/test_texts.py", "repository/architecture/test_without_a_room.py"),
        *("repository/test_benchmarks.py", "store/backends/test_atomic.py"),
        *("store/backends/test_races.py", "store/decide/test_reference.py"),
        *("store/schema/test_upgrade.py", "web/test_"),
    ),
}
_FIXTURES = {"crawl": {"project"}, "data": {"data"}, "postgres": {"postgres"}}


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collect tests without the garbage collector: next to nothing of it is garbage."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark tests by what they need; those that need nothing are `fast`.

    Modules that take long come first, so that processes that share the tests end together.
    """
    for item in items:
        assert isinstance(item, pytest.Function)
        path = item.path.relative_to(ROOT / "tests").as_posix()
        databases = item.callspec.params.values() if hasattr(item, "callspec") else ()
        needs = {name for name, paths in _MARKERS.items() if path.startswith(paths)}
        needs |= {name for name, fixtures in _FIXTURES.items() if fixtures & {*item.fixturenames}}
        needs |= {"postgres"} & {value for value in databases if isinstance(value, str)}
        for name in needs or {"fast"}:
            item.add_marker(name)
    long = {
        item.path for item in items for name in ("crawl", "slow") if item.get_closest_marker(name)
    }
    items.sort(key=lambda item: item.path not in long)


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run tests that are coroutines, each in an event loop of its own."""
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    names = inspect.signature(pyfuncitem.obj).parameters
    asyncio.run(pyfuncitem.obj(**{name: pyfuncitem.funcargs[name] for name in names}))
    return True


def pytest_collection_finish() -> None:
    """Have the garbage collector leave out what was imported and collected."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session")
def data() -> Path:
    """The folder of the labelled pages; tests that need it are skipped where it is absent."""
    folder = Path(os.environ.get("DEDUP_DATA", ROOT.parent / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip("the labelled pages are not here (DEDUP_DATA)")
    return folder


@pytest.fixture(scope="session")
def postgres() -> Iterator[Database]:
    """A database of a server; tests that need one are skipped where there is none."""
    with shared_database() as database:
        yield database


@pytest.fixture
def project(tmp_path: Path, request: pytest.FixtureRequest) -> Project:
    """A user's project with one spider: the `SPIDER` of the test's module, if it has one."""
    return Project(tmp_path, getattr(request.module, "SPIDER", SPIDER))


@pytest.fixture(scope="session")
def reactor() -> None:
    """A reactor of this process, for `get_crawler` of Scrapy 2.14; newer ones need none."""
    if Version("2.15") > SCRAPY:
        from scrapy.utils.reactor import install_reactor

        install_reactor("twisted.internet.asyncioreactor.AsyncioSelectorReactor")
