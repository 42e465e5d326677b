"""Score the plugin's verdicts on crawls of labelled pages.

The pages of a set are crawled by the spider `archive` under URLs of their own sites, in the
order of the manifest, with the plugin. A page is flagged if it is an exact or near duplicate of
an original. Beside the plugin during the crawl: the same store after `scrapy dedup rebuild
--decide`.

A page must be found if it is alike enough to an earlier one; `false` are pages flagged with an
original less than half alike. Alike is measured by 5-word shingles: of the hand-made texts of
waddle, else of the main texts as trafilatura extracts them by default. Precision is the share
of flagged pages that are not false, recall that of pages to be found that are flagged.
`trapped` are pages flagged with one of another name that is made of the same template, `least`
the lowest resemblance of those. The sites of waddle are in two halves: the plugin is tuned on
the even ones.

    python -m benchmarks.verdicts [--data DIR] [--sets waddle,...] [--pages N]
                                  [-s DEDUP_THRESHOLD=0.4] [--cache DIR] [--json FILE]
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
from collections import defaultdict
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table

from benchmarks.data import data_folder
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
from shingling.rules.rules import Rules
from shingling.store import Store

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchmarks.verdict_sets import Flags, LabelledPage, Tally

ROOT = Path(__file__).parent.parent
DEFAULT_CACHE = Path(gettempdir()) / "shingling-verdicts"
PLUGIN, REBUILT = "plugin", "plugin, rebuilt"
_WIDTH = 160


@dataclass(frozen=True)
class Target:
    """What a variant is to reach on a set: at least the share `least`; without it, none at all."""

    set: str
    variant: str
    figure: str
    least: float = 0.0

    def __str__(self) -> str:
        return f"{self.figure} >= {self.least}" if self.least else f"{self.figure} = 0"

    def met(self, tally: Tally) -> bool:
        """Return whether it is reached; a share of nothing is."""
        value = getattr(tally, self.figure)
        return value is None or (value >= self.least if self.least else value == 0)


TARGETS = (
    Target("waddle", PLUGIN, "precision", 0.98),
    Target("waddle", PLUGIN, "recall", 0.95),
    Target("waddle", REBUILT, "precision", 0.98),
    Target("waddle", REBUILT, "recall", 0.98),
    Target("installation-guide", PLUGIN, "recall", 0.99),
    Target("installation-guide", PLUGIN, "false"),
    Target("llvm-docs", PLUGIN, "false"),
    Target("trafilatura-eval", PLUGIN, "false"),
    Target("article-extraction", PLUGIN, "false"),
)


@dataclass(frozen=True)
class Crawl:
    """What a crawl said: flags, the resemblance to each original, the seconds."""

    flags: Flags
    measured: dict[int, float | None]
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
    done = subprocess.run(
        [
            *(sys.executable, "-m", "scrapy", "crawl", "archive", "-a", f"path={warc}"),
            *("-O", str(feed), "-L", "INFO", "-s", f"DEDUP_STORE_URL=sqlite:///{store}"),
            *("-s", "DEDUP_ACTION=tag", *settings),
        ],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    seconds = re.search(r"'elapsed_time_seconds': ([\d.]+)", done.stderr)
    if done.returncode or seconds is None:
        raise SystemExit(done.stderr[-3000:])
    number_of = {page.url: number for number, page in enumerate(pages)}
    made = Crawl({}, {}, float(seconds[1]))
    for line in feed.read_bytes().splitlines():
        item = json.loads(line)
        number, verdict = number_of[item["url"]], item["dedup"]
        if verdict["status"] in ("exact", "near") and verdict["reason"] != "other_fields":
            made.flags[number] = number_of[verdict["original"]]
            made.measured[number] = verdict["resemblance"]
    return made


def rebuild(run: Crawl, pages: Sequence[LabelledPage], store: Path) -> Crawl:
    """Have the pages of a crawl decided again by its rules, and return what is said then."""
    number_of = {page.url: number for number, page in enumerate(pages)}
    flags: Flags = {}
    measured = {}
    with Store.open(f"sqlite:///{store}", create=False) as stored:
        [last] = stored.runs(1)
        stored.admin.redecide(Rules(threshold=float(str(last.settings["threshold"]))))
        for page in stored.pages():
            if page.original is not None:
                number = number_of[page.url]
                flags[number] = number_of[page.original]
                measured[number] = page.resemblance
    return replace(run, flags=flags, measured=measured)


@dataclass(frozen=True)
class Result:
    """The verdicts of all variants on the pages of a set."""

    truth: Truth
    flags: dict[str, Flags]
    crawls: dict[str, Crawl]

    def scores(self) -> dict[str, dict[str, Tally]]:
        """Return the figures by variant and group."""
        return {variant: score(flags, self.truth) for variant, flags in self.flags.items()}

    def as_dict(self) -> dict[str, Any]:
        """Return figures, seconds and flagged pairs."""
        files = [page.file for page in self.truth.pages]
        return {
            "pages": len(files),
            "seconds": {variant: run.seconds for variant, run in self.crawls.items()},
            "scores": {
                variant: {group: tally.as_dict() for group, tally in tallies.items()}
                for variant, tallies in self.scores().items()
            },
            "flagged": {
                variant: [
                    (files[page], files[other], self.truth.resemblance(page, other))
                    for page, other in sorted(flags.items())
                ]
                for variant, flags in self.flags.items()
            },
        }


def measure(
    folder: Path, name: str, most: int | None, settings: Sequence[str], cache: Path
) -> Result:
    """Crawl the first pages of a set, and decide them again.

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
        crawls = {PLUGIN: run, REBUILT: rebuild(run, pages, store)}
    flags = {variant: run.flags for variant, run in crawls.items()}
    texts = main_texts(name, pages, cache)
    golds = [page.gold for page in pages]
    right = [text if gold is None else gold for gold, text in zip(golds, texts, strict=True)]
    pages = [replace(page, body=b"") for page in pages]  # they are large
    return Result(Truth(pages, right, VERDICT_SETS[name].must_find), flags, crawls)


def _share(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _columns(*names: str) -> Table:
    table = Table(box=None, pad_edge=False)
    for name in names:
        table.add_column(name, justify="right" if table.columns else "left", no_wrap=True)
    return table


def totals_table(scores: dict[str, dict[str, Tally]]) -> Table:
    """Return the table of all pages of a set, by variant."""
    names = ("variant", "flagged", "false", "to find", "found", "P", "R", "F1", "trapped", "least")
    table = _columns(*names)
    for variant, tallies in scores.items():
        tally = tallies[ALL]
        counts = (tally.flagged, tally.false, tally.must_find, tally.found)
        shares = (tally.precision, tally.recall, tally.f1)
        trapped = (str(tally.trapped), _share(tally.least))
        table.add_row(variant, *map(str, counts), *map(_share, shares), *trapped)
    return table


def print_set(console: Console, name: str, result: Result) -> None:
    """Print the tables of a set, and the pairs of one where hardly any is expected."""
    scores, pages = result.scores(), result.truth.pages
    console.print(f"\n{name}: {len(pages)} pages; to find: {VERDICT_SETS[name].truth}")
    console.print(totals_table(scores))
    for variant, run in result.crawls.items():
        console.print(f"seconds of the crawl, {variant}: {run.seconds:.1f}")
    if VERDICT_SETS[name].listed:
        flagged = defaultdict(list)
        for variant, flags in result.flags.items():
            for pair in flags.items():
                flagged[pair].append(variant)
        for (page, other), variants in sorted(flagged.items()):
            alike = result.truth.resemblance(page, other)
            files = f"{pages[page].file}  {pages[other].file}"
            console.print(f"  {alike:.3f} {files}: {'; '.join(variants)}")


def print_targets(console: Console, results: dict[str, Result]) -> None:
    """Print which targets are met, and the pages that those are missed by."""
    console.print("\ntargets")
    missed: dict[tuple[str, str, str], None] = {}
    for target in TARGETS:
        if target.set not in results:
            continue
        result = results[target.set]
        variant = target.variant
        tallies = score(result.flags[variant], result.truth)
        for group in (ALL, EVEN, ODD):
            if group not in tallies:
                continue
            value, met = getattr(tallies[group], target.figure), target.met(tallies[group])
            shown = _share(value) if target.least else value
            console.print(
                f"{target.set}, {variant}, {group}: {target}: {shown} {'met' if met else 'missed'}"
            )
            if not met:
                missed[target.set, variant, target.figure] = None
    for name, variant, figure in missed:
        result = results[name]
        pairs = missed_pairs if figure == "recall" else false_pairs
        console.print(f"\n{name}, {variant}: {'not found' if figure == 'recall' else 'false'}")
        pages = result.truth.pages
        for page, other, alike in pairs(result.flags[variant], result.truth):
            console.print(f"  {alike:.3f}  {pages[page].file}  {pages[other].file}")


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", help="folder of the labelled data (default: DEDUP_DATA)")
    parser.add_argument("--sets", default=",".join(VERDICT_SETS), help="with commas between")
    parser.add_argument("--pages", type=int, help="the first pages of each set only")
    parser.add_argument("-s", dest="settings", action="append", default=[], help="of the crawl")
    parser.add_argument("--cache", type=Path, default=DEFAULT_CACHE, help="for main texts")
    parser.add_argument("--json", type=Path)
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
    if options.json:
        shown = {name: result.as_dict() for name, result in results.items()}
        options.json.write_text(json.dumps(shown, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
