"""Score the plugin's verdicts on crawls of labelled pages.

The pages of a set are crawled by the spider `archive` under URLs of their own sites, in the
order of the manifest, with the plugin. A page is flagged if it is an exact or near duplicate of
an original by resemblance, also if it is kept for what its text says itself.

A page must be found if it is alike enough to an earlier one; `false` are pages flagged with an
original less than half alike. Alike is measured by 5-word shingles: of hand-made texts (waddle,
gold-articles), of whole pages without their navigation (handbook-languages), else of the main texts
as trafilatura extracts them by default. Precision is the share of flagged pages that are not false,
recall that of pages to be found that are flagged. `other key` counts flagged pages whose original
is another page by its title, path or group.
The sites of waddle and the groups of gold-articles are in two halves: the plugin is tuned on the
even ones.

    python -m benchmarks.verdicts [--data DIR] [--sets waddle,...] [--pages N]
        [-s DEDUP_THRESHOLD=0.4]
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, NamedTuple

from benchmarks.data import data_folder
from benchmarks.processes import run_scrapy
from benchmarks.report import Target, chosen, options_of, show
from benchmarks.verdict_sets import (
    ALL,
    EVEN,
    ODD,
    VERDICT_SETS,
    Truth,
    asked_share,
    false_pairs,
    labelled_pages,
    missed_pairs,
    score,
    texts_of,
    write_warc,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from benchmarks.verdict_sets import Flags, LabelledPage

# Set, figure, and what it is to be at least; without it, none at all.
TARGETS = (
    ("waddle", "precision", 0.98),
    ("waddle", "recall", 0.95),
    ("installation-guide", "recall", 0.99),
    ("installation-guide", "false", None),
    ("llvm-docs", "false", None),
    ("trafilatura-eval", "false", None),
    ("article-extraction", "false", None),
    ("gold-articles", "precision", 0.93),
    ("gold-articles", "recall", 0.92),
    ("debian-docs", "recall", 0.95),
    ("gimp-help", "recall", 0.93),
    ("django", "recall", 0.95),
    ("django", "false", None),
    ("handbook-languages", "recall", 0.92),
)


def crawl(warc: Path, pages: Sequence[LabelledPage], store: Path, *settings: str) -> Flags:
    """Crawl pages into a store, and return the flagged ones.

    Args:
        warc: the pages.
        pages: the same ones.
        store: a file that is not there yet.
        settings: further arguments, such as `-s`, `DEDUP_THRESHOLD=0.6`.
    """
    feed = store.with_suffix(".jsonl")
    run_scrapy(
        *("archive", "-a", f"path={warc}", "-O", str(feed)),
        *("-s", f"DEDUP_STORE_URL=sqlite:///{store}", "-s", "DEDUP_ACTION=tag", *settings),
    )
    number_of = {page.url: number for number, page in enumerate(pages)}
    flags = {}
    for line in feed.read_bytes().splitlines():
        item = json.loads(line)
        verdict = item["dedup"]
        if verdict["status"] in ("exact", "near") and verdict["reason"] != "other_fields":
            flags[number_of[item["url"]]] = number_of[verdict["original"]]
    return flags


class Measured(NamedTuple):
    """What a set comes to: its truth, the flagged pages, and the share that trafilatura reads."""

    truth: Truth
    flags: Flags
    asked: float


def measure(folder: Path, name: str, most: int | None, settings: Sequence[str]) -> Measured:
    """Crawl the first pages of a set (None is all), with arguments of `scrapy crawl`."""
    pages = labelled_pages(folder, name, most)
    with TemporaryDirectory() as temporary:
        warc, store = Path(temporary) / "pages.warc", Path(temporary) / "dedup.db"
        write_warc(warc, pages)
        flags = crawl(warc, pages, store, *settings)
    texts, asked = texts_of(name, pages), asked_share(pages)
    pages = [replace(page, body=b"") for page in pages]  # they are large
    return Measured(Truth(pages, texts, VERDICT_SETS[name].must_find), flags, asked)


def _share(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def show_set(name: str, measured: Measured) -> None:
    """Print the table of a set."""
    truth = measured.truth
    tally = score(measured.flags, truth)[ALL]
    counts = (tally.flagged, tally.false, tally.other_key, tally.must_find, tally.found)
    shares = map(_share, (tally.precision, tally.recall))
    show(
        ("flagged", "false", "other key", "to find", "found", "P", "R", "to trafilatura"),
        [(*counts, *shares, f"{measured.asked:.1%}")],
        f"\n{name}: {len(truth.pages)} pages; to find: {VERDICT_SETS[name].truth}",
    )


def show_pairs(truth: Truth, pairs: Iterable[tuple[int, int]]) -> None:
    """Print pages, each with another one, and how alike they are."""
    for page, other in pairs:
        alike = truth.resemblance(page, other)
        print(f"  {alike:.3f}  {truth.pages[page].file}  {truth.pages[other].file}")


def show_targets(results: dict[str, Measured]) -> None:
    """Print which targets are met, and the pages that those are missed by."""
    print("\ntargets")
    for name, figure, least in TARGETS:
        if name not in results:
            continue
        truth, flags, _ = results[name]
        tallies = score(flags, truth)
        met = True
        for group in (ALL, EVEN, ODD):
            value = getattr(tallies[group], figure) if group in tallies else None
            if value is not None:  # there is no share of nothing
                target = Target(f"{name}, {group}: {figure}", value, least or 0, bool(least))
                print(target)
                met &= target.met
        if not met:
            print(f"{name}: {'not found' if figure == 'recall' else 'false'}")
            pairs = missed_pairs if figure == "recall" else false_pairs
            show_pairs(truth, pairs(flags, truth))


def main() -> None:
    """Print the tables."""
    parser = options_of(__doc__, data=True)
    parser.add_argument("--sets", default=",".join(VERDICT_SETS), help="with commas between")
    parser.add_argument("--pages", type=int, help="the first pages of each set only")
    parser.add_argument("-s", dest="settings", action="append", default=[], help="of the crawl")
    options = parser.parse_args()
    names = chosen(parser, options.sets, VERDICT_SETS)
    settings = [part for value in options.settings for part in ("-s", value)]
    folder = data_folder(options.data)
    results = {}
    for name in names:
        results[name] = measure(folder, name, options.pages, settings)
        show_set(name, results[name])
    show_targets(results)


if __name__ == "__main__":
    main()
