"""Pages per second of a crawl: alone, with a pipeline written inline, and with the plugin.

The same pages are crawled by turns, by the spider `archive`, from a folder, with Scrapy's default
numbers of requests and items at once (`-s` gives others):

    scrapy       without any dedup
    inline       with what a user would write: `trafilatura.extract` and datasketch in a pipeline
    cold         with the plugin, into an empty store; items ask for no main text
    warm         the same again, into the store that `cold` has left
    text         the project as it is: its items ask for their main text, into an empty store

Seconds are those from the opening of the spider to its end, the start of workers included.
CPU seconds are those of all processes. See `benchmarks.meter` for event loop and memory.

    python -m benchmarks.crawl [--set trafilatura-eval|installation-guide|...] [--pages N]
        [--rounds N] [--only cold,warm] [--data DIR] [-s NAME=VALUE]
"""

from __future__ import annotations

import json
import os
import resource
import statistics
import tarfile
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.data import bodies_of, data_folder
from benchmarks.processes import run_scrapy, stats_of
from benchmarks.report import Target, chosen, number, options_of, show

if TYPE_CHECKING:
    from collections.abc import Sequence

# The spider has more: no site has to be spared.
_SCRAPYS = ("-s", "CONCURRENT_REQUESTS=16", "-s", "CONCURRENT_REQUESTS_PER_DOMAIN=8")
_NO_PLUGIN = ("-s", "ADDONS={}")
_NO_MAIN_TEXT = ("-s", "DEDUP_FILL_FIELDS=title,language")
CRAWLS = {
    "scrapy": ["archive", *_NO_PLUGIN],
    "inline": [
        *("archive-inline", *_NO_PLUGIN),
        *("-s", "ITEM_PIPELINES=" + json.dumps({"benchmarks.inline.InlinePipeline": 250})),
        *("-s", "SPIDER_MODULES=crawler.spiders,benchmarks.inline"),
    ],
    "cold": ["archive", *_NO_MAIN_TEXT],
    "warm": ["archive", *_NO_MAIN_TEXT],
    "text": ["archive"],
}
_STORES = {"warm": "cold"}  # of other variants
# Pages per second of one variant / another, and the least that it is to be for pages of a kind.
RATIOS = (
    ("cold", "inline", {"heavy": 8.0, "light": 4.0}),
    ("warm", "inline", {"heavy": 12.0, "light": 5.0}),
    ("text", "inline", {"heavy": 2.5}),
)
# Figures of `cold`, and the most that they are to be for pages of a kind.
LIMITS = (
    ("own_ms", "CPU ms a page, the crawl's process", {"heavy": 5.0, "light": 4.0}),
    ("worker_ms", "CPU ms a page, workers", {"heavy": 6.0, "light": 2.0}),
    ("lag_p99", "event loop, p99 ms", {"heavy": 10.0, "light": 10.0}),
    ("lag_max", "event loop, max ms", {"heavy": 100.0, "light": 100.0}),
    ("peak_mb", "peak memory of all processes, MB", {"heavy": 250.0}),
)
_LIGHT = 40_000  # bytes of a page


def chosen_bodies(archive: Path, count: int) -> list[bytes]:
    """Return the bodies of so many pages, evenly spread over an archive."""
    with tarfile.open(archive) as tar:
        names = sorted(member.name for member in tar if member.isfile())
    count = min(count, len(names))
    wanted = {names[at * len(names) // count] for at in range(count)}
    return [*bodies_of(archive, wanted).values()]


def write_pages(folder: Path, bodies: Sequence[bytes]) -> None:
    """Write pages into a folder, with names in the order in which they are read."""
    folder.mkdir()
    for place, body in enumerate(bodies):
        (folder / f"{place:06}.html").write_bytes(body)


def crawl(variant: str, pages: Path, store: Path, settings: Sequence[str]) -> dict[str, float]:
    """Crawl a folder of pages, and return the figures of the crawl."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    log = run_scrapy(
        *(*CRAWLS[variant], "-a", f"path={pages}"),
        *("-s", f"DEDUP_STORE_URL=sqlite:///{store}"),
        *_SCRAPYS,
        *("-s", "EXTENSIONS=" + json.dumps({"benchmarks.meter.Meter": 0}), *settings),
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    stats = stats_of(log)
    received = stats["response_received_count"]
    return {
        "pages/s": received / stats["elapsed_time_seconds"],
        "cpu ms": 1000 * seconds / received,
        **{key.removeprefix("meter/"): stats[key] for key in stats if key.startswith("meter/")},
    }


def measure(
    bodies: Sequence[bytes], variants: Sequence[str], rounds: int, settings: Sequence[str]
) -> dict[str, list[dict[str, float]]]:
    """Run the variants by turns; return the figures of each round."""
    figures: dict[str, list[dict[str, float]]] = {variant: [] for variant in variants}
    with tempfile.TemporaryDirectory() as folder:
        pages = Path(folder) / "pages"
        write_pages(pages, bodies)
        for number in range(rounds):
            for variant, measured in figures.items():
                store = Path(folder) / f"{_STORES.get(variant, variant)}-{number}.db"
                measured.append(crawl(variant, pages, store, settings))
    return figures


def summary(figures: dict[str, list[dict[str, float]]]) -> dict[str, dict[str, float]]:
    """Return each variant's figures: of its rounds, the median."""
    return {
        variant: {
            name: statistics.median(one[name] for one in measured if name in one)
            for name in dict.fromkeys(name for one in measured for name in one)
        }
        for variant, measured in figures.items()
    }


def judged(shown: dict[str, dict[str, float]], kind: str) -> list[Target]:
    """Compare what is measured with its targets for pages of a kind."""
    found = []
    for one, other, least in RATIOS:
        if one in shown and other in shown and kind in least:
            ratio = shown[one]["pages/s"] / shown[other]["pages/s"]
            found.append(Target(f"{one} / {other}", ratio, least[kind], at_least=True))
    for name, described, most in LIMITS:
        if name in shown.get("cold", ()) and kind in most:
            found.append(Target(f"{described} (cold)", shown["cold"][name], most[kind]))
    return found


def main() -> None:
    """Print the tables."""
    parser = options_of(__doc__, data=True)
    parser.add_argument("--set", default="trafilatura-eval", help="of the labelled data")
    parser.add_argument("--pages", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", default=",".join(CRAWLS), help="some of the variants")
    parser.add_argument("-s", action="append", default=[], dest="settings", metavar="NAME=VALUE")
    options = parser.parse_args()
    variants = chosen(parser, options.only, CRAWLS)
    bodies = chosen_bodies(data_folder(options.data) / options.set / "html.tar.xz", options.pages)
    settings = [part for setting in options.settings for part in ("-s", setting)]
    shown = summary(measure(bodies, variants, options.rounds, settings))
    size = sum(map(len, bodies)) / len(bodies)
    kind = "light" if size < _LIGHT else "heavy"
    for one in shown.values():
        if "inline" in shown:
            one["/ inline"] = one["pages/s"] / shown["inline"]["pages/s"]
    names = list(dict.fromkeys(name for one in shown.values() for name in one))
    show(
        ("", *names),
        ((variant, *(number(one[name]) for name in names)) for variant, one in shown.items()),
        f"{options.set}: {len(bodies):,} {kind} pages of {size / 1000:.1f} kB, {options.rounds}"
        f" rounds (medians), {os.cpu_count()} cores",
    )
    print(*judged(shown, kind), sep="\n")


if __name__ == "__main__":
    main()
