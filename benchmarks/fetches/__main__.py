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
the worst and the median one, pages lost (whoever linked to them) in the worst one, in a first crawl
and in a second one that begins with its rules; and how often the interval that `observe` gives does
not hold the share of skipped requests that lost a page.

    python -m benchmarks.fetches [--site wiki,shop] [--size N | --quarter] [--seeds 1,2,3]
        [--orders N] [--variant none,skip] [--data DIR]
"""

from __future__ import annotations

import json
import shutil
import tempfile
from functools import partial
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.data import data_folder
from benchmarks.fetches.crawls import STORES, VARIANTS, Crawled, crawl
from benchmarks.fetches.replay import replayed
from benchmarks.fetches.sites import SITES
from benchmarks.report import Target, chosen, options_of, show

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from benchmarks.fetches.site import Site

    Row = dict[str, Any]

_CRAWLS = ("first", "second")  # of each order
# Attributes of sites; of hosts that have a range of sizes, both of its ends.
_SIZES = ("ARTICLES", "PAGES", "PRODUCTS", "THREADS", "TOPICS")
_RANGE = ("MIN_PAGES", "MAX_PAGES")


def row(site: Site, variant: str, plain: Crawled, done: Crawled) -> Row:
    """Figures of one crawl beside the one that skips nothing."""
    lost, passed_by = done.lost(plain)
    return {
        "site": site.name,
        "seed": site.seed,
        "variant": variant,
        "fetches": len(done.urls),
        "of": len(plain.urls),
        "saveable": plain.saveable,
        "saved": len(plain.urls) - len(done.urls),
        "contents": len(plain.contents),
        "lost": lost,
        "passed_by": passed_by,
        "first": done.stats.get("fetches/before_first_skip"),
        "stats": {name: done.stats[name] for name in done.stats if "/fetch" in name},
    }


def over_http(site: Site, variants: Sequence[str], folder: Path) -> Iterator[Row]:
    """Crawl a site in each way; `none` is always crawled, to compare with."""
    plains: dict[bool, Crawled] = {}
    for variant in dict.fromkeys(("none", *variants)):
        site.changed = variant == "changed"
        if site.changed and not site.can_change:
            continue
        store = folder / f"{variant}.db"
        if variant in STORES:
            left = folder / f"{STORES[variant]}.db"
            if not left.exists():
                print(f"{site.name}: {variant} needs {STORES[variant]}")
                continue
            shutil.copy(left, store)
        if site.changed not in plains:
            plains[site.changed] = crawl(site, "none", folder, folder / "none.db")
        plain = plains[site.changed]
        done = plain if variant == "none" else crawl(site, variant, folder, store)
        yield row(site, variant, plain, done)


def targets(rows: Sequence[Row]) -> Iterator[Target]:
    """Compare the rows with what is to be reached."""
    for variant, least, least_of_site in (("skip", 0.75, 0.5), ("again", 0.9, 0.9)):
        if own := [one for one in rows if one["variant"] == variant]:
            saved = sum(one["saved"] for one in own) / sum(one["saveable"] for one in own)
            yield Target(f"{variant}: saved over all", saved, least, at_least=True)
            saved = min(one["saved"] / one["saveable"] for one in own)
            yield Target(f"{variant}: saved of each site", saved, least_of_site, at_least=True)
            lost = sum(one["lost"] for one in own) / sum(one["contents"] for one in own)
            yield Target(f"{variant}: lost over all", lost, 0.002 if variant == "skip" else 0)
            lost = max(one["lost"] / one["contents"] for one in own)
            yield Target(f"{variant}: lost of each site", lost, 0.01 if variant == "skip" else 0)
    if own := [one for one in rows if one["variant"] == "changed"]:
        kept = sum(not one["stats"].get("dedup/fetch/unlearned") for one in own)
        yield Target("changed: sites of which nothing was unlearned", kept, 0)
        most = max(one["stats"].get("dedup/fetch/would_lose", 0) for one in own)
        yield Target("changed: contradictions", most, 50)
        passed_by = sum(one["passed_by"] for one in own)
        yield Target("changed: skipped, and not fetched later", passed_by, 0)


def show_crawls(rows: Sequence[Row]) -> None:
    """Print the table of crawls over HTTP, and the targets."""
    columns = ("site", "seed", "variant", "fetches", "saved", "of what rules could", "lost")
    show(
        (*columns, "passed by", "first"),
        (
            (
                *(one["site"], one["seed"], one["variant"]),
                f"{one['fetches']:,} of {one['of']:,}",
                f"{one['saved'] / one['of']:.1%}",
                f"{one['saved'] / one['saveable']:.1%}" if one["saveable"] else "-",
                f"{one['lost']:,} of {one['contents']:,}",
                one["passed_by"],
                "-" if one["first"] is None else f"{one['first']:,.0f}",
            )
            for one in rows
        ),
    )
    print(*targets(rows), sep="\n")


def targets_of_orders(rows: Sequence[Row]) -> Iterator[Target]:
    """Compare the rows of sites at a quarter of their size with what is to be reached."""
    enough = [row for row in rows if row["first_median"] >= 0.7 and row["second_median"] >= 0.8]
    share = len(enough) / len(rows)
    yield Target("sites with 70% saved, and 80% by a second crawl", share, 0.8, at_least=True)
    fall = max(row["first_median"] - row["second_median"] for row in rows)
    yield Target("saved less by a second crawl", fall, 0.02)
    lost = sum(row["first_lost"] + row["second_lost"] for row in rows)
    yield Target("lost in the worst orders", lost, 0)


def show_orders(rows: Sequence[Row], orders: int) -> None:
    """Print the table of crawls in memory."""
    columns = ["site", "seed", "requests", "could save"]
    columns += [f"{name}: {one}" for name in _CRAWLS for one in ("worst", "median", "lost")]
    shown = []
    for one in rows:
        cells = [one["site"], one["seed"], f"{one['requests']:,}", f"{one['saveable']:,}"]
        for name in _CRAWLS:
            cells += [f"{one[f'{name}_worst']:.1%}", f"{one[f'{name}_median']:.1%}"]
            cells.append(f"{one[f'{name}_lost']} of {one['contents']:,}")
        shown.append([*cells, f"{one['intervals_missed']} of {orders}"])
    show([*columns, "intervals missed"], shown)


def main() -> None:
    """Print the tables."""
    known = {kind.name: kind for kind in SITES}
    parser = options_of(__doc__, data=True)
    parser.add_argument("--site", default=",".join(known), help="some of the sites, by name")
    size = parser.add_mutually_exclusive_group()
    size.add_argument("--size", type=int, help="articles, pages, products or threads of each")
    size.add_argument(
        "--quarter", action="store_true", help="large sites at a quarter of their size"
    )
    parser.add_argument("--seeds", default="1,2,3")
    parser.add_argument("--orders", type=int, help="crawls in memory, in so many orders")
    parser.add_argument("--variant", default=",".join(VARIANTS))
    options = parser.parse_args()
    variants = chosen(parser, options.variant, VARIANTS)
    names = chosen(parser, options.site, known)
    data = data_folder(options.data).resolve()
    for kind in map(known.__getitem__, names):
        for attribute in filter(partial(hasattr, kind), _SIZES):
            setattr(kind, attribute, options.size or getattr(kind, attribute))
        for attribute in filter(partial(hasattr, kind), (*_SIZES, *_RANGE) * options.quarter):
            setattr(kind, attribute, getattr(kind, attribute) // 4)
    rows: list[Row] = []
    for seed, name in product(map(int, options.seeds.split(",")), names):
        site = known[name](seed, data)
        with tempfile.TemporaryDirectory() as folder:
            for one in (
                [replayed(site, options.orders)]
                if options.orders
                else over_http(site, variants, Path(folder))
            ):
                rows.append(one)
                print(json.dumps(one), flush=True)
    if options.orders:
        show_orders(rows, options.orders)
        if options.quarter:
            print(*targets_of_orders(rows), sep="\n")
    else:
        show_crawls(rows)


if __name__ == "__main__":
    main()
