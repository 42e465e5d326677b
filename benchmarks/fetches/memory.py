"""What the learner of one site takes: memory after so many pages, and time of each decision.

    python -m benchmarks.fetches.memory [--pages 100000] [--links 10,30]

All pages have other words and other links. Each is asked for under two session ids, so that half
of all requests are skipped once the rule is known.
"""

from __future__ import annotations

import argparse
import multiprocessing
import random
import statistics
import time

import numpy as np
import psutil

from shingling.sketch import Signature
from shingling.urls import FetchedPage, UrlLearner

_SITE = "http://site.example"
_MEGABYTE = 1e6
_MAX_MEGABYTES, _MAX_MEDIAN_MS, _MAX_MS = 50.0, 0.3, 2.0


def page_of(number: int, pages: int, links: int, dice: random.Random) -> FetchedPage:
    """Make a page of the site."""
    minima = np.frombuffer(dice.randbytes(336), np.uint32)
    return FetchedPage(
        url=f"{_SITE}/section-{number % 50}/article.php?id={number}&sid={number % 7}",
        signature=Signature(minima, dice.getrandbits(64), dice.randbytes(16), 400),
        links=tuple(
            f"{_SITE}/section-{other % 50}/article.php?id={other}&sid={number % 7}"
            for other in (dice.randrange(pages) for _ in range(links))
        ),
    )


def measure(pages: int, links: int) -> tuple[float, float, float, float]:
    """Note pages in a process of its own; MB, ms of decisions (median, most) and of a note."""
    dice = random.Random(20)
    memory = psutil.Process().memory_info
    learner = UrlLearner()
    before, decided, noted = memory().rss, [], []
    for number in range(pages):
        page = page_of(number, pages, links, dice)
        began = time.process_time()
        learner.note(page)
        noted.append(time.process_time() - began)
        again = page.url.replace("&sid=", "&sid=1")
        began = time.process_time()
        skip = learner.decide(again)
        decided.append(time.process_time() - began)
        if (skip is not None and skip.explore) or number < 200:
            learner.note(FetchedPage(again, signature=page.signature, links=page.links), skip)
    return (
        (memory().rss - before) / _MEGABYTE,
        1000 * statistics.median(decided),
        1000 * max(decided),
        1000 * statistics.median(noted),
    )


def main() -> None:
    """Print a line for each number of links, and whether the targets are met."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--pages", type=int, default=100_000)
    parser.add_argument("--links", default="10,30", help="of each page")
    options = parser.parse_args()
    with multiprocessing.get_context("spawn").Pool(1, maxtasksperchild=1) as pool:
        for links in map(int, options.links.split(",")):
            megabytes, median, most, note = pool.apply(measure, (options.pages, links))
            met = megabytes <= _MAX_MEGABYTES and median <= _MAX_MEDIAN_MS and most <= _MAX_MS
            print(
                f"{options.pages:,} pages, {links} links each: {megabytes:.1f} MB; a decision"
                f" {median:.3f} ms, at most {most:.2f}; a note {note:.3f} ms:"
                f" {'met' if met else 'missed'} (<= 50 MB, 0.3 and 2 ms)"
            )


if __name__ == "__main__":
    main()
