"""The pictures of docs/howto/review.md: `make screens`."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

from tests.support.installed import ROOT
from tests.web.conftest import serving
from tests.web.stores import fill_with_news

IMAGES = ROOT / "docs" / "images"
PAIR = "a=https://city.example/harbour/terminal&b=https://agency.example/news/20418"
SCREENS = {"groups": "/groups?order=resemblance", "pair": f"/pair?{PAIR}", "overview": "/overview"}


def main() -> None:
    """Write a picture of each page, light and dark."""
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        with serving(Path(folder) / "news", fill_with_news) as served:
            for scheme, ending in (("light", ""), ("dark", "-dark")):
                context = browser.new_context(
                    color_scheme="dark" if scheme == "dark" else "light",
                    viewport={"width": 1120, "height": 640},
                )
                tab = context.new_page()
                for name, path in SCREENS.items():
                    tab.goto(served.address + path)
                    tab.evaluate("document.querySelector('.store').textContent = 'dedup.db'")
                    tab.screenshot(path=IMAGES / f"review-{name}{ending}.png")
                context.close()
        browser.close()


if __name__ == "__main__":
    main()
