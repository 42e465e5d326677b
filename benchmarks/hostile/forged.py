"""Pages made to look like others, or to be looked up for long: by anybody who has read the code."""

from __future__ import annotations

import random
import time
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.report import Target
from shingling import Page, Rules, Store, sign
from shingling.bulk import Options, deduplicate
from shingling.sketch.minhash import AFFINE
from shingling.sketch.shingles import POLYNOMIAL_BASE, word_hashes
from tests.bulk.collections import write_lines
from tests.support.invariants import text, words
from tests.support.twins import twins, word_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

_BITS = (1 << 64) - 1
_BATCH = 64
_OWN_WORDS = 600
_MEASURED = 10  # batches
_RATIO = 3  # of the time of an ordinary page
_TWINS = 200


def twins_dropped(folder: Path) -> Iterator[Target]:
    """Count pages that are dropped for others with which they share hashes, and no word."""
    texts = [text(words(number, 120)) for number in range(_TWINS)]
    forged = [twins(one) for one in texts]
    with Store.open(f"sqlite:///{folder / 'twins.db'}", rules=Rules(containment=0.9)) as store:
        store.check([Page(f"https://a.example/{at}", one) for at, one in enumerate(texts)])
        found = store.check([Page(f"https://b.example/{at}", one) for at, one in enumerate(forged)])
    rows = [{"id": str(at), "text": one} for at, one in enumerate([*texts, *forged])]
    file = write_lines(folder / "twins.jsonl", rows)
    summary = deduplicate([str(file)], folder / "out", Options(workers=0))
    lost = sum(verdict.original is not None for verdict in found)
    yield Target(f"of {_TWINS} pages of twin words, dropped by the store", lost, 0)
    yield Target("the same in files: removed by bulk", summary.exact + summary.near, 0)


def fixing_words() -> list[str]:
    """Return 84 shingles of five words that make all 84 minima 0, whatever else is there."""
    chance, found = random.Random(84), []
    for multiplier, offset in AFFINE.T.tolist():
        low = -offset * pow(multiplier, -1, 1 << 32) % (1 << 32)
        wanted = _before_fmix64(chance.getrandbits(32) << 32 | low)
        first = words(chance.random().hex(), 4)
        for power, one in zip((4, 3, 2, 1), word_hashes(first).tolist(), strict=True):
            wanted -= one * pow(int(POLYNOMIAL_BASE), power, 1 << 64)
        found += [*first, word_of(wanted & _BITS)]
    return found


def _before_fmix64(value: int) -> int:
    """Return what the finaliser of MurmurHash3 makes this value of."""
    value ^= value >> 33
    value = value * pow(0xC4CEB9FE1A85EC53, -1, 1 << 64) & _BITS
    value ^= value >> 33
    value = value * pow(0xFF51AFD7ED558CCD, -1, 1 << 64) & _BITS
    return value ^ value >> 33


def flooded(folder: Path, pages: int) -> Iterator[Target]:
    """Compare a page that shares all minima with those of a store, and an ordinary page.

    Args:
        folder: of the store.
        pages: so many are stored in the end; the time is also taken at some smaller numbers.
    """
    fixed = fixing_words()

    def forged(number: int) -> Page:
        return _page(number, [*fixed, *words(f"own {number}", _OWN_WORDS)])

    def ordinary(number: int) -> Page:
        padded = (
            f"{word:x<{len(one)}}"
            for word, one in zip(words(number, len(fixed)), fixed, strict=True)
        )
        return _page(number, [*padded, *words(f"own {number}", _OWN_WORDS)])

    assert not sign(text(fixed)).minima.any()
    milestones = {512, 2048, 5632, 20_000, pages}
    with Store.open(f"sqlite:///{folder / 'flood.db'}") as store:
        _took(store, ordinary, 10_000_000, 4)
        for start in range(0, pages, _BATCH):
            store.check([forged(number) for number in range(start, start + _BATCH)])
            if any(start < one <= start + _BATCH for one in milestones):
                now = start + _BATCH
                own = _took(store, forged, 20_000_000 + now * 100)
                usual = _took(store, ordinary, 30_000_000 + now * 100)
                shown = f"{own:.2f} ms, an ordinary one of its length {usual:.2f}"
                name = f"a page of 420 words that fix all minima, beside {now:,} of them: {shown}"
                yield Target(f"{name}; times", own / usual, _RATIO)


def _page(number: int, chosen: list[str]) -> Page:
    main_text = text(chosen)
    return Page(f"https://s{number}.example/{number}", main_text, sign(main_text))


def _took(store: Store, make: Callable[[int], Page], first: int, batches: int = _MEASURED) -> float:
    """CPU milliseconds a page."""
    spent = []
    for batch in range(batches):
        pages = [make(first + batch * _BATCH + at) for at in range(_BATCH)]
        began = time.process_time()
        store.check(pages)
        spent.append(time.process_time() - began)
    return 1000 * float(np.median(spent)) / _BATCH
