"""The plugin under attack, in real crawls over HTTP on loopback.

    mutated  real pages, mutated: every item comes out, or was dropped rightly
    bombs    pages made to take long, each among ordinary ones: nobody waits for them

    python -m benchmarks.hostile [--part mutated|bombs] [--pages N] [--data DIR] ...

Each part says whether its targets are met. The exit status is 1 if something was lost or wrong.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table

from benchmarks.data import data_folder
from benchmarks.hostile import bombs, mutated
from benchmarks.hostile.mutations import Mutator
from shingling.rules import WORKER_MEMORY_BYTES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from benchmarks.hostile.project import Target

_VARIANTS = (
    *("quick,auto,drop", "trafilatura,auto,drop", "quick,0,drop", "quick,1,drop"),
    *("quick,2,drop", "trafilatura,0,drop", "quick,auto,tag"),
)


def _print(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    table = Table(*columns, box=None)
    for row in rows:
        table.add_row(*map(str, row))
    Console(width=140).print(table)


def _mutated(options: argparse.Namespace, folder: Path) -> list[Target]:
    pages = options.pages or 10_000
    mutator = Mutator(data_folder(options.data), min(1000, pages), options.seed)
    variants = [given.split(",") for given in options.variant or _VARIANTS]
    results = mutated.run(folder, mutator, pages, variants)
    _print(mutated.COLUMNS, (result.row for result in results))
    print(*mutated.shown(results), sep="\n")
    return mutated.targets(results)


def _bombs(options: argparse.Namespace, folder: Path) -> list[Target]:
    wanted = [name for name in bombs.ALL if not options.only or options.only in name]
    names = [bombs.NONE, *[name for name in wanted if name != bombs.NONE][:: options.every]]
    found = []
    for result in bombs.run(
        folder,
        options.size,
        names,
        options.extractors.split(","),
        options.workers.split(","),
        options.minutes,
    ):
        found.append(result)
        print(*result.row, sep=" | ", flush=True)
    _print(bombs.COLUMNS, (result.row for result in found))
    return bombs.targets(found, _worker_megabytes())


def _worker_megabytes() -> float:
    """Return the default of DEDUP_WORKER_MEMORY."""
    return WORKER_MEMORY_BYTES / 1e6


_PARTS: dict[str, Callable[[argparse.Namespace, Path], list[Target]]] = {
    "mutated": _mutated,
    "bombs": _bombs,
}


def main() -> None:
    """Run the parts, and print their tables and targets."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--part", choices=[*_PARTS], action="append", help="default: all")
    parser.add_argument("--pages", type=int, help="default: as many as the part is to have")
    parser.add_argument("--seed", type=int, default=18, help="of everything that is random")
    parser.add_argument("--data", help="folder of the labelled data (default: DEDUP_DATA)")
    parser.add_argument("--folder", type=Path, help="for projects, logs and stores; is kept")
    parser.add_argument(
        "--variant",
        action="append",
        help="of mutated: EXTRACTOR,WORKERS,ACTION (default: " + " ".join(_VARIANTS) + ")",
    )
    crawled = parser.add_argument_group("bombs")
    crawled.add_argument("--size", type=int, default=bombs.SIZE, help="bytes of a bomb")
    crawled.add_argument("--only", help="part of the names of bombs")
    crawled.add_argument("--every", type=int, default=1, help="crawl only each so many-th bomb")
    crawled.add_argument("--extractors", default="quick,trafilatura")
    crawled.add_argument("--workers", default="0,1,2")
    crawled.add_argument("--minutes", type=float, default=90, help="begin no crawl after so many")
    options = parser.parse_args()
    met = True
    with tempfile.TemporaryDirectory() as temporary:
        for part in options.part or _PARTS:
            print(f"== {part}")
            found = _PARTS[part](options, Path(options.folder or temporary) / part)
            print(*found, sep="\n")
            met &= all(target.met for target in found)
    sys.exit(0 if met else 1)


if __name__ == "__main__":
    main()
