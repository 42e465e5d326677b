"""What pip makes of a clone, and a user's own three-file project in an environment of its own."""

from __future__ import annotations

import csv
import os
import subprocess
import sys
import tarfile
import venv
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.support.installed import copy_source
from tests.support.pages import article, html
from tests.support.serving import serving

if TYPE_CHECKING:
    from subprocess import CompletedProcess

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


class Bare:
    """A Python environment with nothing in it but the pip that came with Python."""

    def __init__(self, folder: Path) -> None:
        venv.create(folder, with_pip=True)
        self._python = folder / ("Scripts" if sys.platform == "win32" else "bin") / "python"
        self._variables = {
            name: value
            for name, value in os.environ.items()
            if name not in ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV")
        }

    def ran(self, *arguments: str, cwd: Path, **environment: str) -> CompletedProcess[str]:
        """Run Python, and see that it ends well."""
        done = subprocess.run(
            [str(self._python), *arguments],
            cwd=cwd,
            env={**self._variables, **environment},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done


@pytest.fixture(scope="module", autouse=True)
def index(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Skip these tests where there is nothing to install from."""
    asked = subprocess.run(
        [
            *(sys.executable, "-m", "pip", "--retries", "0", "download", "--no-deps"),
            *("--dest", str(tmp_path_factory.mktemp("index")), "lxml_html_clean"),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    if asked.returncode:
        pytest.skip(f"no package index can be reached: {asked.stderr.strip()[-200:]}")


def test_it_installs_without_a_compiler_by_the_pip_of_python_and_works_in_a_project_of_three_files(
    tmp_path: Path,
) -> None:
    source, project = copy_source(tmp_path / "source"), tmp_path / "project"
    bare = Bare(tmp_path / "environment")
    # Of all that is installed, little is imported: to compile the rest takes longer than all else.
    pip = ("-m", "pip", "install", "--quiet", "--no-compile")
    bare.ran(*pip, str(source), cwd=tmp_path, CC="no-such-compiler")
    project.mkdir()
    where = bare.ran("-c", "import shingling; print(shingling.__file__)", cwd=project).stdout
    package = Path(where.strip()).parent
    assert package.is_relative_to(tmp_path / "environment"), "the wheel, not the checkout, is used"
    assert not [*package.rglob("_kernel*.so")]
    assert (package / "migrations" / "env.py").is_file()
    assert not (package.parent / "crawler").exists()
    for name, text in FILES.items():
        (project / name).write_text(text, encoding="utf-8")
    text = article(1)
    pages = {
        "/a": html(text, "First"),
        "/b": html(text.replace(text.split()[9], "edited", 1), "First"),
        "/c": html(article(2), "Third"),
    }
    scrapy = ("-W", "error::ResourceWarning", "-m", "scrapy")
    with serving(pages) as server:
        log = bare.ran(*scrapy, "crawl", "articles", "-a", f"site={server.url}", cwd=project).stderr
    assert "Traceback" not in log
    with (project / "articles.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["headline"] for row in rows] == ["FIRST", "THIRD"]
    assert "'status': 'new'" in rows[0]["dedup"]
    status = bare.ran(*scrapy, "dedup", "status", cwd=project).stdout
    assert "1 (0 exact, 1 near)" in status


_SUFFIXES = {".py", ".mako", ".txt", ".typed", ".html", ".css", ".js", ".svg"}


def test_a_wheel_made_from_the_source_distribution_has_everything(
    tmp_path: Path,
) -> None:
    source = copy_source(tmp_path / "source")
    # First the source distribution, then the wheel from what is in it.
    subprocess.run(
        [sys.executable, "-m", "build", str(source)], cwd=tmp_path, check=True, capture_output=True
    )
    [sdist], [wheel] = (source / "dist").glob("*.tar.gz"), (source / "dist").glob("*.whl")
    with tarfile.open(sdist) as packed:
        names = {name.partition("/")[2] for name in packed.getnames()}
    assert "shingling/kernel/_kernel.c" in names
    with zipfile.ZipFile(wheel) as packed:
        inside = {
            name
            for name in packed.namelist()
            if ".dist-info/" not in name and "_kernel." not in name
        }
    folders = {"shingling": "shingling", "migrations": "shingling/migrations"}
    expected = {
        (Path(there) / file.relative_to(source / here)).as_posix()
        for here, there in folders.items()
        for file in (source / here).rglob("*")
        if file.suffix in _SUFFIXES
    }
    assert inside == expected
