"""Pairs of texts whose answer, the same or not, is known: the labelled sets."""

from __future__ import annotations

import hashlib
import re
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from heapq import nlargest
from importlib.metadata import version
from itertools import combinations
from pathlib import Path
from tempfile import gettempdir
from typing import TYPE_CHECKING, Any

from benchmarks.data import bodies_of, kept, rows_of
from shingling import canonical_words, extract
from shingling.sketch import fingerprint_set_of_words

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

DEFAULT_CACHE = Path(gettempdir()) / "shingling-quality"
PROCESSES = 2

_GUIDE_PAGES = 20  # of each language, each of up to 5 architectures
_GUIDE_SAME = 40  # pairs of each language
_GUIDE_HARD = 20
_GUIDE_RANDOM = 20
_ARTICLES_HARD = 500
_ARTICLES_RANDOM = 500

# "6.5. " and "B.3. " before a title: sections shift from architecture to architecture.
_NUMBER = re.compile(r"[A-Z0-9]+(\.[0-9]+)*\. ")


@dataclass(frozen=True)
class Pair:
    """Two texts and the answer.

    Args:
        id: unique within the set.
        a, b: the texts.
        same: the answer.
        group: pairs that share a document are of one group; halves of a set are cut
            between groups.
        label: the set's own word for the answer.
    """

    id: str
    a: str
    b: str
    same: bool
    group: str
    label: str


@dataclass(frozen=True)
class LabelledSet:
    """How a set is read, and what its answers mean.

    Args:
        read: takes the folder of the data and that of the cache.
        truth: what `same` means in it.
    """

    read: Callable[[Path, Path], list[Pair]]
    truth: str


def labelled_pairs(folder: Path, name: str, cache: Path = DEFAULT_CACHE) -> list[Pair]:
    """Return the pairs of one of `SETS`, always the same ones in the same order.

    Args:
        folder: of the labelled data.
        name: of the set.
        cache: folder for the texts of HTML pages, which take long to extract.
    """
    return SETS[name].read(folder, cache)


def _order(key: str) -> bytes:
    """Return a sort key that shuffles, the same way at every run."""
    return hashlib.blake2b(key.encode(), digest_size=8).digest()


def _graded(folder: Path, lowest_same: float, left_out: tuple[str, ...]) -> list[Pair]:
    return [
        Pair(
            id=row["pair_id"],
            a=row["a"],
            b=row["b"],
            same=float(row["label"]) >= lowest_same,
            group=row["canonical"],
            label=row["label"],
        )
        for row in rows_of(folder / "copycat" / "pairs.jsonl.gz")
        if row["label"] not in left_out
    ]


def _copycat(folder: Path, _: Path) -> list[Pair]:
    return _graded(folder, 2, ("1", "unknown"))


def _copycat_strict(folder: Path, _: Path) -> list[Pair]:
    return _graded(folder, 3, ("unknown",))


def _tgcontest(folder: Path, _: Path) -> list[Pair]:
    rows = rows_of(folder / "tgcontest" / "pairs.jsonl.gz")
    groups = _components((row["a_url"], row["b_url"]) for row in rows)
    return [
        Pair(
            id=row["pair_id"],
            a=row["a"],
            b=row["b"],
            same=row["label"] == "OK",
            group=groups[row["a_url"]],
            label=row["label"],
        )
        for row in rows
    ]


def _components(edges: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Return for every document the first one of those that pairs connect it with."""
    parts: dict[str, set[str]] = {}
    for a, b in edges:
        joined = parts.get(a, {a}) | parts.get(b, {b})
        parts.update(dict.fromkeys(joined, joined))
    return {document: min(part) for document, part in parts.items()}


def _clough_stevenson(folder: Path, _: Path) -> list[Pair]:
    return [
        Pair(
            id=row["id"],
            a=row["a"],
            b=row["b"],
            same=row["label"] != "non",
            group=row["task"],
            label=row["label"],
        )
        for row in rows_of(folder / "clough-stevenson" / "pairs.jsonl.gz")
    ]


def _mccormick(folder: Path, _: Path) -> list[Pair]:
    rows = rows_of(folder / "mccormick" / "articles_1000.jsonl.gz")
    clusters = sorted({row["cluster"] for row in rows}, key=_order)
    planted = [name for name in clusters if name.startswith("dup")]
    # Both halves of the set get half of the planted pairs, and no article is in both.
    side = {name: str(place % 2) for place, name in enumerate(planted)}
    pairs = []
    for half in "01":
        texts = {r["id"]: r for r in rows if side.get(r["cluster"], _half(r["cluster"])) == half}
        same: list[tuple[str, str]] = []
        other: list[tuple[str, str]] = []
        for a, b in combinations(sorted(texts), 2):
            (same if texts[a]["cluster"] == texts[b]["cluster"] else other).append((a, b))
        articles = {name: row["text"] for name, row in texts.items()}
        different = _hard_and_random(articles, other, _ARTICLES_HARD // 2, _ARTICLES_RANDOM // 2)
        pairs += [
            Pair(f"{a} {b}", articles[a], articles[b], label == "planted", half, label)
            for label, chosen in (("planted", same), *different)
            for a, b in chosen
        ]
    return pairs


def _half(key: str) -> str:
    return str(_order(key)[0] % 2)


def _hard_and_random(
    texts: dict[str, str], pairs: Sequence[tuple[str, str]], hard: int, random: int
) -> list[tuple[str, list[tuple[str, str]]]]:
    """Return the pairs of texts that are most alike, and some of the others at random.

    Most alike by the exact resemblance: choosing by an estimate would choose its errors.
    """
    sets = {
        name: frozenset(fingerprint_set_of_words(canonical_words(text)).tolist())
        for name, text in texts.items()
    }

    def resemblance(pair: tuple[str, str]) -> tuple[float, bytes]:
        a, b = sets[pair[0]], sets[pair[1]]
        shared = len(a & b)
        return shared / max(len(a) + len(b) - shared, 1), _order(" ".join(pair))

    hardest = nlargest(hard, pairs, key=resemblance)
    rest = sorted(set(pairs) - set(hardest), key=lambda pair: _order(" ".join(pair)))
    return [("hard", hardest), ("random", rest[:random])]


def _installation_guide(folder: Path, cache: Path) -> list[Pair]:
    rows = rows_of(folder / "installation-guide" / "manifest.jsonl.gz")
    chosen: dict[str, dict[str, dict[str, Any]]] = {}
    for language in sorted({row["lang"] for row in rows}):
        pages = [row for row in rows if row["lang"] == language]
        names = sorted({row["page"] for row in pages}, key=lambda page: _order(language + page))
        kept = set(names[:_GUIDE_PAGES])
        chosen[language] = {row["file"]: row for row in pages if row["page"] in kept}
    files = [file for pages_ in chosen.values() for file in pages_]
    texts = _extracted(folder / "installation-guide" / "html.tar.xz", files, cache)
    pairs = []
    for language, pages_ in chosen.items():
        same, other = [], []
        for a, b in combinations(sorted(pages_), 2):
            first, second = pages_[a], pages_[b]
            if first["arch"] == second["arch"]:
                continue
            if first["title"] == second["title"]:
                same.append((a, b))
            elif not _perhaps_same(first, second):
                other.append((a, b))
        same.sort(key=lambda pair: _order(" ".join(pair)))
        known = {file: texts[file] for file in pages_}
        different = _hard_and_random(known, other, _GUIDE_HARD, _GUIDE_RANDOM)
        pairs += [
            Pair(f"{a} {b}", texts[a], texts[b], label == "same title", language, label)
            for label, picked in (("same title", same[:_GUIDE_SAME]), *different)
            for a, b in picked
        ]
    return pairs


def _perhaps_same(first: dict[str, Any], second: dict[str, Any]) -> bool:
    """Return whether two pages of unlike titles may yet be one; nobody has said so of them.

    Titles that are equal but for their number head one section at two places. Pages of one
    file name are often one page whose title names the architecture ("Installing Debian
    GNU/Linux 12 for amd64"): their texts are equal.
    """
    titles = {_NUMBER.sub("", page["title"], count=1) for page in (first, second)}
    return len(titles) == 1 or first["page"] == second["page"]


def _extracted(archive: Path, files: Sequence[str], cache: Path) -> dict[str, str]:
    """Return the main text of pages of an archive, from the cache where it was kept."""
    # Another extractor, or another choice of pages, is another file.
    extractor = Path(extract.__code__.co_filename).read_bytes()
    told = "\n".join([version("trafilatura"), str(archive), *files]).encode()
    key = hashlib.blake2b(extractor + told, digest_size=8).hexdigest()

    def extracted() -> dict[str, str]:
        bodies = bodies_of(archive, {f"html/{file}" for file in files})
        with ProcessPoolExecutor(PROCESSES) as pool:
            read = pool.map(_main_text, bodies.values(), chunksize=32)
            return dict(zip((name.removeprefix("html/") for name in bodies), read, strict=True))

    texts: dict[str, str] = kept(cache / f"{archive.parent.name}-{key}.json.gz", extracted)
    return texts


def _main_text(html: bytes) -> str:
    return extract(html) or ""


SETS = {
    "copycat": LabelledSet(
        _copycat,
        "web pages of one canonical URL, graded by a person: 3 and 2 the same, 0.5 not, 1 left out",
    ),
    "copycat-strict": LabelledSet(
        _copycat_strict,
        "the same pages: 3 the same, 2, 1 and 0.5 not",
    ),
    "installation-guide": LabelledSet(
        _installation_guide,
        "pages of the Debian guide for two architectures in one of 19 languages:"
        " equal title the same; half of the others are the most alike, half random,"
        " and none has the same file name",
    ),
    "mccormick": LabelledSet(
        _mccormick,
        "1000 articles: 10 planted copies, 500 most alike and 500 random pairs",
    ),
    "clough-stevenson": LabelledSet(
        _clough_stevenson,
        "an answer and the longer article: cut, lightly or heavily revised from it, or not;"
        " derived texts, no near-duplicates: containment is the measure",
    ),
    "tgcontest": LabelledSet(
        _tgcontest,
        "news, mostly Russian, of one event or not; rewritten texts, no near-duplicates",
    ),
}
