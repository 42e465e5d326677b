"""How many words should a shingle have? Exact resemblance by shingles of 1 to 10 words.

Labelled pairs and template pages: what the resemblance tells apart, and what it
takes for the same at 0.8. Articles cut to some length, with words replaced by words of other
articles at random places: how many still reach 0.8. Articles cut to the same lengths, two of
one site and two of different sites: how alike the most alike are.

    python -m benchmarks.shingle_length [--data DIR] [--json FILE]
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import re
import tarfile
from collections import defaultdict
from concurrent.futures import ProcessPoolExecutor
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

import numpy as np
from rich.console import Console
from rich.table import Table

from benchmarks.data import data_folder
from benchmarks.pairs import DEFAULT_CACHE, PROCESSES, labelled_pairs
from shingling import Scheme, canonical_words, extract
from shingling.similarity import distance, overlap
from shingling.sketch import fingerprint_set_of_words, sign_words
from shingling.text import Canonicaliser
from shingling.tuning.evaluation import area_under_curve

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from shingling.sketch import Fingerprints

SIZES = tuple(range(1, 11))
SHOWN = (1, 2, 3, 4, 5, 7, 10)  # sizes, in the tables of articles
THRESHOLD = 0.8
LENGTHS = (30, 60, 120, 300, 1000)
REPLACED = (0.01, 0.03, 0.1)  # of the words, and one word at least
TEXTS = 200  # of each length, and as many pairs
SIMHASH_LENGTHS = (20, 50, 100, 200, 300, 500, 800)
SIMHASH_REPLACED = (0.0, 0.02)  # one word, and a share of the words
DISTANCE = 3

_TEMPLATES = re.compile(r"llvm-16/AMDGPU/.*\.html")
_TEMPLATE_PAGES = 250
_SITE = re.compile(r"html/\d{8}_(?:www\d?\.)?([^_]+)_")


class Article(NamedTuple):
    """A hand-cleaned article and where it is from."""

    file: str
    site: str
    words: list[str]


def shingled(words: Sequence[str]) -> list[Fingerprints]:
    """Return the distinct shingles of a text, for every size."""
    return [fingerprint_set_of_words(words, Scheme(shingle_size=size)) for size in SIZES]


def resemblances(a: Sequence[Fingerprints], b: Sequence[Fingerprints]) -> list[float]:
    """Return how alike two texts are, by every size."""
    return [overlap(one, other).resemblance for one, other in zip(a, b, strict=True)]


def of_pair(texts: tuple[str, str]) -> list[float]:
    """Return how alike two texts are, by every size."""
    a, b = texts
    return resemblances(shingled(canonical_words(a)), shingled(canonical_words(b)))


def articles(folder: Path) -> list[Article]:
    """Return the hand-cleaned articles that have the words of the shortest cut."""
    read = Canonicaliser(markup=True)
    found = []
    for name in ("waddle", "article-extraction"):
        for row in _rows(folder / name / "manifest.jsonl.gz"):
            words = read.words(row.get("gold") or "")
            told = _SITE.match(row["file"])
            site = told[1] if told else (urlsplit(row["url"]).hostname or "").removeprefix("www.")
            if len(words) >= LENGTHS[0]:
                found.append(Article(row["file"], site, words))
    return found


def template_pages(folder: Path) -> list[bytes]:
    """Return pages of one template that describe one operand of a processor each."""
    with tarfile.open(folder / "llvm-docs" / "html.tar.xz") as archive:
        members = [one for one in archive.getmembers() if _TEMPLATES.fullmatch(one.name)]
        members.sort(key=lambda one: one.name)
        step = max(len(members) // _TEMPLATE_PAGES, 1)
        files = (archive.extractfile(one) for one in members[::step][:_TEMPLATE_PAGES])
        return [file.read() for file in files if file is not None]


def words_of(html: bytes) -> tuple[str, ...]:
    """Return the canonical words of a page."""
    return tuple(canonical_words(extract(html) or ""))


def replaced(words: Sequence[str], share: float, others: Sequence[str], seed: str) -> list[str]:
    """Return a text in which some words, one at least, are words of other texts."""
    chance = random.Random(seed)
    changed = list(words)
    for place in chance.sample(range(len(changed)), max(round(share * len(changed)), 1)):
        while changed[place] == words[place]:
            changed[place] = chance.choice(others)
    return changed


def cut(texts: Sequence[Article], length: int) -> list[tuple[list[str], list[str]]]:
    """Return pieces of articles, each with one of another article."""
    long = [one.words for one in texts if len(one.words) >= length]
    chance = random.Random(length)
    cuts = []
    for _ in range(TEXTS):
        words, other = chance.sample(long, 2)
        start = chance.randrange(len(words) - length + 1)
        cuts.append((words[start : start + length], other[:length]))
    return cuts


def simhashes(texts: Sequence[Article]) -> Iterator[dict[str, Any]]:
    """Yield how many SimHashes of changed texts stay within the distance."""
    for length in SIMHASH_LENGTHS:
        cuts = cut(texts, length)
        row: dict[str, Any] = {"words": length}
        for share in SIMHASH_REPLACED:
            near = 0
            for number, (words, others) in enumerate(cuts):
                changed = replaced(words, share, others, f"{number}")
                bits = distance(sign_words(words).simhash, sign_words(changed).simhash)
                near += bits <= DISTANCE
            row[f"{share:.0%}" if share else "one word"] = near / len(cuts)
        yield row


def recalls(texts: Sequence[Article]) -> Iterator[dict[str, Any]]:
    """Yield how many changed texts of each length still reach the threshold, by every size."""
    for length in LENGTHS:
        cuts = cut(texts, length)
        sets = [shingled(words) for words, _ in cuts]
        for share in REPLACED:
            alike = np.array(
                [
                    resemblances(own, shingled(replaced(words, share, others, f"{number}")))
                    for number, (own, (words, others)) in enumerate(zip(sets, cuts, strict=True))
                ]
            )
            found = (alike >= THRESHOLD).mean(axis=0).tolist()
            yield {"words": length, "replaced": share, "recall": found}


def strangers(texts: Sequence[Article], near: set[frozenset[str]]) -> Iterator[dict[str, Any]]:
    """Yield how alike the first words of different articles are, by every size.

    Pairs that are known to have the same sentences are left out.
    """
    for length in LENGTHS:
        long = [one for one in texts if len(one.words) >= length]
        sites = defaultdict(list)
        for one in long:
            sites[one.site].append(one)
        of_one_site = [pair for own in sites.values() for pair in combinations(own, 2)]
        chance = random.Random(length)
        anywhere = [(a, b) for a, b in (chance.sample(long, 2) for _ in range(TEXTS))]
        drawn = {
            "one site": chance.sample(of_one_site, min(TEXTS, len(of_one_site))),
            "two sites": anywhere,
        }
        for kind, pairs in drawn.items():
            kept = [
                (a, b)
                for a, b in pairs
                if frozenset((a.file, b.file)) not in near
                and (kind == "one site") == (a.site == b.site)
            ]
            alike = np.array(
                [
                    resemblances(shingled(a.words[:length]), shingled(b.words[:length]))
                    for a, b in kept
                ]
            )
            yield {
                "words": length,
                "texts of": kind,
                "pairs": len(kept),
                "greatest": alike.max(axis=0).tolist(),
            }


def labelled(folder: Path, cache: Path, pool: ProcessPoolExecutor) -> Iterator[dict[str, Any]]:
    """Yield AUC, precision and recall on labelled pairs, by every size."""
    for name in ("copycat", "installation-guide"):
        pairs = labelled_pairs(folder, name, cache)
        texts = [(pair.a, pair.b) for pair in pairs]
        alike = np.array(list(pool.map(of_pair, texts, chunksize=32)))
        same = np.array([pair.same for pair in pairs])
        taken = alike >= THRESHOLD
        yield {
            "set": name,
            "same": int(same.sum()),
            "different": int((~same).sum()),
            "auc": [area_under_curve(column, same) for column in alike.T],
            "precision": [float(same[column].mean()) for column in taken.T],
            "recall": [float(column[same].mean()) for column in taken.T],
        }


def templates(folder: Path, pool: ProcessPoolExecutor) -> dict[str, Any]:
    """Return how many pairs of unlike template pages reach the threshold, by every size."""
    texts = sorted(set(pool.map(words_of, template_pages(folder), chunksize=16)))
    sets = [shingled(words) for words in texts if len(words) >= SIZES[-1]]
    alike = np.array([resemblances(a, b) for a, b in combinations(sets, 2)])
    return {
        "texts": len(sets),
        "pairs": len(alike),
        "taken": (alike >= THRESHOLD).sum(axis=0).tolist(),
    }


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def _table(title: str, *columns: str) -> Table:
    table = Table(title=title, title_justify="left", box=None)
    for column in columns:
        table.add_column(column, justify="right")
    return table


def _shown(values: Sequence[float]) -> Iterable[str]:
    return (f"{values[SIZES.index(size)]:.2f}" for size in SHOWN)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data")
    parser.add_argument("--cache", type=Path, default=DEFAULT_CACHE)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    folder = data_folder(options.data)
    with ProcessPoolExecutor(PROCESSES) as pool:
        sets = list(labelled(folder, options.cache, pool))
        template = templates(folder, pool)
    texts = articles(folder)
    pairs = _rows(folder / "waddle" / "natural_pairs_gold_w5.jsonl.gz")
    near = {frozenset((row["a"], row["b"])) for row in pairs}
    found = list(recalls(texts))
    apart = list(strangers(texts, near))
    within = list(simhashes(texts))

    console = Console(width=120)
    heads = [f"{one['set']} {what}" for one in sets for what in ("AUC", "P", "R")]
    table = _table(
        f"Labelled pairs, and {template['pairs']:,} pairs of {template['texts']} template pages:"
        f" resemblance at {THRESHOLD:g}",
        *("words", *heads, "template pairs"),
    )
    for place, size in enumerate(SIZES):
        cells = [
            f"{one[what][place]:.3f}" for one in sets for what in ("auc", "precision", "recall")
        ]
        table.add_row(str(size), *cells, str(template["taken"][place]))
    console.print(table)
    sizes = [f"{size} w." for size in SHOWN]
    table = _table(
        f"Share of {TEXTS} texts with words replaced that reach {THRESHOLD:g}",
        *("words", "replaced", *sizes),
    )
    for row in found:
        table.add_row(str(row["words"]), f"{row['replaced']:.0%}", *_shown(row["recall"]))
    console.print(table)
    table = _table(
        "Greatest resemblance of two different articles", *("words", "of", "pairs", *sizes)
    )
    for row in apart:
        table.add_row(
            str(row["words"]), row["texts of"], str(row["pairs"]), *_shown(row["greatest"])
        )
    console.print(table)
    table = _table(
        f"Share of {TEXTS} texts with words replaced whose SimHash stays within {DISTANCE} bits",
        *(str(key) for key in within[0]),
    )
    for row in within:
        table.add_row(
            *(f"{value:.2f}" if key != "words" else str(value) for key, value in row.items())
        )
    console.print(table)
    if options.json:
        figures = {"labelled": sets, "templates": template, "replaced": found}
        figures |= {"strangers": apart, "simhash": within}
        options.json.write_text(json.dumps(figures, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
