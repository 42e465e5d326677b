"""The wheel, installed beside a user's own three-file project."""

from __future__ import annotations

import csv
import os
import subprocess
from pathlib import Path

from tests.crawling import article, html, serving

FILES = {
    "scrapy.cfg": "[settings]\ndefault = settings\n",
    "settings.py": (
        "SPIDER_MODULES = ['spider']\n"
        "ITEM_PIPELINES = {'spider.Shouting': 300}\n"
        "ADDONS = {'shingling.Addon': 500}\n"
        "FEEDS = {'articles.csv': {'format': 'csv'}}\n"
    ),
    "spider.py": """
from dataclasses import dataclass, field
import scrapy


@dataclass
class Article:
    url: str
    headline: str
    dedup: dict | None = None


class Shouting:
    async def process_item(self, item):
        item.headline = item.headline.upper()
        return item


class Spider(scrapy.Spider):
    name = "articles"
    custom_settings = {"CONCURRENT_REQUESTS": 1}

    async def start(self):
        for path in ("/a", "/b", "/c"):
            yield scrapy.Request(self.site + path)

    def parse(self, response):
        yield Article(response.url, response.css("h1::text").get())
""",
}


def test_a_wheel_made_without_a_compiler_works_in_a_project_of_three_files_with_one_line(
    tmp_path: Path, user_python: Path
) -> None:
    project = tmp_path / "project"
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    where = subprocess.run(
        [str(user_python), "-c", "import shingling; print(shingling.__file__)"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    site_packages = Path(where).parent.parent
    assert site_packages.is_relative_to(user_python.parent.parent), "this is the checkout"
    assert not [*(site_packages / "shingling").glob("_kernel*.so")]
    assert (site_packages / "shingling" / "migrations" / "env.py").is_file()
    assert not (site_packages / "crawler").exists()
    project.mkdir()
    for name, text in FILES.items():
        (project / name).write_text(text, encoding="utf-8")
    text = article(1)
    pages = {
        "/a": html(text, "First"),
        "/b": html(text.replace(text.split()[9], "edited", 1), "Copy"),
        "/c": html(article(2), "Third"),
    }

    def scrapy(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(user_python), "-m", "scrapy", *arguments],
            cwd=project,
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )

    with serving(pages) as (address, _):
        log = scrapy("crawl", "articles", "-a", f"site={address}").stderr
    assert "Traceback" not in log
    assert "no compiled kernel" in log
    with (project / "articles.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["headline"] for row in rows] == ["FIRST", "THIRD"]
    assert "'status': 'new'" in rows[0]["dedup"]
    status = scrapy("dedup", "status").stdout
    assert "1 (0 exact, 1 near)" in status
