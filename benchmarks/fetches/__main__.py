"""Fetches that are not made, over HTTP on loopback: who saves how many, and loses what.

Each variant is a real crawl of the same simulated site:

    none       every request is made
    skip       DEDUP_FETCH=skip, with an empty store
    again      the same again, on the store that `skip` has left
    changed    the same again, on a site that has changed: a parameter has begun to matter

`saved` is a share of what rules could save (see `benchmarks.fetches.crawls`); it is above 100 %
where pages are skipped that no right rule skips. Of the pages lost, those are `passed by` to which
a fetched page has a link.

With `--orders N`, each site is crawled in memory instead, in N orders of arrival: saved shares of
the worst and the median one, pages lost (to which a fetched page has a link) in the worst one, in a
first crawl and in a second one that begins with its rules; and how often the interval that
`observe` gives does not hold the share of skipped requests that lost a page.

    python -m benchmarks.fetches [--site wiki,shop] [--seeds 1,2,3] [--orders N]
        [--variant none,skip] [--minutes N] [--data DIR] [--json FILE]
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table

from benchmarks.data import data_folder
from benchmarks.fetches.crawls import STORES, VARIANTS, Crawled, crawl
from benchmarks.fetches.replay import replayed
from benchmarks.fetches.sites import SITES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchmarks.fetches.site import Site

_MIN_SAVED, _MIN_SAVED_OF_SITE = 0.75, 0.5
_MAX_LOST, _MAX_LOST_OF_SITE = 0.002, 0.01
_MIN_SAVED_AGAIN = 0.9
_MAX_CONTRADICTED = 50


def row(site: Site, seed: int, variant: str, plain: Crawled, done: Crawled) -> dict[str, Any]:
    """Figures of one crawl beside the one that skips nothing.

    Of the lost pages, `passed_by` are those to which a fetched page has a link. To the others only
    pages have one that show other links with each visit, and were visited less often.
    """
    lost = plain.contents - done.contents
    linked = {site.show(url, 0).content for url in done.links} if lost else set()
    return {
        "site": site.name,
        "seed": seed,
        "variant": variant,
        "fetches": done.fetches,
        "of": plain.fetches,
        "saveable": plain.saveable,
        "saved": plain.fetches - done.fetches,
        "contents": len(plain.contents),
        "lost": len(lost),
        "passed_by": len(lost & linked),
        "first": done.stats.get("fetches/before_first_skip"),
        "bytes": done.sent,
        "seconds": round(done.seconds, 1),
        "stats": {name: done.stats[name] for name in done.stats if "/fetch" in name},
    }


def over_http(
    sites: Sequence[type[Site]],
    seeds: Sequence[int],
    variants: Sequence[str],
    data: Path,
    minutes: float,
    console: Console,
) -> list[dict[str, Any]]:
    """Crawl the sites; what does not fit into the time is left out, and said."""
    end = time.monotonic() + 60 * minutes
    rows: list[dict[str, Any]] = []
    for seed in seeds:
        for kind in sites:
            site = kind(seed, data)
            with tempfile.TemporaryDirectory() as name:
                folder = Path(name)
                plains: dict[bool, Crawled] = {}
                for variant in dict.fromkeys(("none", *variants)):
                    site.changed = variant == "changed"
                    if site.changed and not site.can_change:
                        continue
                    store = folder / f"{variant}.db"
                    left = folder / f"{STORES.get(variant, variant)}.db"
                    if variant in STORES:
                        if not left.exists():
                            console.print(f"{site.name}: {variant} needs {STORES[variant]}")
                            continue
                        shutil.copy(left, store)
                    try:
                        if site.changed not in plains:
                            left_seconds = max(end - time.monotonic(), 1)
                            plains[site.changed] = crawl(site, "none", folder, store, left_seconds)
                        plain = plains[site.changed]
                        done = plain
                        if variant != "none":
                            left_seconds = max(end - time.monotonic(), 1)
                            done = crawl(site, variant, folder, store, left_seconds)
                    except subprocess.TimeoutExpired:
                        console.print(f"{site.name}, seed {seed}: {variant} is left out, no time")
                        return rows
                    rows.append(row(site, seed, variant, plain, done))
                    console.print_json(json.dumps(rows[-1]), indent=None)
    return rows


def judged(rows: Sequence[dict[str, Any]]) -> list[tuple[str, str, bool]]:
    """Targets that the rows can be held against: name, figure, whether it is met."""
    found: list[tuple[str, str, bool]] = []

    def share(name: str, figure: float, met: bool) -> None:
        found.append((name, f"{figure:.2%}", met))

    def of(variant: str) -> list[dict[str, Any]]:
        return [one for one in rows if one["variant"] == variant]

    if skip := of("skip"):
        saved = sum(one["saved"] for one in skip) / sum(one["saveable"] for one in skip)
        share("saved over all >= 75 %", saved, saved >= _MIN_SAVED)
        least = min(one["saved"] / one["saveable"] for one in skip)
        share("saved of each site >= 50 %", least, least >= _MIN_SAVED_OF_SITE)
        lost = sum(one["lost"] for one in skip) / sum(one["contents"] for one in skip)
        share("lost over all <= 0.2 %", lost, lost <= _MAX_LOST)
        most = max(one["lost"] / one["contents"] for one in skip)
        share("lost of each site <= 1 %", most, most <= _MAX_LOST_OF_SITE)
    if again := of("again"):
        least = min(one["saved"] / one["saveable"] for one in again)
        share("second crawl: saved of each site >= 90 %", least, least >= _MIN_SAVED_AGAIN)
        lost = sum(one["lost"] for one in again)
        found.append(("second crawl: none lost", str(lost), not lost))
    if changed := of("changed"):
        most = max(one["stats"].get("dedup/fetch/would_lose", 0) for one in changed)
        unlearned = all(one["stats"].get("dedup/fetch/unlearned") for one in changed)
        met = unlearned and most <= _MAX_CONTRADICTED
        shown = f"{most:.0f}" if unlearned else "not unlearned"
        found.append(("changed: unlearned, <= 50 contradicted", shown, met))
        passed_by = sum(one["passed_by"] for one in changed)
        found.append(("changed: all is fetched that was skipped", str(passed_by), not passed_by))
    return found


def tables(rows: Sequence[dict[str, Any]]) -> tuple[Table, Table]:
    """Figures, and targets."""
    shown = Table(
        *("site", "seed", "variant", "fetches", "saved", "of what rules could", "lost"),
        *("passed by", "first"),
    )
    for one in rows:
        could = f"{one['saved'] / one['saveable']:.1%}" if one["saveable"] else "-"
        first = "-" if one["first"] is None else f"{one['first']:,.0f}"
        shown.add_row(
            one["site"],
            str(one["seed"]),
            one["variant"],
            f"{one['fetches']:,} of {one['of']:,}",
            f"{one['saved'] / one['of']:.1%}",
            could,
            f"{one['lost']:,} of {one['contents']:,}",
            str(one.get("passed_by", "-")),
            first,
        )
    crawled = len({(one["site"], one["seed"]) for one in rows})
    targets = Table(f"target, of {crawled} sites and seeds", "figure", "")
    for name, figure, met in judged(rows):
        targets.add_row(name, figure, "met" if met else "missed")
    return shown, targets


def in_memory(
    sites: Sequence[type[Site]], seeds: Sequence[int], orders: int, data: Path, console: Console
) -> list[dict[str, Any]]:
    """Crawl the sites in many orders, and print the table."""
    shown = Table(
        *("site", "seed", "requests", "could save", "first: worst", "median", "lost"),
        *("second: worst", "median", "lost", "intervals missed"),
    )
    rows = []
    for seed in seeds:
        for kind in sites:
            one = replayed(kind(seed, data), orders)
            rows.append(one)
            counts = (f"{one['requests']:,}", f"{one['saveable']:,}")
            crawls = [
                text
                for name in ("first", "second")
                for text in (
                    f"{one[f'{name}_worst']:.1%}",
                    f"{one[f'{name}_median']:.1%}",
                    f"{one[f'{name}_lost']} of {one['contents']:,}",
                )
            ]
            missed = f"{one['intervals_missed']} of {orders}"
            shown.add_row(one["site"], str(seed), *counts, *crawls, missed)
            console.print_json(json.dumps(one), indent=None)
    console.print(shown)
    return rows


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--site", help="some of the sites, by name")
    parser.add_argument("--seeds", default="1,2,3")
    parser.add_argument("--orders", type=int, help="crawls in memory, in so many orders")
    parser.add_argument("--variant", default=",".join(VARIANTS))
    parser.add_argument("--minutes", type=float, default=240, help="for all crawls over HTTP")
    parser.add_argument("--data", help="folder of the labelled data (default: DEDUP_DATA)")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    variants = options.variant.split(",")
    if unknown := {*variants} - {*VARIANTS}:
        parser.error(f"no variant {', '.join(sorted(unknown))}: {', '.join(VARIANTS)}")
    seeds = [int(seed) for seed in options.seeds.split(",")]
    sites: Sequence[type[Site]] = SITES
    if options.site:
        names = options.site.split(",")
        if unknown := {*names} - {kind.name for kind in sites}:
            parser.error(f"no site {', '.join(sorted(unknown))}")
        sites = [kind for kind in sites if kind.name in names]
    data = data_folder(options.data).resolve()
    console = Console(width=120)
    if options.orders:
        rows = in_memory(sites, seeds, options.orders, data, console)
    else:
        rows = over_http(sites, seeds, variants, data, options.minutes, console)
        console.print(*tables(rows), sep="\n")
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1), "utf-8")


if __name__ == "__main__":
    main()
