"""How short may a text be and still be compared? Pairs of different pages that look alike.

Every pair of pages in which the shorter text lies in a bin of words is compared exactly
(5-word shingles, whole texts). Pages are the same where the data says so: equal title within
one part of the guide or of the documentation, gold texts half alike in waddle. A text is too
short to be compared where many of the pairs at the threshold are different pages.

    python benchmarks/min_words.py [--data DIR] [--half even|odd] [--json FILE]
"""

from __future__ import annotations

import argparse
import gzip
import json
import tarfile
from collections import Counter, defaultdict
from concurrent.futures import ProcessPoolExecutor
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.data import data_folder
from shingling.extraction.html import extract
from shingling.sketch import fingerprint_set_of_words
from shingling.text import canonical_words

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

THRESHOLD = 0.8
BINS = (5, 10, 20, 30, 50, 100, 200, 10**9)


def pages(folder: Path, half: str) -> Iterator[tuple[str, str, bytes]]:
    """Yield (set of pages, what tells the page, HTML) of every second page of the data."""
    chosen: dict[str, Callable[[str], bool]] = {
        "installation-guide": lambda name: name.startswith("amd64/"),
        "llvm-docs": lambda name: name.startswith("llvm-16/"),
        "waddle": lambda _: True,
    }
    for data, wanted in chosen.items():
        with gzip.open(folder / data / "manifest.jsonl.gz", "rt", encoding="utf-8") as lines:
            rows = [json.loads(line) for line in lines]
        known = {row["file"]: row for row in rows}
        with tarfile.open(folder / data / "html.tar.xz") as archive:
            for number, member in enumerate(archive.getmembers()):
                name = member.name.removeprefix("html/")
                row = known.get(member.name) or known.get(name)
                if row is None or not wanted(row["file"]) or number % 2 != (half == "odd"):
                    continue
                file = archive.extractfile(member)
                assert file is not None
                label = row.get("title") or " ".join(canonical_words(row.get("gold", ""))[:40])
                yield f"{data}/{row.get('lang', '')}", label, file.read()


def read(page: tuple[str, str, bytes]) -> tuple[str, str, list[str]]:
    """Return (set, label, canonical words of the main text)."""
    return page[0], page[1], canonical_words(extract(page[2]) or "")


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", help="folder of the labelled data (default: DEDUP_DATA)")
    parser.add_argument("--half", choices=["even", "odd"], default="even")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    groups = defaultdict(list)
    with ProcessPoolExecutor() as pool:
        source = pages(data_folder(options.data), options.half)
        for group, label, words in pool.map(read, source, chunksize=16):
            if len(words) >= BINS[0]:
                groups[group].append(
                    (label, len(words), set(fingerprint_set_of_words(words).tolist()))
                )
    same: Counter[int] = Counter()
    different: Counter[int] = Counter()
    exact: Counter[int] = Counter()
    for members in groups.values():
        for place, (label, length, shingles) in enumerate(members):
            for other_label, other_length, other in members[place + 1 :]:
                shared = len(shingles & other)
                if shared < THRESHOLD * (len(shingles) + len(other) - shared):
                    continue
                low = max(low for low in BINS if low <= min(length, other_length))
                (same if label == other_label else different)[low] += 1
                exact[low] += shared == len(shingles) == len(other)
    table = [
        {
            "from": low,
            "to": high - 1,
            "same": same[low],
            "different": different[low],
            "equal_texts": exact[low],
            "pages": sum(low <= length < high for m in groups.values() for _, length, _ in m),
        }
        for low, high in pairwise(BINS)
    ]
    print("words        pages  pairs of one page  of two pages  with equal texts")
    for row in table:
        print(
            f"{row['from']:>4}-{row['to']:<9} {row['pages']:>4} {row['same']:>12}"
            f" {row['different']:>15} {row['equal_texts']:>12}"
        )
    if options.json:
        options.json.write_text(json.dumps(table, indent=2))


if __name__ == "__main__":
    main()
