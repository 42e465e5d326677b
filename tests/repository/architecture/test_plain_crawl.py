"""What a crawl imports that has one item with a text of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING

from tests.support.installed import ROOT

if TYPE_CHECKING:
    from pathlib import Path

MOST_MODULES, MOST_LINES = 88, 15_500
"""More says that something was imported which such a crawl does not need."""

CRAWL = """
import json, sys
from pathlib import Path
import scrapy
from scrapy.crawler import AsyncCrawlerProcess

class OnePage(scrapy.Spider):
    name = "one"

    async def start(self):
        yield {"url": "https://example.com/", "text": "Snow closed the mountain road. " * 20}

if __name__ == "__main__":
    settings = {
        "ADDONS": {"shingling.Addon": 500}, "LOG_ENABLED": False, "TELNETCONSOLE_ENABLED": False,
    }
    process = AsyncCrawlerProcess(settings)
    crawler = process.create_crawler(OnePage)
    process.crawl(crawler)
    process.start()
    assert crawler.stats.get_value("dedup/new") == 1
    files = {name: module.__file__ for name, module in sys.modules.items()
             if name.partition(".")[0] == "shingling"}
    sources = {name: file for name, file in files.items() if file.endswith(".py")}
    lines = {name: len(Path(file).read_text("utf-8").splitlines())
             for name, file in sources.items()}
    print(json.dumps(lines))
"""


def test_a_plain_crawl_imports_little(tmp_path: Path) -> None:
    script = tmp_path / "crawl.py"
    script.write_text(CRAWL, "utf-8")
    done = subprocess.run(
        [sys.executable, str(script)],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    lines = json.loads(done.stdout.splitlines()[-1])
    rooms = {path.parent.name for path in (ROOT / "shingling").glob("*/commands*")}
    of_rooms = {name for name in lines if name.split(".")[1:2] and name.split(".")[1] in rooms}
    allowed = {f"shingling.{room}{end}" for room in rooms for end in ("", ".room")}
    assert of_rooms <= allowed
    assert len(lines) <= MOST_MODULES, sorted(lines)
    assert sum(lines.values()) <= MOST_LINES
