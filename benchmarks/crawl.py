"""Pages per second of a crawl: alone, with a pipeline written inline, and with the plugin.

The same pages are crawled by turns, by the spider `archive`, from an uncompressed file:

    scrapy       without any dedup
    inline       with what a user would write: `trafilatura.extract` and datasketch in a pipeline
    cold         with the plugin, into an empty store; items ask for no main text
    warm         the same again, into the store that `cold` has left
    text         the project as it is: its items ask for their main text, into an empty store

With `--half`, half of the pages are near-duplicates of the others.

Seconds are those from the opening of the spider to its end, the start of workers included.
CPU seconds are those of all processes. See `benchmarks.meter` for event loop and memory.

    python -m benchmarks.crawl [--set trafilatura-eval|installation-guide|...] [--pages N]
        [--rounds N] [--only cold,warm] [--spliced] [--half] [--data DIR]
        [-s NAME=VALUE]
"""

from __future__ import annotations

import argparse
import io
import json
import os
import random
import re
import resource
import statistics
import tarfile
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table

from benchmarks.data import data_folder, run_scrapy

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

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
# Pages per second of one variant / another, and the least that it is to be for pages of a kind:
# `half` where half of them are duplicates.
RATIOS: tuple[tuple[str, str, dict[str, float]], ...] = (
    ("cold", "inline", {"heavy": 8.0, "light": 4.0}),
    ("warm", "inline", {"heavy": 12.0, "light": 5.0}),
    ("text", "inline", {"heavy": 2.5, "half": 4.0}),
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
_GROWTH = 1.15  # of the memory, from 1,000 to 20,000 pages


def chosen_bodies(archive: Path, count: int) -> list[bytes]:
    """Return the bodies of so many pages, evenly spread over an archive."""
    with tarfile.open(archive) as tar:
        names = sorted(member.name for member in tar if member.isfile())
    count = min(count, len(names))
    wanted = {names[at * len(names) // count] for at in range(count)}
    with tarfile.open(archive) as tar:
        files = (tar.extractfile(member) for member in tar if member.name in wanted)
        return [file.read() for file in files if file is not None]


def spliced(bodies: Sequence[bytes], count: int) -> Iterator[bytes]:
    """Yield so many different pages: the bodies again and again, with words put in."""
    rnd = random.Random(7)
    words = sorted({word for body in bodies for word in re.findall(rb"[a-z]{4,9}", body)})
    for number in range(count):
        own = b" ".join(rnd.choices(words, k=300))
        yield bodies[number % len(bodies)].replace(b"</body>", b"<p>" + own + b"</p></body>")


def doubled(bodies: Sequence[bytes]) -> list[bytes]:
    """Put a near-duplicate of each page behind it, and leave out every second page."""
    return [
        body.replace(b"</body>", b"<p>%d</p></body>" % copy)
        for body in bodies[::2]
        for copy in range(2)
    ]


def write_archive(file: Path, bodies: Sequence[bytes]) -> None:
    """Write pages into an uncompressed archive, in the order that it is read in."""
    with tarfile.open(file, "w") as tar:
        for number, body in enumerate(bodies):
            member = tarfile.TarInfo(f"{number:06}.html")
            member.size = len(body)
            tar.addfile(member, io.BytesIO(body))


def crawl(variant: str, archive: Path, store: Path, settings: Sequence[str]) -> dict[str, float]:
    """Crawl an archive, and return the figures of the crawl."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    log = run_scrapy(
        *(*CRAWLS[variant], "-a", f"path={archive}"),
        *("-s", f"DEDUP_STORE_URL=sqlite:///{store}"),
        *("-s", "EXTENSIONS=" + json.dumps({"benchmarks.meter.Meter": 0}), *settings),
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    stats = {
        key: float(value)
        for key, value in re.findall(r"'([\w/]+)': ([\d.]+)(?=[,}]$)", log, re.MULTILINE)
    }
    pages = stats["response_received_count"]
    return {
        "pages/s": pages / stats["elapsed_time_seconds"],
        "cpu ms": 1000 * seconds / pages,
        **{key.removeprefix("meter/"): stats[key] for key in stats if key.startswith("meter/")},
    }


def measure(
    bodies: Sequence[bytes], variants: Sequence[str], rounds: int, settings: Sequence[str]
) -> dict[str, list[dict[str, float]]]:
    """Run the variants by turns; return the figures of each round."""
    figures: dict[str, list[dict[str, float]]] = {variant: [] for variant in variants}
    with tempfile.TemporaryDirectory() as folder:
        archive = Path(folder) / "pages.tar"
        write_archive(archive, bodies)
        for number in range(rounds):
            for variant, measured in figures.items():
                store = Path(folder) / f"{_STORES.get(variant, variant)}-{number}.db"
                measured.append(crawl(variant, archive, store, settings))
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


def judged(shown: dict[str, dict[str, float]], kind: str) -> list[tuple[str, float, str]]:
    """Return what is measured beside its target: name, figure, target."""
    found = []
    for one, other, targets in RATIOS:
        if one in shown and other in shown:
            ratio = shown[one]["pages/s"] / shown[other]["pages/s"]
            found.append(
                (f"{one} / {other}", ratio, f">= {targets[kind]}" if kind in targets else "")
            )
    if "cold" in shown:
        cold = shown["cold"]
        for name, described, most in LIMITS:
            if name in cold:
                target = f"<= {most[kind]:g}" if kind in most else ""
                found.append((f"{described} (cold)", cold[name], target))
        if "mb_at_20000" in cold:
            growth = cold["mb_at_20000"] / cold["mb_at_1000"]
            found.append(("memory, 20,000 / 1,000 pages", growth, f"<= {_GROWTH}"))
    return found


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--set", default="trafilatura-eval", help="of the labelled data")
    parser.add_argument("--pages", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", default=",".join(CRAWLS), help="some of the variants")
    parser.add_argument("--spliced", action="store_true", help="as many pages, made of 1,000")
    parser.add_argument("--half", action="store_true", help="of the pages are near-duplicates")
    parser.add_argument("--data", help="folder of the labelled data (default: DEDUP_DATA)")
    parser.add_argument("-s", action="append", default=[], dest="settings", metavar="NAME=VALUE")
    options = parser.parse_args()
    variants = options.only.split(",")
    if unknown := {*variants} - {*CRAWLS}:
        parser.error(f"no variant {', '.join(sorted(unknown))}: {', '.join(CRAWLS)}")
    archive = data_folder(options.data) / options.set / "html.tar.xz"
    bodies = chosen_bodies(archive, min(options.pages, 1000) if options.spliced else options.pages)
    if options.spliced:
        bodies = list(spliced(bodies, options.pages))
    if options.half:
        bodies = doubled(bodies)
    settings = [part for setting in options.settings for part in ("-s", setting)]
    shown = summary(measure(bodies, variants, options.rounds, settings))
    size = sum(map(len, bodies)) / len(bodies)
    kind = "half" if options.half else "light" if size < _LIGHT else "heavy"
    names = list(dict.fromkeys(name for one in shown.values() for name in one))
    table = Table("", *names, box=None)
    for variant, one in shown.items():
        table.add_row(variant, *(f"{one[name]:,.1f}" if name in one else "" for name in names))
    ratios = Table("", "figure", "target", box=None)
    for name, figure, target in judged(shown, kind):
        ratios.add_row(name, f"{figure:.2f}", target)
    console = Console(width=120)
    console.print(
        f"{options.set}: {len(bodies):,} {kind} pages of {size / 1000:.1f} kB, {options.rounds}"
        f" rounds (medians), {os.cpu_count()} cores",
        table,
        ratios,
        sep="\n",
    )


if __name__ == "__main__":
    main()
