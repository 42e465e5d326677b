"""Crawls and workers that are killed at random moments: nothing is lost.

Pages come in groups of four near-duplicates, far from each other and on several sites. A killed
crawl is repeated from the beginning, until it is left to its end after some kills; then the pages
must be in the same groups as after a crawl that nobody has disturbed (which page of a group is its
original depends on the order in which the server's answers come).
"""

from __future__ import annotations

import contextlib
import os
import random
import re
import shutil
import signal
import sqlite3
import time
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import psutil

from benchmarks.faults import PAGES, texts
from benchmarks.hostile.project import Events, Project, Target
from benchmarks.hostile.server import Reply, serving
from benchmarks.hostile.soundness import faults_of
from tests.support.pages import html
from tests.support.stores import rows_of

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.crawls import Crawling

COPIES = 4  # pages of a group
_KILLS = 5  # of crawls with one store, before one of them is left to its end
_LONGEST = 600  # seconds of a crawl
_SITES = 20
_START_SECONDS = 1.5  # of a worker
_PROBLEM = re.compile(r"^.*\] (?:WARNING|ERROR|CRITICAL): .*$", re.MULTILINE)
# A worker that is killed while it starts is not waited for.
_EXPLAINED = re.compile(r"A worker process did not start")


@dataclass
class Figures:
    """What came of the kills of one kind."""

    kills: int = 0
    missed: int = 0  # that came when the crawl had ended
    crawls: int = 0  # that were left to their end
    pages: int = 0
    undecided: int = 0  # pages kept without a verdict, because their worker was killed
    warnings: int = 0
    lost: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)

    @property
    def row(self) -> tuple[int, ...]:
        """The figures of the table."""
        return (
            *(self.kills, self.missed, self.crawls, self.pages, self.undecided, self.warnings),
            *(len(self.lost), len(self.wrong)),
        )


COLUMNS = (
    *("killed", "kills", "too late", "crawls", "pages", "undecided", "warnings", "lost", "wrong"),
)


def _url(number: int, groups: int) -> str:
    """URL of a page: no two of a group are on one site."""
    copy, group = divmod(number, groups)
    return f"http://site{(group + 7 * copy) % _SITES}.example/{groups}/{number}"


def answer(url: str) -> Reply:
    """Answer with a page; its URL names the number of groups and its own."""
    groups, number = map(int, urlsplit(url).path.split("/")[1:])
    copy, group = divmod(number, groups)
    text = [*texts(group, 0)][copy]
    return Reply(html(text, f"Page {copy} of {group}").encode())


class Killer:
    """Kills crawls, or their workers.

    Args:
        project: that crawls.
        chance: of the moments.
        groups: of pages.
    """

    def __init__(self, project: Project, chance: random.Random, groups: int) -> None:
        self._project = project
        self._chance = chance
        self._groups = groups
        self._urls = [_url(number, groups) for number in range(COPIES * groups)]
        project.list_urls((number, url, "page") for number, url in enumerate(self._urls))

    def crawls(self, kills: int) -> Figures:
        """Kill crawls until there were enough."""
        figures = Figures()
        self._project.forget()
        seconds = self._undisturbed()
        while figures.kills < kills:
            self._project.forget()
            out: set[str] = set()
            dropped: set[str] = set()
            for _ in range(min(_KILLS, kills - figures.kills)):
                crawling = self._project.crawl()
                time.sleep(self._chance.uniform(0.2, seconds))
                if crawling.process.poll() is None:
                    os.kill(crawling.process.pid, signal.SIGKILL)
                    figures.kills += 1
                else:
                    figures.missed += 1
                crawling.wait()
                if not crawling.all_gone():
                    figures.wrong.append("a worker has outlived its crawl")
                self._note(figures, crawling, out, dropped)
                figures.lost += self._not_stored(out)
            self._end(figures, out, dropped)
        return figures

    def workers(self, kills: int) -> Figures:
        """Kill workers of running crawls until there were enough."""
        figures = Figures()
        while figures.kills < kills:
            self._project.forget()
            crawling = self._project.crawl("-s", "DEDUP_WORKERS=2")
            while crawling.process.poll() is None:
                time.sleep(self._chance.uniform(0.02, 0.6))
                if figures.kills < kills and self._kill_worker(crawling):
                    figures.kills += 1
            self._check_ended(figures, crawling)
        return figures

    def _undisturbed(self) -> float:
        """Crawl without any kill; returns the seconds.

        Raises:
            RuntimeError: the pages were not in the groups that they were made in.
        """
        began = time.monotonic()
        crawling = self._project.crawl()
        if crawling.wait(_LONGEST) or self._grouped() != self._made_groups(self._urls):
            raise RuntimeError(f"a crawl without kills failed:\n{crawling.log[-2000:]}")
        return time.monotonic() - began

    def _end(self, figures: Figures, out: set[str], dropped: set[str]) -> None:
        """Let a crawl run to its end, and look at what is there then."""
        crawling = self._project.crawl()
        if crawling.wait(_LONGEST):
            figures.wrong.append(f"a repeated crawl failed: {crawling.log[-300:]}")
        figures.crawls += 1
        figures.pages += len(self._urls)
        self._note(figures, crawling, out, dropped)
        if self._grouped() != self._made_groups(self._urls):
            figures.wrong.append("the pages are not in the groups of a crawl without kills")
        originals = {url for url, _, _, original in self._rows() if original is None}
        figures.lost += [f"an original never came out: {url}" for url in originals - out]
        figures.lost += [f"an original was dropped: {url}" for url in originals & dropped]
        figures.wrong += faults_of(self._project.store)

    def _note(self, figures: Figures, crawling: Crawling, out: set[str], dropped: set[str]) -> None:
        """Take in what came out of a crawl, and what it has said."""
        events = Events.read(self._project.events)
        out |= {event["url"] for event in events["out"] if event["status"] != "skipped"}
        dropped |= {event["url"] for event in events["dropped"]}
        found = _PROBLEM.findall(crawling.log)
        figures.warnings += len(found)
        figures.wrong += [line[:300] for line in found if not _EXPLAINED.search(line)]

    def _check_ended(self, figures: Figures, crawling: Crawling) -> None:
        """Look at a crawl that has ended although its workers were killed."""
        if crawling.wait():
            figures.wrong.append(f"a crawl failed: {crawling.log[-300:]}")
        figures.crawls += 1
        figures.pages += len(self._urls)
        out: set[str] = set()
        dropped: set[str] = set()
        self._note(figures, crawling, out, dropped)
        events = Events.read(self._project.events)
        kept = {event["url"] for event in events["out"]}
        ends = Counter(event["url"] for kind in ("out", "dropped") for event in events[kind])
        figures.lost += [f"{url} ended {ends[url]} times" for url in self._urls if ends[url] != 1]
        for group in self._made_groups(self._urls):
            if not group & kept:
                figures.lost.append(f"nothing of a group came out: {sorted(group)}")
        for event in events["dropped"]:
            if self._group(event["url"]) != self._group(event["original"]):
                figures.wrong.append(f"dropped wrongly: {event}")
        decided = out | dropped
        figures.undecided += len(kept - decided)
        figures.lost += self._not_stored(decided)
        if self._grouped() != self._made_groups(sorted(decided)):
            figures.wrong.append("the pages that were decided are not in the groups that they are")
        figures.wrong += faults_of(self._project.store)

    def _kill_worker(self, crawling: Crawling) -> bool:
        """Kill one of the workers that there are; every other time, not one that starts."""
        born = time.time() - self._chance.choice((0, _START_SECONDS))
        workers = []
        with contextlib.suppress(psutil.Error):
            for child in psutil.Process(crawling.process.pid).children(recursive=True):
                ours = any("shingling" in part for part in child.cmdline())
                if ours and child.create_time() <= born:
                    workers.append(child)
        if not workers:
            return False
        with contextlib.suppress(psutil.Error):
            self._chance.choice(workers).kill()
        return True

    def _rows(self) -> list[tuple[str, str, float | None, str | None]]:
        """Read stored pages: URL, status, resemblance and original."""
        try:
            return rows_of(self._project.store, PAGES) if self._project.store.exists() else []
        except sqlite3.OperationalError as error:
            if "no such table" not in str(error):
                raise
            return []

    def _not_stored(self, urls: set[str]) -> list[str]:
        """List pages that came out, or were dropped, and are not in the store."""
        return [f"not stored: {url}" for url in urls.difference(row[0] for row in self._rows())]

    def _grouped(self) -> set[frozenset[str]]:
        """Return stored pages by their groups."""
        groups = defaultdict(set)
        for url, _, _, original in self._rows():
            groups[original or url].add(url)
        return {frozenset(group) for group in groups.values()}

    def _group(self, url: str) -> int:
        return int(url.rpartition("/")[2]) % self._groups

    def _made_groups(self, urls: list[str]) -> set[frozenset[str]]:
        """Pages by the groups that they were made in."""
        groups = defaultdict(set)
        for url in urls:
            groups[self._group(url)].add(url)
        return {frozenset(group) for group in groups.values()}


def run(folder: Path, pages: int, kills: int, seed: int) -> dict[str, Figures]:
    """Kill crawls of so many pages, and workers of crawls of twice as many."""
    chance = random.Random(seed)
    groups = max(pages // COPIES, 1)
    with serving(answer) as proxy:
        crawls = Killer(Project(folder / "crawls", proxy), chance, groups).crawls(kills)
        workers = Killer(Project(folder / "workers", proxy), chance, 2 * groups).workers(kills)
    shutil.rmtree(folder)
    return {"the crawl": crawls, "workers": workers}


def targets(found: dict[str, Figures]) -> list[Target]:
    """Return the figures that must be met."""
    return [
        target
        for name, figures in found.items()
        for target in (
            Target(f"kills of {name}: lost", len(figures.lost), 0),
            Target(f"kills of {name}: wrong", len(figures.wrong), 0),
            Target(f"kills of {name}: undecided pages", figures.undecided, figures.kills),
        )
    ]
