"""Projects as their users write them."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.support.crawls import Crawl, read_feed, run_scrapy
from tests.support.processes import PATIENCE
from tests.support.stores import rows_of

if TYPE_CHECKING:
    from collections.abc import Iterable
    from subprocess import CompletedProcess

_PROJECTS = Path(__file__).with_name("foreign")
_SETTINGS = """
SPIDER_MODULES = ["{name}.spiders"]
ADDONS = {{"shingling.Addon": 500}}
"""
_ERROR = re.compile(r"Traceback|\] (?:ERROR|CRITICAL)|/shingling/.*Warning", re.IGNORECASE)


class UserProject:
    """A copy of a project of the folder `foreign`, with what `scrapy startproject` makes.

    Args:
        name: of the project.
        folder: where the copy is made.
    """

    def __init__(self, name: str, folder: Path) -> None:
        self.folder = folder / name
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(_PROJECTS / name, self.folder, ignore=ignored)
        if (self.folder / name).is_dir():  # a script alone has neither
            (self.folder / "scrapy.cfg").write_text(f"[settings]\ndefault = {name}.settings\n")
            with (self.folder / name / "settings.py").open("a", encoding="utf-8") as settings:
                settings.write(_SETTINGS.format(name=name))

    def python(
        self, *arguments: str, folder: Path | None = None, **variables: str
    ) -> CompletedProcess[str]:
        """Run Python in the project or another folder; it must not say an error."""
        done = subprocess.run(
            [sys.executable, *arguments],
            cwd=folder or self.folder,
            env={**os.environ, **variables},
            capture_output=True,
            text=True,
            timeout=PATIENCE,
        )
        return _checked(done)

    def scrapy(self, *arguments: str, **variables: str) -> CompletedProcess[str]:
        """Run Scrapy in the project; it must not say an error."""
        return _checked(run_scrapy(self.folder, *arguments, **variables))

    def crawl(self, spider: str, site: str, *arguments: str) -> Crawl:
        """Run a spider, and return what came of it; workers, which take long, must be asked for."""
        fixed = ("-a", f"site={site}", "-O", "items.jsonl", "-s", "DEDUP_WORKERS=0")
        done = self.scrapy("crawl", spider, *fixed, *arguments)
        return Crawl(done.returncode, done.stderr, self.items())

    def items(self, feed: str = "items.jsonl") -> list[dict[str, Any]]:
        """Return the items of a feed."""
        return read_feed(self.folder / feed)

    def files(self) -> set[str]:
        """Return what is in the folder of the project, but for Python's own files."""
        paths = (path for path in self.folder.rglob("*") if path.is_file())
        names = (path.relative_to(self.folder).as_posix() for path in paths)
        return {name for name in names if "__pycache__" not in name}

    def stored(self) -> dict[str, list[Any]]:
        """Return the pages and runs of the store, with all that it says of them."""
        store = self.folder / "dedup.db"
        return {
            table: rows_of(store, f"SELECT * FROM {table} ORDER BY id")
            for table in ("pages", "runs")
        }


Projects = Callable[[str], UserProject]
"""What makes a copy of the project of a name."""


def _checked(done: CompletedProcess[str]) -> CompletedProcess[str]:
    assert done.returncode == 0, done.stderr
    assert not _ERROR.search(done.stderr), done.stderr
    return done


def warnings_in(crawl: Crawl) -> list[str]:
    """Return what the plugin warned of."""
    lines = crawl.log.splitlines()
    return [line for line in lines if re.search(r"\[shingling\S*\] WARNING", line)]


def values(items: Iterable[dict[str, Any]], field: str) -> list[Any]:
    """Return the values of a field in order."""
    return sorted(item[field] for item in items)
