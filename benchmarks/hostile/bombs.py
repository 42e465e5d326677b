"""Pages made to take long, each among ordinary ones: what these notice of it."""

from __future__ import annotations

import shutil
import time
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from benchmarks.hostile.project import Events, Project, peaks_of
from benchmarks.hostile.server import Reply, serving
from benchmarks.hostile.spider import PAUSE
from benchmarks.report import Target
from tests.hostile.bombs import BOMBS
from tests.support.pages import article, html

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

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

ALL: dict[str, tuple[str, Callable[[int], bytes]]] = {
    **{name: ("page", make) for name, make in BOMBS.items()},
    **{f"text: {name}": ("text", make) for name, make in TEXTS.items()},
    **{f"html: {name}": ("html", BOMBS[name]) for name in ("br", "p", "marks", "attributes")},
}
"""All bombs by name: how the spider uses them, and what makes them."""

COLUMNS = (
    *("bomb", "extractor", "workers", "lag p50", "p99", "max ms", "wait s", "worker MB"),
    *("crawl MB", "s", "verdict", "the second time"),
)


@dataclass(frozen=True)
class Result:
    """What the ordinary pages of a crawl have noticed of a bomb.

    Args:
        lags: milliseconds of the event loop, p50, p99 and max, since the bomb has arrived.
        wait: seconds that an ordinary page has waited at most, from its response to its end.
        verdicts: on the bomb, each time.
        lost: pages without an end.
    """

    name: str
    extractor: str
    workers: str
    lags: tuple[float, float, float]
    wait: float
    worker: float
    crawl: float
    seconds: float
    verdicts: tuple[str, ...]
    lost: int

    @property
    def row(self) -> tuple[str, ...]:
        """The figures of the table."""
        figures = (*self.lags, self.wait, self.worker, self.crawl, self.seconds)
        texts = [f"{value:.{digits}f}" for value, digits in zip(figures, _DIGITS, strict=True)]
        return (self.name, self.extractor, self.workers, *texts, *self.verdicts)


_DIGITS = (1, 1, 0, 2, 0, 0, 1)


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


class Crawls:
    """Crawls of bombs.

    Args:
        folder: of the projects.
        size: of the bombs, bytes.
    """

    def __init__(self, folder: Path, size: int) -> None:
        self._folder = folder
        self._size = size
        self._body = b""

    def answer(self, url: str) -> Reply:
        """Answer with the bomb, or with an ordinary page."""
        number = int(urlsplit(url).path.rpartition("/")[2])
        if number >= ORDINARY:
            return Reply(self._body)
        return Reply(html(article(number + 1, _WORDS), f"Page {number}").encode())

    def run(self, proxy: str, name: str, extractor: str, workers: str) -> Result:
        """Crawl ordinary pages with a bomb among them, twice."""
        use, make = ALL[name]
        self._body = make(self._size)
        project = Project(self._folder / "crawl", proxy)
        project.list_urls(_listed(use))
        began = time.monotonic()
        crawling = project.crawl(extractor, workers)
        with peaks_of(crawling) as peaks:
            try:
                crawling.wait(_LONGEST)
            except AssertionError:
                crawling.end()
        seconds = time.monotonic() - began
        events = Events.read(project.events)
        shutil.rmtree(project.folder)
        responses = {event["number"]: event["at"] for event in events["response"]}
        ends = {event["number"]: event for kind in ("out", "dropped") for event in events[kind]}
        first = min((responses[n] for n in _BOMBS if n in responses), default=0.0)
        waits = [ends[n]["at"] - responses[n] for n in range(ORDINARY) if n in ends]
        return Result(
            *(name, extractor, workers, lags_of(events, first), max(waits, default=_DIED)),
            *(peaks.worker, peaks.crawl, seconds),
            tuple(_verdict(ends.get(number)) for number in _BOMBS),
            ORDINARY + len(_BOMBS) - len(ends),
        )


def _listed(use: str) -> Iterator[tuple[int, str, str]]:
    for number in range(ORDINARY):
        if number in _PLACES:
            bomb = _BOMBS[_PLACES.index(number)]
            yield bomb, f"http://bomb{bomb}.example/{bomb}", use
        yield number, f"http://site{number % 20}.example/{number}", "page"


def _verdict(end: dict[str, str] | None) -> str:
    return "LOST" if end is None else " ".join(filter(None, (end["status"], end["reason"])))


def run(
    folder: Path,
    names: Sequence[str],
    extractors: Sequence[str],
    workers: Sequence[str],
    size: int = SIZE,
) -> Iterator[Result]:
    """Crawl each bomb in each way; all ways of one before the next."""
    crawls = Crawls(folder, size)
    with serving(crawls.answer) as proxy:
        for name, extractor, number in product(names, extractors, workers):
            yield crawls.run(proxy, name, extractor, number)


def targets(results: Sequence[Result], worker_megabytes: float) -> list[Target]:
    """Return the figures that must be met, of the worst crawl with a bomb."""
    return [
        Target("event loop, p99 ms", max(one.lags[1] for one in results), 50),
        Target("event loop, max ms", max(one.lags[2] for one in results), 1000),
        Target("longest wait of an ordinary page, s", max(one.wait for one in results), 5),
        Target("largest worker, MB", max(one.worker for one in results), worker_megabytes),
        Target("pages without an end", sum(one.lost for one in results), 0),
    ]
