"""Texts to 84 minima: this, compiled and in NumPy, beside other libraries, on one thread.

Each library is given what it takes: its time is that of a text, with what it takes to make words
and shingles of five words of it, and that of the same shingles (for ours: words) ready made. Ours
make a SimHash and an exact hash of each text besides, and fold what Unicode says are the same
letters; the others get words by `text.lower().split()`, and hash shingles of words joined by
blanks.

    python -m benchmarks.sign [--data DIR]
"""

from __future__ import annotations

import os
import time
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

os.environ.setdefault("RAYON_NUM_THREADS", "1")  # of rensa, before it is imported

from datasketch import MinHash

from benchmarks.data import data_folder, rows_of
from benchmarks.report import Target, options_of, show
from shingling import Scheme, sign
from shingling.kernel import COMPILED
from shingling.sketch import FUNCTIONS
from shingling.sketch.signature import sign_by_numpy, sign_words
from shingling.text.words import cut_words

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    Work = Callable[[Any], object]

SIZE = 5
WORDS, TEXTS, ROUNDS = 1000, 100, 7
OURS, PURE = "this, compiled", "this, NumPy"
# Our figure, the peer that it is compared with, and the least ratio of their times.
TARGETS = ((OURS, "rensa", 3.0), (OURS, "datasketch", 10.0), (PURE, "datasketch", 2.0))


def shingles_of(text: str) -> list[str]:
    """Return the shingles of a text as a user of the other libraries makes them."""
    words = text.lower().split()
    return [" ".join(words[at : at + SIZE]) for at in range(max(len(words) - SIZE + 1, 1))]


def _datasketch(shingles: Sequence[str]) -> object:
    minhash = MinHash(FUNCTIONS)
    minhash.update_batch([shingle.encode() for shingle in shingles])
    return minhash.digest()


def _rensa() -> tuple[Work, Work]:
    from rensa import RMinHash

    def one(shingles: Sequence[str]) -> object:
        minhash = RMinHash(FUNCTIONS, 1)
        minhash.update(shingles)
        return minhash.digest()

    return lambda text: one(shingles_of(text)), one


def candidates() -> dict[str, tuple[Work, Work]]:
    """Return what is measured: by name, from a text, and from shingles or what it takes."""
    scheme = Scheme()
    found: dict[str, tuple[Work, Work]] = {
        PURE: (
            lambda text: sign_by_numpy(cut_words(text), scheme),
            lambda words: sign_by_numpy(words, scheme),
        ),
        "datasketch": (lambda text: _datasketch(shingles_of(text)), _datasketch),
    }
    if COMPILED:
        found = {OURS: (sign, sign_words), **found}
    if find_spec("rensa"):
        found["rensa"] = _rensa()
    return found


def texts_of(data: Path) -> list[str]:
    """Return texts made of real articles, one after the other."""
    rows = rows_of(data / "mccormick" / "articles_1000.jsonl.gz")
    pool = [word for row in rows for word in row["text"].split(" ")]
    return [" ".join(pool[at * WORDS : (at + 1) * WORDS]) for at in range(TEXTS)]


def measure(texts: Sequence[str], rounds: int) -> dict[str, dict[str, float]]:
    """Return milliseconds a text, of the best round, by turns."""
    ready = {True: [cut_words(text) for text in texts], False: [*map(shingles_of, texts)]}
    found = candidates()
    taken: dict[tuple[str, str], list[float]] = {}
    for _ in range(rounds):
        for name, (from_text, from_ready) in found.items():
            given: Sequence[Any] = ready[name in (OURS, PURE)]
            for what, work, things in (("text", from_text, texts), ("ready", from_ready, given)):
                began = time.perf_counter()
                for thing in things:
                    work(thing)
                seconds = time.perf_counter() - began
                taken.setdefault((name, what), []).append(1000 * seconds / len(texts))
    return {name: {what: min(taken[name, what]) for what in ("text", "ready")} for name in found}


def main() -> None:
    """Print the table and the targets."""
    options = options_of(__doc__, data=True).parse_args()
    texts = texts_of(data_folder(options.data))
    figures = measure(texts, ROUNDS)
    fastest = min(one["text"] for one in figures.values())
    show(
        ("ms a text", "from text", "/ fastest", "from ready shingles"),
        (
            (name, f"{one['text']:.3f}", f"{one['text'] / fastest:.1f}", f"{one['ready']:.3f}")
            for name, one in figures.items()
        ),
        f"{TEXTS} texts of {WORDS} words, best of {ROUNDS} rounds",
    )
    for ours, peer, least in TARGETS:
        if ours in figures and peer in figures:
            ratio = figures[peer]["text"] / figures[ours]["text"]
            print(Target(f"{peer} / {ours}, from text", ratio, least, at_least=True))


if __name__ == "__main__":
    main()
