"""Whether a store survives `kill -9` at any moment of a crawl, a hundred times.

Crawls of pages in groups of near-duplicates are killed, all their processes at once, at random
moments, and started again. After each kill the store must be in order, have no page less than
before, and have every page whose item had already come out. After a few kills the crawl is left
to its end; then the store must be that of crawls which nobody killed. Then the pages change, and
all of it goes on; and then it begins anew with an empty store.

    python -m benchmarks.faults [--kills 100] [--databases sqlite,postgres] [--json FILE]
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import sqlite3
import sys
import tempfile
import time
from abc import ABC, abstractmethod
from collections import Counter
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table

from tests.support.crawls import Crawling
from tests.support.invariants import broken, verify
from tests.support.pages import article, html
from tests.support.postgres import Server, own_server
from tests.support.stores import rows_of

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parent.parent
GROUPS = 75
WORDS = 120
VERSIONS = 2
KILLS = 5  # of each crawl, before it is left to its end
SITE = "https://example.org/"
DECIDED = {"new", "exact", "near", "unchanged", "changed"}
PAGES = """
    SELECT page.url, page.status, page.resemblance, original.url FROM pages AS page
    LEFT JOIN pages AS original ON original.id = page.original_id
"""


def texts(group: int, version: int) -> Iterator[str]:
    """Yield the texts of a group: an original, a copy and two that end in other words.

    In the second version, originals or copies of some groups have gone elsewhere.
    """
    own = article(group + 1, WORDS)
    ends = [own.rsplit(" ", 4)[0] + f" and the end of number {name}" for name in ("one", "two")]
    found = [own, own, *ends]
    if version and group % 3 == 0:
        found[0] = article(group + 10_001, WORDS)
    elif version and group % 3 == 1:
        found[1], found[2] = ends[1], article((group + 7) % GROUPS + 1, WORDS)
    yield from found


def write_pages(folder: Path, version: int) -> None:
    """Write the pages of a version; those of a group are far from each other."""
    for group in range(GROUPS):
        for number, text in enumerate(texts(group, version)):
            file = folder / f"{number}-{group:03}.html"
            file.write_text(html(text, f"Page {number} of {group}"), encoding="utf-8")


class Place(ABC):
    """A database in which stores are made, one after the other."""

    @abstractmethod
    def make(self) -> None:
        """Begin a new store."""

    @abstractmethod
    def url(self) -> str:
        """Return the URL of the store."""

    @abstractmethod
    def rows(self, statement: str) -> list[tuple[Any, ...]]:
        """Return what a statement finds in the store; nothing where there is none yet."""

    @abstractmethod
    def wrong(self, *, changed: bool) -> list[str]:
        """Return what must not be so; counts of runs tell less where pages have changed."""

    def count(self, table: str) -> int:
        """Return the number of rows of a table."""
        rows = self.rows(f"SELECT count(*) FROM {table}")  # noqa: S608 (our own tables)
        return int(rows[0][0]) if rows else 0

    def content(self) -> list[tuple[Any, ...]]:
        """Return what is stored of all pages, but for numbers and times."""
        return sorted(self.rows(PAGES), key=str)


class InSqlite(Place):
    """Stores in files."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._number = 0

    @property
    def _file(self) -> Path:
        return self._folder / f"dedup-{self._number}.db"

    def make(self) -> None:
        """Begin a new file."""
        for file in self._folder.glob("dedup-*.db*"):
            file.unlink()
        self._number += 1

    def url(self) -> str:
        """Return the URL of the file."""
        return f"sqlite:///{self._file}"

    def rows(self, statement: str) -> list[tuple[Any, ...]]:
        """Return what a statement finds."""
        try:
            return rows_of(self._file, statement) if self._file.exists() else []
        except sqlite3.OperationalError as error:
            if "no such table" in str(error) or "locked" in str(error):
                return []
            raise

    def wrong(self, *, changed: bool) -> list[str]:  # noqa: ARG002 (as inherited)
        """Return what the tests' own check finds."""
        if not self.rows("SELECT id FROM scheme"):
            return [] if self.count("pages") == 0 else ["pages without a scheme"]
        try:
            verify(self._file)
        except AssertionError as error:
            return [str(error)[:300]]
        return []


class InPostgres(Place):
    """Stores in databases of a server."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._database = ""

    def make(self) -> None:
        """Begin a new database."""
        self._database = self._server.database()

    def url(self) -> str:
        """Return the URL of the database."""
        return self._server.url(self._database)

    def rows(self, statement: str) -> list[tuple[Any, ...]]:
        """Return what a statement finds."""
        ((there,),) = self._server.run("SELECT to_regclass('scheme') IS NOT NULL", self._database)
        return self._server.run(statement, self._database) if there else []

    def wrong(self, *, changed: bool) -> list[str]:
        """Return what statements find that must find nothing."""
        if not self.count("scheme"):
            return []
        return broken(self._server, self._database, counts=not changed)


@dataclass
class Figures:
    """What came of the kills in one database."""

    kills: int = 0
    survived: int = 0  # crawls that had ended before they were to be killed
    decided: list[int] = field(default_factory=list)  # pages by the crawl that was killed
    items: int = 0  # that had come out, and can be looked for
    lost: int = 0
    wrong: list[str] = field(default_factory=list)
    compared: int = 0
    equal: bool = True

    def shown(self) -> dict[str, object]:
        """Return the figures as they are printed."""
        pages = 4 * GROUPS
        moments = Counter(4 * number // pages for number in self.decided if 0 < number < pages)
        return {
            "kills": self.kills,
            "before the first page": self.decided.count(0),
            **{f"in quarter {part + 1} of the pages": moments[part] for part in range(4)},
            "after the last page": self.decided.count(pages),
            "items that had come out": self.items,
            "pages lost": self.lost,
            "stores out of order": len(self.wrong),
            "stores compared with ones of no kill": self.compared,
            "equal": self.equal,
        }


class Killer:
    """Crawls and kills, in one database.

    Args:
        place: of the stores.
        folder: for pages and logs.
        chance: of the moments.
    """

    def __init__(self, place: Place, folder: Path, chance: random.Random) -> None:
        self._place = place
        self._folder = folder
        self._chance = chance
        self._items = folder / "items.jsonl"
        self.figures = Figures()

    def run(self, kills: int) -> Figures:
        """Kill crawls until there were enough, and return what came of it."""
        place = self._place
        place.make()
        expected, times = [], []
        for version in range(VERSIONS):
            crawling = self._start(version)
            began = time.monotonic()
            first = self._first_page(crawling, version) - began
            self._end(crawling)
            times.append((first, time.monotonic() - began - first))
            expected.append(place.content())
        while self.figures.kills < kills:
            place.make()
            for version, (first, rest) in enumerate(times):
                # One while the store is opened or has been; then each later than the one before,
                # so that all meet pages that are not decided.
                count = min(KILLS, kills - self.figures.kills)
                parts = sorted(self._chance.random() for _ in range(count - 1))
                self._kill(version, self._chance.uniform(first / 2, first), early=True)
                for part in parts:
                    self._kill(version, part * rest)
                self._end(self._start(version))
                self._check(version)
                self.figures.compared += 1
                self.figures.equal &= place.content() == expected[version]
                if self.figures.kills >= kills:
                    break
        return self.figures

    def _start(self, version: int) -> Crawling:
        self._items.unlink(missing_ok=True)
        return Crawling(
            ROOT,
            *("-a", f"path={self._folder / str(version)}", "-a", f"base={SITE}"),
            *("-O", f"{self._items}", "-s", "DEDUP_ACTION=tag", "-s", "DEDUP_WORKERS=2"),
            *("-s", f"DEDUP_STORE_URL={self._place.url()}", "-s", "LOG_LEVEL=WARNING"),
            command=("-m", "scrapy", "crawl", "archive"),
            logs=self._folder,
            forked=False,
        )

    def _first_page(self, crawling: Crawling, runs: int) -> float:
        """Wait until the crawl after so many others has decided a page; return that moment."""
        while crawling.process.poll() is None and self._decided(runs) == 0:
            time.sleep(0.02)
        return time.monotonic()

    def _decided(self, runs: int) -> int:
        """Return how many pages the crawl after so many others has decided."""
        counts = self._place.rows("SELECT counts FROM runs ORDER BY id")
        return sum(json.loads(counts[runs][0]).values()) if len(counts) > runs else 0

    def _end(self, crawling: Crawling) -> None:
        """Let a crawl run to its end.

        Raises:
            RuntimeError: it failed.
        """
        if crawling.wait(120) != 0 or crawling.log:
            raise RuntimeError(f"a crawl failed:\n{crawling.log[:2000]}")

    def _kill(self, version: int, after: float, *, early: bool = False) -> None:
        """Start a crawl, kill it after so many seconds, and look at the store.

        The seconds count from the first page that it decides, or `early`, from its start.
        """
        stored, runs = self._place.count("pages"), self._place.count("runs")
        crawling = self._start(version)
        if not early:
            self._first_page(crawling, runs)
        time.sleep(after)
        if crawling.process.poll() is not None:
            self.figures.survived += 1
            return
        os.killpg(crawling.process.pid, signal.SIGKILL)
        crawling.end()
        if crawling.log:
            self.figures.wrong.append(crawling.log[:300])
        self.figures.kills += 1
        self.figures.lost += max(stored - self._check(version), 0)
        self.figures.decided.append(self._decided(runs))

    def _check(self, version: int) -> int:
        """Look at the store and at the items that came out; return the number of pages."""
        urls = [url for (url,) in self._place.rows("SELECT url FROM pages")]
        out = set(self._out())
        self.figures.items += len(out)
        self.figures.lost += len(out.difference(urls))
        self.figures.wrong += self._place.wrong(changed=version > 0)
        return len(urls)

    def _out(self) -> Iterator[str]:
        """Yield the URLs of the items whose page was decided, of a feed that may break off."""
        if not self._items.exists():
            return
        for line in self._items.read_text(encoding="utf-8", errors="replace").splitlines(True):
            if line.endswith("\n"):
                item = json.loads(line)
                if item["dedup"]["status"] in DECIDED:
                    yield item["url"]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=100, help="in each database (default: 100)")
    parser.add_argument("--databases", default="sqlite,postgres")
    parser.add_argument("--seed", type=int, default=1, help="of the moments")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    figures: dict[str, Figures] = {}
    for database in options.databases.split(","):
        with ExitStack() as stack:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            for version in range(VERSIONS):
                (folder / str(version)).mkdir()
                write_pages(folder / str(version), version)
            place: Place
            if database == "postgres":
                place = InPostgres(stack.enter_context(own_server()))
            elif database == "sqlite":
                place = InSqlite(folder)
            else:
                parser.error(f"--databases: {database!r} is neither sqlite nor postgres")
            killer = Killer(place, folder, random.Random(options.seed))
            figures[database] = killer.run(options.kills)
    shown = {database: found.shown() for database, found in figures.items()}
    table = Table("", *shown, box=None)
    for name in next(iter(shown.values())):
        table.add_row(name, *(str(found[name]) for found in shown.values()))
    Console(width=100).print(table)
    for found in figures.values():
        for line in found.wrong:
            print(line, file=sys.stderr)
    if options.json:
        values = {database: vars(found) for database, found in figures.items()}
        options.json.write_text(json.dumps(values, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
