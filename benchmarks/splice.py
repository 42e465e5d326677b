"""Collections of any size, made of real texts.

A row is 300 words: pieces of 8 words, from random places of real articles (mccormick, waddle,
article-extraction). A piece has four shingles of five words that are whole, so that two rows which
have one in common remain .007 alike; most rows have such a piece in common with thousands of
others of ten million, as articles on one subject have. Of 100 rows, 5 are the words of an earlier
row again, and 10 are an earlier row in which runs of words were replaced: from 1 to 12 of its
pieces, so that they are .4 to .95 alike. Any row can be made again from its number alone.
"""

from __future__ import annotations

import json
import random
import re
from typing import TYPE_CHECKING

from benchmarks.data import rows_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PIECE = 8  # words
PIECES = 38


class Splicer:
    """Makes rows.

    Args:
        data: folder of the labelled data.
    """

    def __init__(self, data: Path) -> None:
        self._words = [word for text in _texts(data) for word in text.split()]
        self._last = len(self._words) - PIECE

    def row(self, number: int) -> tuple[str, int | None]:
        """Return the text of a row, and the number of the row that it was made of."""
        rnd = random.Random(number)
        kind = number % 20
        if number < 20 or kind not in (7, 13, 19):
            return self._text(rnd), None
        source = rnd.randrange(number - number % 20)
        while source % 20 in (7, 13, 19) and source >= 20:
            source = rnd.randrange(number - number % 20)
        text = self._text(random.Random(source))
        if kind == 7:
            return text, source
        pieces = text.split()
        for _ in range(rnd.randint(1, 12)):
            place = PIECE * rnd.randrange(PIECES)
            start = rnd.randrange(self._last)
            pieces[place : place + PIECE] = self._words[start : start + PIECE]
        return " ".join(pieces), source

    def _text(self, rnd: random.Random) -> str:
        words, last = self._words, self._last
        starts = [int(rnd.random() * last) for _ in range(PIECES)]
        return " ".join([word for start in starts for word in words[start : start + PIECE]])

    def write(self, file: Path, rows: range) -> None:
        """Write rows as JSON lines of `id` and `text`."""
        file.parent.mkdir(parents=True, exist_ok=True)
        with file.open("w", encoding="utf-8") as out:
            for number in rows:
                row = {"id": str(number), "text": self.row(number)[0]}
                out.write(json.dumps(row, ensure_ascii=False) + "\n")


def _texts(data: Path) -> Iterator[str]:
    """Yield real articles as lines of words."""
    for name, field in (
        ("mccormick/articles_2500", "text"),
        ("waddle/manifest", "gold"),
        ("article-extraction/manifest", "gold"),
    ):
        for row in rows_of(data / f"{name}.jsonl.gz"):
            yield re.sub(r"<[^>]*>", " ", row[field] or "")
