"""The wheel, installed beside a user's own three-file project."""

from __future__ import annotations

import csv
import os
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

from tests.conftest import ROOT
from tests.crawling import article, html, serving

if TYPE_CHECKING:
    from pathlib import Path

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
    tmp_path: Path,
) -> None:
    source, site_packages = tmp_path / "source", tmp_path / "site-packages"
    project = tmp_path / "project"
    for name in ("shingling", "migrations"):
        shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("*.so", "*.pyd"))
    for name in ("pyproject.toml", "setup.py", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source / name)
    subprocess.run(
        [
            *(sys.executable, "-m", "pip", "install", "--quiet", "--no-deps"),
            *("--target", str(site_packages), str(source)),
        ],
        env={**os.environ, "CC": "no-such-compiler"},
        check=True,
        capture_output=True,
    )
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
    environment = {**os.environ, "PYTHONPATH": str(site_packages)}

    def scrapy(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "scrapy", *arguments],
            cwd=project,
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )

    with serving(pages) as (address, _):
        log = scrapy("crawl", "articles", "-a", f"site={address}").stderr
    assert "Traceback" not in log
    with (project / "articles.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["headline"] for row in rows] == ["FIRST", "THIRD"]
    assert "'status': 'new'" in rows[0]["dedup"]
    where = subprocess.run(
        [sys.executable, "-c", "import shingling; print(shingling.__file__)"],
        cwd=project,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert where.startswith(str(site_packages)), "the wheel, not the checkout, was tested"
    status = scrapy("dedup", "status").stdout
    assert "1 (0 exact, 1 near)" in status
