"""A real server, started as a user starts it, and a real browser."""

from __future__ import annotations

import os
import shutil
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

import pytest

from tests.store.conftest import file, store
from tests.support.installed import ROOT
from tests.support.processes import PATIENCE, dedup_serve
from tests.web.stores import fill_with_attacks, fill_with_news

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from playwright.sync_api import Browser, Page

__all__ = ["file", "store"]

AXE = ROOT / ".venv" / "axe.min.js"
OF_COLOURS = ("color-contrast", "link-in-text-block")
"""Rules of axe that depend on colours."""


@dataclass(frozen=True)
class Served:
    """A store that is served at an address, which ends with its port."""

    store: str
    address: str


def _missing(what: str) -> NoReturn:
    """Skip a test for want of something; in CI that is a failure."""
    if os.environ.get("CI"):
        pytest.fail(f"{what} is missing, and the browser tests must not be skipped here")
    pytest.skip(f"{what} is missing: `make browser` installs it")


@contextmanager
def serving(
    folder: Path, fill: Callable[[str], None], *options: str, store: str | None = None
) -> Iterator[Served]:
    """Serve a store that is filled for a test, in a folder unless its URL is given."""
    folder.mkdir(exist_ok=True)
    store = store or f"sqlite:///{folder / 'dedup.db'}"
    fill(store)
    with dedup_serve(folder, store, *options) as (_, address):
        yield Served(store, address)


@pytest.fixture(scope="module")  # it holds an event loop, which other modules need
def browser() -> Iterator[Browser]:
    try:
        from playwright import sync_api
    except ModuleNotFoundError:
        _missing("playwright")
    chromium = shutil.which("chromium")
    if chromium is None:
        _missing("chromium")
    with sync_api.sync_playwright() as playwright:
        launched = playwright.chromium.launch(
            executable_path=chromium, args=["--no-sandbox"], timeout=PATIENCE * 1000
        )
        yield launched
        launched.close()


@contextmanager
def tab_of(browser: Browser, **options: Any) -> Iterator[Page]:
    """A tab of a context of its own, which waits for as long as a slow machine takes."""
    with browser.new_context(**options) as context:
        context.set_default_timeout(PATIENCE * 1000)
        yield context.new_page()


@pytest.fixture(scope="session")
def axe() -> str:
    if not AXE.is_file():
        _missing(f"axe-core ({AXE.relative_to(ROOT)})")
    return AXE.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def news(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(tmp_path_factory.mktemp("news"), fill_with_news) as served:
        yield served


@pytest.fixture(scope="module")
def attacks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(tmp_path_factory.mktemp("attacks"), fill_with_attacks) as served:
        yield served


def watched(tab: Page) -> tuple[list[str], list[str]]:
    """What a page asks for, and what it runs or complains about, from now on."""
    asked: list[str] = []
    troubles: list[str] = []
    tab.on("request", lambda request: asked.append(request.url))
    tab.on("dialog", lambda dialog: troubles.append(dialog.message))
    tab.on("console", lambda message: troubles.append(message.text))
    tab.on("pageerror", lambda error: troubles.append(str(error)))
    return asked, troubles


def violations(tab: Page, axe: str, *rules: str) -> list[tuple[str, list[str]]]:
    """What axe finds wrong with a page: the rule, and the elements; by all rules, or by some."""
    if tab.evaluate("!window.axe"):
        tab.evaluate(axe)
    options: dict[str, Any] = {"resultTypes": ["violations"]}
    if rules:
        options["runOnly"] = [*rules]
    found = tab.evaluate("options => axe.run(options)", options)["violations"]
    return [(one["id"], [node["html"] for node in one["nodes"]]) for one in found]
