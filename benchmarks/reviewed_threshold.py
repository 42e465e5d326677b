"""Compare what 40 reviewed pairs tell of thresholds with the labels of all pairs.

The news pages of waddle are crawled into a store at the default settings. As a person would on the
page Threshold of `scrapy dedup serve`, the 40 pairs of a guided sample are reviewed in the store,
by the labels: two pages are the same where their hand-cleaned texts have a resemblance of at least
0.5. The store's candidates and these reviews give a recommended threshold with its precision and
recall and their 95 % intervals. Then the reviews are removed, and the next sample is drawn.

The truth is precision and recall of the same threshold on all candidates of the set, by their
labels: pages with the earlier page that looks most like them, at least 0.3 alike by estimate.
Nothing is tuned on this set here.

    python -m benchmarks.reviewed_threshold [--data DIR] [--samples 50] [--json FILE]
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.console import Console
from rich.table import Table

from benchmarks.data import data_folder
from benchmarks.verdict_sets import DIFFERENT, Truth, labelled_pages, write_warc
from benchmarks.verdicts import crawl
from shingling.rules.defaults import DEFAULT_THRESHOLD
from shingling.store import Store
from shingling.tuning.reviewed import (
    GUIDED_PAIRS,
    STRATUM_EDGES,
    THRESHOLDS,
    ReviewedPair,
    recommend,
    reviewed_quality,
    sample_pairs,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from shingling.store import CandidatePair
    from shingling.tuning.reviewed import Recommendation, ReviewedQuality, Share

    Labelled = Callable[[CandidatePair], bool]

SET = "waddle"
LEAST_HELD = 0.95
_DRAWS_OF_PAGES = 8  # a draw has 1000 pages of a few more, so that together they have all
_FIRST_SEED = 84  # that of the page Threshold


@dataclass(frozen=True)
class LabelledCandidate:
    """A candidate of the set, and whether its pages are the same by their labels."""

    resemblance: float
    same: bool


@dataclass(frozen=True)
class Reviewed:
    """What one guided sample led to.

    Args:
        recommendation: by its reviews.
        at_default: what the same reviews say of the default threshold.
    """

    recommendation: Recommendation
    at_default: ReviewedQuality


def true_quality(candidates: Sequence[LabelledCandidate], threshold: float) -> tuple[float, float]:
    """Precision and recall of a threshold by the labels of all candidates."""
    dropped = [one for one in candidates if one.resemblance >= threshold]
    found = sum(one.same for one in dropped)
    same = sum(one.same for one in candidates)
    return found / len(dropped) if dropped else 1.0, found / same if same else 1.0


def holds(share: Share, value: float) -> bool:
    """Whether an interval holds a value."""
    return share.low <= value <= share.high


def label_candidates(store: Store, labelled: Labelled) -> list[LabelledCandidate]:
    """All candidates of a store, with their labels."""
    found: dict[tuple[int, int], CandidatePair] = {}
    for seed in range(_DRAWS_OF_PAGES):
        found.update((pair.ids, pair) for pair in store.admin.candidates(seed).pairs)
    return [
        LabelledCandidate(pair.resemblance, labelled(pair))
        for pair in found.values()
        if pair.resemblance >= STRATUM_EDGES[0]
    ]


def review_sample(store: Store, labelled: Labelled, seed: int) -> Reviewed:
    """Review the pairs of a guided sample in a store, and see what is recommended by them.

    Args:
        store: without reviews; it has none afterwards.
        labelled: the answers.
        seed: of the sample.
    """
    found = store.admin.candidates()
    pairs = [pair for pair in found.pairs if pair.resemblance >= STRATUM_EDGES[0]]
    estimates = np.array([pair.resemblance for pair in pairs])
    chosen = [pairs[at] for at in sample_pairs(estimates, [], DEFAULT_THRESHOLD, seed=seed)]
    for pair in chosen:
        store.admin.review(pair.nearest, pair.url, same=labelled(pair))
    again = store.admin.candidates()
    reviews = [ReviewedPair(*one) for one in again.reviews]
    estimates = np.array([pair.resemblance for pair in again.pairs])
    for pair in chosen:
        store.admin.review(pair.nearest, pair.url, same=None)
    return Reviewed(
        recommend(estimates, reviews), reviewed_quality(estimates, reviews, DEFAULT_THRESHOLD)
    )


def measure(folder: Path, samples: int) -> tuple[list[LabelledCandidate], list[Reviewed]]:
    """Crawl the set, and review so many guided samples of it.

    Args:
        folder: of the labelled data.
        samples: how many.
    """
    pages = labelled_pages(folder, SET)
    with TemporaryDirectory() as temporary:
        warc, file = Path(temporary) / "pages.warc.gz", Path(temporary) / "dedup.db"
        write_warc(warc, pages)
        crawl(warc, pages, file)
        pages = [replace(page, body=b"") for page in pages]  # they are large
        truth = Truth(pages, [page.gold or "" for page in pages], DIFFERENT)
        numbers = {page.url: number for number, page in enumerate(pages)}

        def labelled(pair: CandidatePair) -> bool:
            return truth.resemblance(numbers[pair.nearest], numbers[pair.url]) >= DIFFERENT

        with Store.open(f"sqlite:///{file}", create=False) as store:
            everything = label_candidates(store, labelled)
            seeds = range(_FIRST_SEED, _FIRST_SEED + samples)
            return everything, [review_sample(store, labelled, seed) for seed in seeds]


def summarise(
    everything: Sequence[LabelledCandidate], reviewed: Sequence[Reviewed]
) -> dict[str, Any]:
    """Figures of all samples."""
    rows: dict[str, Any] = {}
    kinds = (
        ("recommended", [one.recommendation.quality for one in reviewed]),
        (f"default, {DEFAULT_THRESHOLD:g}", [one.at_default for one in reviewed]),
    )
    for name, qualities in kinds:
        true = [true_quality(everything, one.threshold) for one in qualities]
        for at, figure in enumerate(("precision", "recall")):
            shares: list[Share] = [getattr(one, figure) for one in qualities]
            pairs = list(zip(shares, (one[at] for one in true), strict=True))
            rows[f"{name}: {figure}"] = {
                "held": sum(holds(share, value) for share, value in pairs),
                "estimate": float(np.mean([share.value for share in shares])),
                "width": float(np.mean([share.high - share.low for share in shares])),
                "true": float(np.mean([value for _, value in pairs])),
            }
    return {
        "candidates": len(everything),
        "same": sum(one.same for one in everything),
        "samples": len(reviewed),
        "enough": sum(one.recommendation.enough for one in reviewed),
        "recommended": dict(
            sorted(Counter(one.recommendation.quality.threshold for one in reviewed).items())
        ),
        "first": [reviewed[0].recommendation.quality.threshold]
        + [
            list(getattr(reviewed[0].recommendation.quality, name))
            for name in ("precision", "recall")
        ],
        "figures": rows,
        "true": {step: true_quality(everything, step) for step in THRESHOLDS},
    }


def print_summary(console: Console, figures: dict[str, Any]) -> None:
    """Print the figures as tables."""
    console.print(
        f"{SET}: {figures['candidates']} candidates from {STRATUM_EDGES[0]} on, {figures['same']}"
        f" of them the same; {figures['samples']} guided samples of {GUIDED_PAIRS} pairs, each"
        f" reviewed by the labels; {figures['enough']} led to a recommendation"
    )
    console.print(f"recommended (how often): {figures['recommended']}")
    console.print(f"the first one: {figures['first']}")
    table = Table(box=None, pad_edge=False)
    for name in ("threshold and figure", "intervals that hold it", "estimate", "true", "width"):
        table.add_column(name, justify="right" if table.columns else "left")
    for name, row in figures["figures"].items():
        held = f"{row['held']} of {figures['samples']}"
        table.add_row(name, held, *(f"{row[part]:.3f}" for part in ("estimate", "true", "width")))
    console.print(table)
    console.print("true precision and recall by threshold:")
    for step, (precision, recall) in figures["true"].items():
        console.print(f"  {step:.2f}  {precision:.3f}  {recall:.3f}")


def main(arguments: list[str] | None = None) -> int:
    """Measure, print, and tell whether the intervals hold what they should."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--data", help="folder of the labelled data (default: DEDUP_DATA)")
    parser.add_argument("--samples", type=int, default=50, help="guided samples to review")
    parser.add_argument("--json", type=Path, help="write the figures there as well")
    asked = parser.parse_args(arguments)
    console = Console()
    figures = summarise(*measure(data_folder(asked.data), asked.samples))
    print_summary(console, figures)
    if asked.json:
        asked.json.write_text(json.dumps(figures, indent=1), encoding="utf-8")
    rows = figures["figures"].values()
    met = all(row["held"] >= LEAST_HELD * figures["samples"] for row in rows)
    console.print(f"at least {LEAST_HELD:.0%} of the intervals hold the truth: {met}")
    return 0 if met else 1


if __name__ == "__main__":
    raise SystemExit(main())
