"""How small may the sample be that finds a piece of a page? Recall beside rows.

Pieces of some length are cut out of hand-cleaned articles, one word in a hundred is changed,
and each is looked up by the samples of all articles. Winnowing (the smallest fingerprint of
every window) stands beside FracMinHash (fingerprints below a bound) with as many rows.

    python -m benchmarks.pieces [--data DIR] [--json FILE]
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from benchmarks.data import data_folder
from shingling.sketch import Fingerprints, shingle_words, winnow
from shingling.text import Canonicaliser

WINDOWS = (8, 16, 32, 64, 128)
LENGTHS = (20, 30, 40, 60, 100, 200)
PIECES = 400  # of each length
CHANGED = 0.01  # of the words
_PLAIN = Canonicaliser(markup=True)  # the cleaned texts have tags of paragraphs


def articles(folder: Path) -> list[list[str]]:
    """Return the canonical words of the hand-cleaned articles."""
    found = []
    for name in ("waddle", "article-extraction"):
        with gzip.open(folder / name / "manifest.jsonl.gz", "rt", encoding="utf-8") as lines:
            texts = (json.loads(line).get("gold") or "" for line in lines)
            found += [words for words in map(_PLAIN.words, texts) if len(words) >= max(LENGTHS)]
    return found


def pieces(texts: list[list[str]], length: int) -> list[list[str]]:
    """Return pieces of articles in which some words have been changed."""
    chance = random.Random(length)
    cut = []
    for _ in range(PIECES):
        words = chance.choice(texts)
        start = chance.randrange(len(words) - length + 1)
        piece = words[start : start + length]
        cut.append(["changed" if chance.random() < CHANGED else word for word in piece])
    return cut


def below(shingles: Fingerprints, share: float) -> Fingerprints:
    """Return the FracMinHash of a text: the fingerprints below a share of all numbers."""
    distinct = np.unique(shingles)
    return distinct[distinct < np.uint64(int(share * 2**64))]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    texts = articles(data_folder(options.data))
    shingled = [shingle_words(words) for words in texts]
    shingles = sum(map(len, shingled))
    cut = {length: [shingle_words(words) for words in pieces(texts, length)] for length in LENGTHS}
    rows = []
    for window in WINDOWS:
        kept = [winnow(one, window) for one in shingled]
        share = sum(map(len, kept)) / shingles
        stored = {key for one in kept for key in one.tolist()}
        bounded = {key for one in shingled for key in below(one, share).tolist()}
        row: dict[str, float] = {"window": window, "rows of 1000 shingles": 1000 * share}
        for length in LENGTHS:
            found = [not stored.isdisjoint(winnow(one, window).tolist()) for one in cut[length]]
            rival = [not bounded.isdisjoint(below(one, share).tolist()) for one in cut[length]]
            row[f"{length} words"] = float(np.mean(found))
            row[f"{length} words, FracMinHash"] = float(np.mean(rival))
        rows.append(row)
    table = Table("window", "rows", *(f"{length} words" for length in LENGTHS), box=None)
    for row in rows:
        table.add_row(
            f"{row['window']:.0f}",
            f"{row['rows of 1000 shingles']:.0f}",
            *(
                f"{row[f'{length} words']:.3f} / {row[f'{length} words, FracMinHash']:.3f}"
                for length in LENGTHS
            ),
        )
    console = Console(width=120)
    console.print(
        f"{len(texts):,} articles; recall of winnowing / FracMinHash; rows a 1000 shingles"
    )
    console.print(table)
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
