"""All attacks that are known, each with the figure of today and its limit, in one table.

    tests    the tests of each attack (`tests/hostile/__init__.py` lists them): how many fail
    twins    pages of other words with the same hashes: how many are dropped
    flood    pages that share all 84 minima: CPU of one, in times of an ordinary page
    kills    crawl, rebuild, import, prune and upgrade, killed at random moments
    mutated  real pages, mutated: every item comes out, or was dropped rightly
    bombs    pages made to take long, each among ordinary ones: nobody waits for them

    python -m benchmarks.attacks [--part NAME]... [--flood 20000] [--kills 100] [--pages 10000]
        [--every 1] [--all-ways] [--data DIR] [--json FILE]

All of it takes hours: parts can be run one by one, with the same --json, which then has them all.
The exit status is 1 if a limit was missed.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

import tests.hostile
from benchmarks.data import data_folder
from benchmarks.hostile import bombs, forged, kills, mutated
from benchmarks.hostile.mutations import Mutator
from benchmarks.processes import ROOT
from benchmarks.report import Target, number, options_of, show
from shingling.rules import WORKER_MEMORY_BYTES

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Callable, Iterator

_SEED = 32  # of everything that is random
# Extractor, workers and action of crawls; the first one is that of a plain crawl.
_WAYS = (
    *(("quick", "auto", "drop"), ("trafilatura", "auto", "drop"), ("trafilatura", "0", "drop")),
    *(("quick", "0", "drop"), ("quick", "1", "drop"), ("quick", "2", "drop")),
    ("quick", "auto", "tag"),
)


def attacks() -> dict[str, list[str]]:
    """Return the files of the tests of each attack."""
    found: dict[str, list[str]] = {}
    rows = str(tests.hostile.__doc__).split("---\n", 1)[1].split("\n\n", 1)[0]
    attack = ""
    for line in rows.splitlines():
        name, files = line[:50].strip(), re.findall(r"\S+\.py", line[50:])
        attack = name or attack
        found.setdefault(attack, []).extend(files)
    return found


def _tests(options: Namespace, folder: Path) -> Iterator[Target]:
    chosen = {
        attack: files
        for attack, files in attacks().items()
        if not options.only or options.only in attack
    }
    report = folder / "report.xml"
    command = [sys.executable, "-m", "pytest", "-n", "0", "-q", "-p", "no:cacheprovider"]
    names = {f"tests/{name}" for files in chosen.values() for name in files}
    subprocess.run([*command, f"--junitxml={report}", *sorted(names)], cwd=ROOT)
    ran: Counter[str] = Counter()
    failed: Counter[str] = Counter()
    for case in ET.parse(report).iter("testcase"):  # noqa: S314 (pytest has written it)
        file = case.attrib["classname"].replace(".", "/").removeprefix("tests/") + ".py"
        ran[file] += case.find("skipped") is None
        failed[file] += case.find("failure") is not None or case.find("error") is not None
    for attack, files in chosen.items():
        number = sum(ran[file] for file in files)
        name = f"{attack}: of {number} tests, failed"
        yield Target(name, sum(failed[file] for file in files), 0)


def _kills(options: Namespace, folder: Path) -> Iterator[Target]:
    for name in kills.WORKS:
        if not options.only or options.only in name:
            yield kills.killed(folder / name, name, options.kills, _SEED)


def _mutated(options: Namespace, folder: Path) -> Iterator[Target]:
    mutator = Mutator(data_folder(options.data), min(1000, options.pages), _SEED)
    results = mutated.run(folder, mutator, options.pages, _WAYS if options.all_ways else _WAYS[:1])
    show(mutated.COLUMNS, (result.row for result in results))
    print(*mutated.shown(results), sep="\n")
    for target in mutated.targets(results):
        yield target._replace(name=f"{options.pages:,} mutated pages: {target.name}")


def _bombs(options: Namespace, folder: Path) -> Iterator[Target]:
    chosen = [name for name in bombs.ALL if name != bombs.NONE and (options.only or "") in name]
    names = [bombs.NONE, *chosen[:: options.every], bombs.NONE]
    extractors = ("quick", "trafilatura") if options.all_ways else ("quick",)
    workers = ("0", "1", "2") if options.all_ways else ("auto",)
    found = []
    for result in bombs.run(folder, names, extractors, workers):
        found.append(result)
        print(*result.row, sep=" | ", flush=True)
    show(bombs.COLUMNS, (result.row for result in found))
    for target in bombs.targets(found, WORKER_MEMORY_BYTES / 1e6):
        yield target._replace(name=f"{len(chosen[:: options.every])} bombs of 8 MB: {target.name}")


_PARTS: dict[str, Callable[[Namespace, Path], Iterator[Target]]] = {
    "tests": _tests,
    "twins": lambda _, folder: forged.twins_dropped(folder),
    "flood": lambda options, folder: forged.flooded(folder, options.flood),
    "kills": _kills,
    "mutated": _mutated,
    "bombs": _bombs,
}


def _show(rows: dict[str, list[Target]]) -> None:
    show(
        ("part", "attack", "today", "limit", ""),
        (
            (part, one.name, number(one.measured), f"{one.limit:g}", "" if one.met else "MISSED")
            for part, targets in rows.items()
            for one in targets
        ),
    )


def main() -> None:
    """Run the parts, and print the table."""
    parser = options_of(__doc__, data=True)
    parser.add_argument("--part", choices=[*_PARTS], action="append", help="default: all")
    parser.add_argument("--only", help="of tests, kills and bombs: part of the names")
    parser.add_argument("--flood", type=int, default=20_000, help="pages that share all minima")
    parser.add_argument("--kills", type=int, default=100, help="of each work")
    parser.add_argument("--pages", type=int, default=10_000, help="that are mutated")
    parser.add_argument("--every", type=int, default=1, help="crawl only each so many-th bomb")
    parser.add_argument(
        "--all-ways", action="store_true", help="both extractors, all numbers of workers, tag"
    )
    parser.add_argument("--json", type=Path, help="keeps the figures of the parts")
    options = parser.parse_args()
    kept: dict[str, list[list[object]]] = {}
    if options.json and options.json.exists():
        kept = json.loads(options.json.read_text("utf-8"))
    rows = {part: [Target(*row) for row in kept[part]] for part in kept}  # type: ignore[arg-type]  # ours
    for part in options.part or _PARTS:
        began = time.monotonic()
        with tempfile.TemporaryDirectory() as folder:
            found = []
            for target in _PARTS[part](options, Path(folder)):
                print(f"{part} {time.monotonic() - began:,.0f} s: {target}", flush=True)
                found.append(target)
        names = {target.name for target in found}
        rows[part] = [one for one in rows.get(part, []) if one.name not in names] + found
        if options.json:
            options.json.write_text(json.dumps(rows, indent=1), "utf-8")
    ordered = {part: rows[part] for part in _PARTS if part in rows}
    _show(ordered)
    sys.exit(0 if all(one.met for targets in ordered.values() for one in targets) else 1)


if __name__ == "__main__":
    main()
