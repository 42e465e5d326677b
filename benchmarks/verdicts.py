"""Score the plugin's verdicts on crawls of labelled pages.

The pages of a set are crawled by the spider `archive` under URLs of their own sites, in the
order of the manifest, with the plugin. A page is flagged if it is an exact or near duplicate of
an original. Beside the plugin during the crawl: the same store after `scrapy dedup rebuild
--decide`, a crawl without templates of sites, what an inline pipeline of trafilatura and
datasketch flags (whatever its index returns, at two thresholds), and trafilatura's own Simhash.

A page must be found if it is alike enough to an earlier one; `false` are pages flagged with an
original less than half alike. Alike is measured by 5-word shingles: of the hand-made texts of
waddle, else of the main texts as trafilatura extracts them by default. Precision is the share
of flagged pages that are not false, recall that of pages to be found that are flagged.
`trapped` are pages flagged with one of another name that is made of the same template, `least`
the lowest resemblance of those. The sites of waddle are in two halves: the plugin is tuned on
the even ones.

    python -m benchmarks.verdicts [--data DIR] [--sets waddle,...] [--pages N]
                                  [--thresholds 0.5,...] [--cache DIR] [--json FILE]
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

import numpy as np
from datasketch import MinHash, MinHashLSH
from rich.console import Console
from rich.table import Table
from trafilatura.deduplication import Simhash

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
    resemblance,
    score,
    shingles,
    write_warc,
)
from shingling.store import Rules, Store

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from benchmarks.verdict_sets import Flags, LabelledPage, Tally

ROOT = Path(__file__).parent.parent
DEFAULT_CACHE = Path(gettempdir()) / "shingling-verdicts"
PLUGIN, REBUILT, WITHOUT = "plugin", "plugin, rebuilt", "plugin, no templates"
PEER_THRESHOLDS = (0.5, 0.8)
SIMHASH_BITS = 3
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
    """What a crawl said: flags, the resemblance to each original, the texts, the seconds."""

    flags: Flags
    measured: dict[int, float | None]
    texts: list[str]
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
    made = Crawl({}, {}, [""] * len(pages), float(seconds[1]))
    for line in feed.read_bytes().splitlines():
        item = json.loads(line)
        number, verdict = number_of[item["url"]], item["dedup"]
        made.texts[number] = item["text"] or ""
        if verdict["status"] in ("exact", "near"):
            made.flags[number] = number_of[verdict["original"]]
            made.measured[number] = verdict["resemblance"]
    return made


def rebuild(run: Crawl, pages: Sequence[LabelledPage], store: Path, rules: Rules) -> Crawl:
    """Have the pages of a crawl decided again, and return it with what is said then."""
    number_of = {page.url: number for number, page in enumerate(pages)}
    flags: Flags = {}
    measured = {}
    with Store.open(f"sqlite:///{store}", create=False) as stored:
        stored.admin.redecide(rules)
        for page in stored.pages():
            if page.original is not None:
                number = number_of[page.url]
                flags[number] = number_of[page.original]
                measured[number] = page.resemblance
    return replace(run, flags=flags, measured=measured)


def minhash(text: str) -> MinHash:
    """Return datasketch's sketch of the 5-word shingles of a text, as benchmarks/inline.py."""
    words = text.lower().split()
    sketch = MinHash(num_perm=128)
    sketch.update_batch(
        [" ".join(words[i : i + 5]).encode() for i in range(max(len(words) - 4, 1))]
    )
    return sketch


def inline_flags(sketches: Sequence[MinHash | None], threshold: float) -> Flags:
    """Return what a pipeline with `MinHashLSH` flags: pages like one that it has kept.

    Args:
        sketches: of the pages; None where there is no text.
        threshold: of the index.
    """
    index = MinHashLSH(threshold=threshold, num_perm=128)
    flags = {}
    for number, sketch in enumerate(sketches):
        if sketch is None:
            continue
        if found := index.query(sketch):
            # Of equal ones, the earliest.
            flags[number] = min(found, key=lambda at: (-sketch.jaccard(sketches[at]), at))
        else:
            index.insert(number, sketch)
    return flags


def simhash_flags(texts: Sequence[str]) -> Flags:
    """Return the pages whose trafilatura Simhash is near that of one that was kept."""
    kept = np.zeros(len(texts), dtype=np.uint64)
    numbers: list[int] = []
    flags = {}
    for number, text in enumerate(texts):
        if not text.strip():
            continue
        value = np.uint64(Simhash(text).hash)
        distances = np.bitwise_count(kept[: len(numbers)] ^ value)
        if numbers and distances.min() <= SIMHASH_BITS:
            flags[number] = numbers[int(distances.argmin())]
        else:
            kept[len(numbers)] = value
            numbers.append(number)
    return flags


@dataclass(frozen=True)
class Result:
    """The verdicts of all variants on the pages of a set."""

    truth: Truth
    flags: dict[str, Flags]
    crawls: dict[str, Crawl]

    def scores(self) -> dict[str, dict[str, Tally]]:
        """Return the figures by variant and group."""
        return {variant: score(flags, self.truth) for variant, flags in self.flags.items()}

    def seconds(self) -> dict[str, tuple[float, float]]:
        """Return the seconds of each crawl and of the same one without templates."""
        return {
            variant: (
                self.crawls[variant].seconds,
                self.crawls[variant.replace(PLUGIN, WITHOUT, 1)].seconds,
            )
            for variant in of_base(PLUGIN, self.crawls)
        }

    def as_dict(self) -> dict[str, Any]:
        """Return figures, seconds and flagged pairs."""
        files = [page.file for page in self.truth.pages]
        return {
            "pages": len(files),
            "seconds": self.seconds(),
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

    def described(self, pairs: Sequence[tuple[int, int, float]], variant: str) -> list[str]:
        """Return a line for each pair: pages, resemblance, and what the plugin compared."""
        run = self.crawls[variant]
        lines = []
        for page, other, alike in pairs:
            texts = resemblance(shingles(run.texts[page]), shingles(run.texts[other]))
            measured = run.measured.get(page) if run.flags.get(page) == other else None
            said = "" if measured is None else f", verdict {measured:.3f}"
            files = f"{self.truth.pages[page].file}  {self.truth.pages[other].file}"
            lines.append(f"  {alike:.3f} (texts of the plugin {texts:.3f}{said})  {files}")
        return lines


def _plugins(thresholds: Sequence[float]) -> list[tuple[str, tuple[str, ...], Rules]]:
    """Return name, settings and rules of the plugin at each threshold, or at its default."""
    if not thresholds:
        return [("", (), Rules())]
    return [
        (f" {threshold:g}", ("-s", f"DEDUP_THRESHOLD={threshold}"), Rules(threshold=threshold))
        for threshold in thresholds
    ]


def measure(
    folder: Path, name: str, most: int | None, thresholds: Sequence[float], cache: Path
) -> Result:
    """Crawl the first pages of a set by all variants.

    Args:
        folder: of the labelled data.
        name: of the set.
        most: so many pages; None is all.
        thresholds: of the plugin; none is its default.
        cache: folder for main texts.
    """
    pages = labelled_pages(folder, name, most)
    crawls: dict[str, Crawl] = {}
    with TemporaryDirectory() as temporary:
        warc = Path(temporary) / "pages.warc.gz"
        write_warc(warc, pages)
        for at, settings, rules in _plugins(thresholds):
            store = Path(temporary) / f"with{at.strip()}.db"
            run = crawl(warc, pages, store, *settings)
            crawls[PLUGIN + at] = run
            crawls[REBUILT + at] = rebuild(run, pages, store, rules)
            store = Path(temporary) / f"without{at.strip()}.db"
            off = ("-s", "DEDUP_TEMPLATES=False")
            crawls[WITHOUT + at] = crawl(warc, pages, store, *settings, *off)
    flags = {variant: run.flags for variant, run in crawls.items()}
    texts = main_texts(name, pages, cache)
    sketches = [minhash(text) if text.split() else None for text in texts]
    for peer_threshold in PEER_THRESHOLDS:
        flags[f"datasketch {peer_threshold:g}"] = inline_flags(sketches, peer_threshold)
    flags["trafilatura Simhash"] = simhash_flags(texts)
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


def groups_table(scores: dict[str, dict[str, Tally]]) -> Table:
    """Return the table of precision, recall and F1 by group and variant."""
    table = _columns("group (P R F1)", "pages", "to find", *scores)
    for group, tally in next(iter(scores.values())).items():
        cells = []
        for tallies in scores.values():
            shares = (tallies[group].precision, tallies[group].recall, tallies[group].f1)
            cells.append(" ".join(map(_share, shares)))
        table.add_row(group, str(tally.pages), str(tally.must_find), *cells)
    return table


def of_base(base: str, variants: Iterable[str]) -> list[str]:
    """Return the variants that are one of the plugin's, at whichever threshold."""
    return [variant for variant in variants if variant == base or variant.startswith(f"{base} ")]


def print_set(console: Console, name: str, result: Result) -> None:
    """Print the tables of a set, and the pairs of one where hardly any is expected."""
    scores, pages = result.scores(), result.truth.pages
    console.print(f"\n{name}: {len(pages)} pages; to find: {VERDICT_SETS[name].truth}")
    console.print(totals_table(scores))
    if len(next(iter(scores.values()))) > 1:
        console.print(groups_table(scores))
    for variant, (on, off) in result.seconds().items():
        console.print(
            f"seconds of the crawl, {variant}: templates on {on:.1f}, off {off:.1f}:"
            f" {on / off:.2f} times"
        )
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
        for variant in of_base(target.variant, result.flags):
            tallies = score(result.flags[variant], result.truth)
            for group in (ALL, EVEN, ODD):
                if group not in tallies:
                    continue
                value, met = getattr(tallies[group], target.figure), target.met(tallies[group])
                shown = _share(value) if target.least else value
                console.print(
                    f"{target.set}, {variant}, {group}: {target}: {shown}"
                    f" {'met' if met else 'missed'}"
                )
                if not met:
                    missed[target.set, variant, target.figure] = None
    for name, variant, figure in missed:
        result = results[name]
        pairs = missed_pairs if figure == "recall" else false_pairs
        console.print(f"\n{name}, {variant}: {'not found' if figure == 'recall' else 'false'}")
        for line in result.described(pairs(result.flags[variant], result.truth), variant):
            console.print(line)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", help="folder of the labelled data (default: DEDUP_DATA)")
    parser.add_argument("--sets", default=",".join(VERDICT_SETS), help="with commas between")
    parser.add_argument("--pages", type=int, help="the first pages of each set only")
    parser.add_argument("--thresholds", default="", help="of the plugin, with commas between")
    parser.add_argument("--cache", type=Path, default=DEFAULT_CACHE, help="for main texts")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    names = options.sets.split(",")
    if unknown := sorted(set(names) - set(VERDICT_SETS)):
        parser.error(f"no set {', '.join(unknown)}; known: {', '.join(VERDICT_SETS)}")
    thresholds = [float(threshold) for threshold in options.thresholds.split(",") if threshold]
    folder = data_folder(options.data)
    width = max(Console().width, _WIDTH)
    console = Console(width=width, highlight=False, markup=False, soft_wrap=True)
    results: dict[str, Result] = {}
    for name in names:
        results[name] = measure(folder, name, options.pages, thresholds, options.cache)
        print_set(console, name, results[name])
    print_targets(console, results)
    if options.json:
        shown = {name: result.as_dict() for name, result in results.items()}
        options.json.write_text(json.dumps(shown, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
