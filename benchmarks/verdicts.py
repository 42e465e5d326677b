"""Score the plugin's verdicts on crawls of labelled pages.

The pages of a set are crawled by the spider `archive` under URLs of their own sites, in the
order of the manifest, with the plugin. A page is flagged if it is an exact or near duplicate of
an original.

A page must be found if it is alike enough to an earlier one; `false` are pages flagged with an
original less than half alike. Alike is measured by 5-word shingles: of the hand-made texts of
waddle, else of the main texts as trafilatura extracts them by default. Precision is the share
of flagged pages that are not false, recall that of pages to be found that are flagged.
`trapped` are pages flagged with one of another name that is made of the same template, `least`
the lowest resemblance of those. The sites of waddle are in two halves: the plugin is tuned on
the even ones.

    python -m benchmarks.verdicts [--data DIR] [--sets waddle,...] [--pages N]
                                  [-s DEDUP_THRESHOLD=0.4] [--cache DIR]
"""

from __future__ import annotations

import argparse
import json
import re
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table

from benchmarks.data import data_folder, run_scrapy
from benchmarks.verdict_sets import (
    ALL,
    EVEN,
    ODD,
    VERDICT_SETS,
    Truth,
    false_pairs,
    labelled_pages,
    main_texts,
    missed_pairs,
    score,
    write_warc,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchmarks.verdict_sets import Flags, LabelledPage, Tally

DEFAULT_CACHE = Path(gettempdir()) / "shingling-verdicts"
_WIDTH = 160


@dataclass(frozen=True)
class Target:
    """What is to be reached on a set: at least the share `least`; without it, none at all."""

    set: str
    figure: str
    least: float = 0.0

    def __str__(self) -> str:
        return f"{self.figure} >= {self.least}" if self.least else f"{self.figure} = 0"

    def met(self, tally: Tally) -> bool:
        """Return whether it is reached; a share of nothing is."""
        value = getattr(tally, self.figure)
        return value is None or (value >= self.least if self.least else value == 0)


TARGETS = (
    Target("waddle", "precision", 0.98),
    Target("waddle", "recall", 0.95),
    Target("installation-guide", "recall", 0.99),
    Target("installation-guide", "false"),
    Target("llvm-docs", "false"),
    Target("trafilatura-eval", "false"),
    Target("article-extraction", "false"),
)


@dataclass(frozen=True)
class Crawl:
    """What a crawl said: flags, and the seconds that it took."""

    flags: Flags
    seconds: float


def crawl(warc: Path, pages: Sequence[LabelledPage], store: Path, *settings: str) -> Crawl:
    """Crawl pages into a store.

    Args:
        warc: the pages.
        pages: the same ones.
        store: a file that is not there yet.
        settings: further arguments, such as `-s`, `DEDUP_THRESHOLD=0.6`.
    """
    feed = store.with_suffix(".jsonl")
    log = run_scrapy(
        *("archive", "-a", f"path={warc}", "-O", str(feed)),
        *("-s", f"DEDUP_STORE_URL=sqlite:///{store}", "-s", "DEDUP_ACTION=tag", *settings),
    )
    [seconds] = re.findall(r"'elapsed_time_seconds': ([\d.]+)", log)
    number_of = {page.url: number for number, page in enumerate(pages)}
    made = Crawl({}, float(seconds))
    for line in feed.read_bytes().splitlines():
        item = json.loads(line)
        number, verdict = number_of[item["url"]], item["dedup"]
        if verdict["status"] in ("exact", "near") and verdict["reason"] != "other_fields":
            made.flags[number] = number_of[verdict["original"]]
    return made


@dataclass(frozen=True)
class Result:
    """The verdicts on the pages of a set."""

    truth: Truth
    run: Crawl

    def scores(self) -> dict[str, Tally]:
        """Return the figures by group."""
        return score(self.run.flags, self.truth)


def measure(
    folder: Path, name: str, most: int | None, settings: Sequence[str], cache: Path
) -> Result:
    """Crawl the first pages of a set.

    Args:
        folder: of the labelled data.
        name: of the set.
        most: so many pages; None is all.
        settings: of the crawl, as arguments of `scrapy crawl`.
        cache: folder for main texts.
    """
    pages = labelled_pages(folder, name, most)
    with TemporaryDirectory() as temporary:
        warc, store = Path(temporary) / "pages.warc.gz", Path(temporary) / "dedup.db"
        write_warc(warc, pages)
        run = crawl(warc, pages, store, *settings)
    texts = main_texts(name, pages, cache)
    golds = [page.gold for page in pages]
    right = [text if gold is None else gold for gold, text in zip(golds, texts, strict=True)]
    pages = [replace(page, body=b"") for page in pages]  # they are large
    return Result(Truth(pages, right, VERDICT_SETS[name].must_find), run)


def _share(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def totals_table(tally: Tally) -> Table:
    """Return the table of all pages of a set."""
    names = ("flagged", "false", "to find", "found", "P", "R", "F1", "trapped", "least")
    table = Table(*names, box=None, pad_edge=False)
    counts = (tally.flagged, tally.false, tally.must_find, tally.found)
    shares = (tally.precision, tally.recall, tally.f1)
    trapped = (str(tally.trapped), _share(tally.least))
    table.add_row(*map(str, counts), *map(_share, shares), *trapped)
    return table


def print_set(console: Console, name: str, result: Result) -> None:
    """Print the table of a set, and the pairs of one where hardly any is expected."""
    pages = result.truth.pages
    console.print(f"\n{name}: {len(pages)} pages; to find: {VERDICT_SETS[name].truth}")
    console.print(totals_table(result.scores()[ALL]))
    console.print(f"seconds of the crawl: {result.run.seconds:.1f}")
    for page, other in sorted(result.run.flags.items()) if VERDICT_SETS[name].listed else ():
        alike = result.truth.resemblance(page, other)
        console.print(f"  {alike:.3f} {pages[page].file}  {pages[other].file}")


def print_targets(console: Console, results: dict[str, Result]) -> None:
    """Print which targets are met, and the pages that those are missed by."""
    console.print("\ntargets")
    missed: dict[tuple[str, str], None] = {}
    for target in TARGETS:
        tallies = results[target.set].scores() if target.set in results else {}
        for group in (ALL, EVEN, ODD):
            if group not in tallies:
                continue
            value, met = getattr(tallies[group], target.figure), target.met(tallies[group])
            shown = _share(value) if target.least else value
            console.print(f"{target.set}, {group}: {target}: {shown} {'met' if met else 'missed'}")
            if not met:
                missed[target.set, target.figure] = None
    for name, figure in missed:
        result = results[name]
        pairs = missed_pairs if figure == "recall" else false_pairs
        console.print(f"\n{name}: {'not found' if figure == 'recall' else 'false'}")
        pages = result.truth.pages
        for page, other, alike in pairs(result.run.flags, result.truth):
            console.print(f"  {alike:.3f}  {pages[page].file}  {pages[other].file}")


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", help="folder of the labelled data (default: DEDUP_DATA)")
    parser.add_argument("--sets", default=",".join(VERDICT_SETS), help="with commas between")
    parser.add_argument("--pages", type=int, help="the first pages of each set only")
    parser.add_argument("-s", dest="settings", action="append", default=[], help="of the crawl")
    parser.add_argument("--cache", type=Path, default=DEFAULT_CACHE, help="for main texts")
    options = parser.parse_args()
    names = options.sets.split(",")
    if unknown := sorted(set(names) - set(VERDICT_SETS)):
        parser.error(f"no set {', '.join(unknown)}; known: {', '.join(VERDICT_SETS)}")
    settings = [part for value in options.settings for part in ("-s", value)]
    folder = data_folder(options.data)
    width = max(Console().width, _WIDTH)
    console = Console(width=width, highlight=False, markup=False, soft_wrap=True)
    results: dict[str, Result] = {}
    for name in names:
        results[name] = measure(folder, name, options.pages, settings, options.cache)
        print_set(console, name, results[name])
    print_targets(console, results)


if __name__ == "__main__":
    main()
