"""What a copy of the package still does when rooms are not there; run in the copy.

It prints one line of JSON for `test_without_a_room`.
"""

from __future__ import annotations

import io
import json
import sys
from contextlib import redirect_stdout
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import scrapy
from scrapy.cmdline import execute
from scrapy.core.engine import ExecutionEngine
from scrapy.crawler import AsyncCrawlerProcess
from scrapy.settings import Settings

import shingling
from shingling.errors import SettingsError
from shingling.plugin.settings import DedupSettings

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

PACKAGE = Path(shingling.__file__).parent
TEXT = "Snow closed the mountain road on Monday, and the school stayed shut until evening. "
OF_ROOMS = {"DEDUP_FETCH": "observe", "DEDUP_REPORT": "report.html"}


class Pages(scrapy.Spider):
    """Yields two items with the same text."""

    name = "pages"

    async def start(self) -> AsyncIterator[Any]:
        for place in ("a", "b"):
            yield {"url": f"https://{place}.example/", "text": TEXT * 3}


def modules() -> list[str]:
    """Modules of the copy, without those that need PySpark."""
    files = (file.relative_to(PACKAGE.parent) for file in PACKAGE.rglob("*.py"))
    names = (".".join(file.with_suffix("").parts) for file in files)
    return [name for name in sorted(names) if not name.endswith("__main__") and "spark" not in name]


def crawl(url: str) -> dict[str, Any]:
    """Crawl two pages, and return the numbers of verdicts."""
    ExecutionEngine._SLOT_HEARTBEAT_INTERVAL = 0.1  # seconds after which it is seen to have ended
    process = AsyncCrawlerProcess(
        {
            "ADDONS": {"shingling.Addon": 500},
            "DEDUP_STORE_URL": url,
            "LOG_ENABLED": False,
            "TELNETCONSOLE_ENABLED": False,
        }
    )
    crawler = process.create_crawler(Pages)
    process.crawl(crawler)
    process.start()
    assert crawler.stats is not None
    return {name: crawler.stats.get_value(f"dedup/{name}") for name in ("new", "exact")}


def command(*arguments: str) -> Any:
    """Run `scrapy dedup`, and return its JSON."""
    with redirect_stdout(io.StringIO()) as shown:
        try:
            execute(["scrapy", "dedup", *arguments, "--json"], settings=Settings())
        except SystemExit as stop:
            if stop.code:
                raise
    return json.loads(shown.getvalue())


def accepts(name: str) -> bool:
    """Whether a setting of a room is known."""
    try:
        DedupSettings.from_settings(Settings({name: OF_ROOMS[name]}))
    except SettingsError as error:
        if "is not a setting" in str(error):
            return False
        raise
    return True


def main(store: str, *tests: str) -> None:
    """Use everything that is there, and run tests of it."""
    url = f"sqlite:///{store}"
    for module in modules():
        import_module(module)
    for name in shingling.__all__:
        getattr(shingling, name)
    found: dict[str, Any] = {"package": str(PACKAGE), "crawl": crawl(url)}
    with shingling.Store.open(url) as opened:
        verdict = opened.check_one("https://c.example/", TEXT * 3)
        found["original"] = verdict.original
    if "shingling.cli" in sys.modules:
        found["pages"] = command("status", "--store", store)["pages"]
        found["shown"] = command("show", "https://b.example/", "--explain", "--store", store)[0]
        from shingling.cli.all_commands import all_commands

        found["commands"] = sorted(all_commands())
    found["settings"] = [name for name in OF_ROOMS if accepts(name)]
    found["tests"] = pytest.main(["--assert=plain", "-p", "no:cacheprovider", *tests])
    print(json.dumps(found))
