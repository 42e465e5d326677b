"""The pictures of docs/howto/review.md: `make screens`."""

from __future__ import annotations

import shutil
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from playwright.sync_api import sync_playwright

from shingling.store.session import Session
from shingling.web.report import report_page
from tests.admin.test_audit import fill_with_risks
from tests.support.installed import ROOT
from tests.web.conftest import serving
from tests.web.stores import fill_with_editions, fill_with_news
from tests.web.test_savings import fill_with_rules

if TYPE_CHECKING:
    from collections.abc import Callable

IMAGES = ROOT / "docs" / "images"
PAIR = "a=https://city.example/harbour/terminal&b=https://agency.example/news/20418"
STORES: dict[str, Callable[[str], None]] = {
    "news": fill_with_news,
    "editions": fill_with_editions,
    "risks": fill_with_risks,
    "rules": fill_with_rules,
}
SCREENS = {
    "groups": ("news", "/groups?order=resemblance"),
    "group": ("news", "/group?url=https://city.example/harbour/terminal"),
    "reviews": ("editions", "/reviews"),
    "pair": ("news", f"/pair?{PAIR}"),
    "threshold": ("editions", "/threshold"),
    "audit": ("risks", "/audit"),
    "savings": ("rules", "/savings"),
    "overview": ("news", "/overview"),
}


def main() -> None:
    """Write a picture of each page."""
    with ExitStack() as opened:
        folder = Path(opened.enter_context(tempfile.TemporaryDirectory()))
        browser = opened.enter_context(sync_playwright()).chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        served = {
            name: opened.enter_context(serving(folder / name, fill)).address
            for name, fill in STORES.items()
        }
        written = folder / "report.html"
        with Session.open(f"sqlite:///{folder / 'news' / 'dedup.db'}", create=False) as session:
            page = report_page(session).replace(session.database.where, "sqlite:///dedup.db")
        written.write_text(page, encoding="utf-8")
        context = browser.new_context(viewport={"width": 1120, "height": 640})
        tab = context.new_page()
        for name, (store, path) in SCREENS.items():
            if name == "overview":  # and the report, which is as wide
                tab.set_viewport_size({"width": 1440, "height": 1000})
            tab.goto(served[store] + path)
            if name == "threshold":
                tab.fill("[name=threshold]", "0.8")
                tab.get_by_role("button", name="Try it").click()
                tab.get_by_text("Duplicates at").wait_for()
            tab.evaluate("document.querySelector('.store').textContent = 'dedup.db'")
            tab.screenshot(path=IMAGES / f"review-{name}.png")
        tab.goto(written.as_uri())
        tab.screenshot(path=IMAGES / "review-report.png")
        browser.close()


if __name__ == "__main__":
    main()
