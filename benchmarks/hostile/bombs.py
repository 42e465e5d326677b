"""Pages made to take long, each among ordinary ones: what these notice of it."""

from __future__ import annotations

import shutil
import time
from functools import partial
from itertools import product
from typing import TYPE_CHECKING, NamedTuple

from benchmarks.hostile.project import Project, number_of, watched
from benchmarks.hostile.server import Reply, serving
from benchmarks.hostile.spider import PAUSE
from benchmarks.report import Target, number
from tests.hostile.bombs import BOMBS
from tests.support.pages import article, html

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

    from benchmarks.hostile.project import Events

ORDINARY = 200
SIZE = 8_000_000  # bytes of a bomb: below what DEDUP_MAX_BYTES lets in
_PLACES = (40, 120)  # among the ordinary pages: under a second URL, the same bytes come again
_BOMBS = (ORDINARY, ORDINARY + 1)  # numbers, which follow those of the ordinary pages
_WORDS = 300
_LONGEST = 900  # seconds of a crawl
_DIED = 9e9  # where there is no figure


def _repeated(unit: str, size: int) -> bytes:
    raw = unit.encode()
    return raw * (size // len(raw))


def _marks(size: int) -> bytes:
    return b"a" + "\u0301".encode() * (size // 4) + "\u0316".encode() * (size // 4)


TEXTS: dict[str, Callable[[int], bytes]] = {
    "combining marks": _marks,
    "U+FDFA": partial(_repeated, "\ufdfa"),
    "one word": partial(_repeated, "a"),
    "one-letter words": partial(_repeated, "a "),
    "one-letter lines": partial(_repeated, "a\n"),
    "other words": lambda size: b" ".join(b"w%07d" % n for n in range(size // 9)),
    "other lines": lambda size: b"\n".join(b"w%07d" % n for n in range(size // 9)),
    "dots": partial(_repeated, "."),
    "Chinese": partial(_repeated, "\u6587"),
    "jamo": partial(_repeated, "\u1112\u1161\u11ab"),
    "NULs": partial(_repeated, "\0"),
    "spaces": partial(_repeated, " "),
    "markup": partial(_repeated, "<p>a"),
}
"""Texts that items bring in a field of their own."""

NONE = "(none)"
"""A page as the others are, for comparison."""

ALL: dict[str, tuple[str, Callable[[int], bytes]]] = {
    NONE: ("page", lambda _: html(article(0, _WORDS), "No bomb").encode()),
    **{name: ("page", make) for name, make in BOMBS.items()},
    **{f"text: {name}": ("text", make) for name, make in TEXTS.items()},
    **{f"html: {name}": ("html", BOMBS[name]) for name in ("br", "p", "marks", "attributes")},
}
"""All bombs by name: how the spider uses them, and what makes them."""

COLUMNS = (
    *("bomb", "extractor", "workers", "lag p50", "p99", "max ms", "wait s", "worker MB"),
    *("crawl MB", "s", "verdict", "the second time"),
)


class Result(NamedTuple):
    """What the ordinary pages of a crawl have noticed of a bomb.

    Args:
        bomb: its name, the extractor and the workers.
        lags: milliseconds of the event loop, p50, p99 and max, since the bomb has arrived.
        wait: seconds that an ordinary page has waited at most, from its response to its end.
        worker: MB of the largest worker.
        crawl: MB of the process of the crawl.
        seconds: of the crawl.
        verdicts: on the bomb, each time.
        lost: pages without an end.
    """

    bomb: tuple[str, str, str]
    lags: tuple[float, float, float]
    wait: float
    worker: float
    crawl: float
    seconds: float
    verdicts: list[str]
    lost: int

    @property
    def row(self) -> tuple[str, ...]:
        """The figures of the table."""
        figures = (*self.lags, self.wait, self.worker, self.crawl, self.seconds)
        return (*self.bomb, *map(number, figures), *self.verdicts)


def lags_of(events: Events, since: float) -> tuple[float, float, float]:
    """Milliseconds that the event loop is late: p50, p99 and max of all moments since one.

    A loop that is held for a second is late for everything that was due in it: such a look counts
    as often as there would have been looks.
    """
    pause = 1000 * PAUSE
    late = [
        lag - held * pause
        for event in events["lags"]
        if event["at"] >= since
        for lag in event["ms"]
        for held in range(1 + int(lag / pause))
    ]
    if not late:
        return (_DIED, _DIED, _DIED)
    late.sort()
    return late[len(late) // 2], late[int(0.99 * len(late))], late[-1]


def run(
    folder: Path,
    names: Iterable[str],
    extractors: Iterable[str],
    workers: Iterable[str],
    size: int = SIZE,
) -> Iterator[Result]:
    """Crawl each bomb in each way; all ways of one before the next."""
    body = b""

    def answer(url: str) -> Reply:
        page = number_of(url)
        if page in _BOMBS:
            return Reply(body)
        return Reply(html(article(page + 1, _WORDS), f"Page {page}").encode())

    with serving(answer) as proxy:
        for bomb in product(names, extractors, workers):
            use, make = ALL[bomb[0]]
            body = make(size)
            project = Project(folder / "crawl", proxy)
            project.list_urls(_listed(use))
            yield _crawled(bomb, project)
            shutil.rmtree(project.folder)


def _crawled(bomb: tuple[str, str, str], project: Project) -> Result:
    """Crawl ordinary pages with a bomb among them, twice."""
    began = time.monotonic()
    crawling = project.crawl(*bomb[1:])
    crawl, worker = watched(crawling, _LONGEST)
    seconds = time.monotonic() - began
    events = project.events()
    responses = {event["number"]: event["at"] for event in events["response"]}
    ends = {event["number"]: event for kind in ("out", "dropped") for event in events[kind]}
    first = min((responses[n] for n in _BOMBS if n in responses), default=0.0)
    waits = [ends[n]["at"] - responses[n] for n in range(ORDINARY) if n in ends]
    verdicts = [
        " ".join(filter(None, (ends[n]["status"], ends[n]["reason"]))) if n in ends else "LOST"
        for n in _BOMBS
    ]
    return Result(
        bomb,
        lags=lags_of(events, first),
        wait=max(waits, default=_DIED),
        worker=worker,
        crawl=crawl,
        seconds=seconds,
        verdicts=verdicts,
        lost=ORDINARY + len(_BOMBS) - len(ends),
    )


def _listed(use: str) -> Iterator[tuple[int, str, str]]:
    for page in range(ORDINARY):
        if page in _PLACES:
            bomb = _BOMBS[_PLACES.index(page)]
            yield bomb, f"http://bomb{bomb}.example/{bomb}", use
        yield page, f"http://site{page % 20}.example/{page}", "page"


def targets(results: Sequence[Result], worker_megabytes: float) -> list[Target]:
    """Return the figures that must be met, of the worst crawl with a bomb.

    Crawls are short: that the event loop is late at their start, while modules are imported and
    Scrapy makes tasks for many responses at once, is seen without a bomb as well.
    """
    plain = max(one.lags[1] for one in results if one.bomb[0] == NONE)
    late = max(one.lags[1] for one in results) - plain
    return [
        Target("event loop, p99 ms more than without a bomb", late, 50),
        Target("event loop, max ms", max(one.lags[2] for one in results), 1000),
        Target("longest wait of an ordinary page, s", max(one.wait for one in results), 5),
        Target("largest worker, MB", max(one.worker for one in results), worker_megabytes),
        Target("pages without an end", sum(one.lost for one in results), 0),
    ]
