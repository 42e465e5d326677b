"""Whether a store is in order after an attack, and whether drops were right."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import unicodedata
from collections import Counter, defaultdict
from typing import TYPE_CHECKING, TypeAlias

from benchmarks.hostile.project import ROOT
from shingling.text import unpack
from tests.support.invariants import verify
from tests.support.stores import rows_of

if TYPE_CHECKING:
    from pathlib import Path

    Shingles: TypeAlias = set[tuple[str, ...]]

_SHINGLE_WORDS = 5
_TEMPLATE_PAGES = 3  # of a site, that have a line: then it may be template
# A character of a script without spaces is a word.
_WORD = re.compile(
    r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]|\w+"
)


def faults_of(store: Path) -> list[str]:
    """List what is wrong with a store: by the tests' invariants, and by `scrapy dedup check`."""
    found = []
    try:
        verify(store)
    except AssertionError as error:
        found.append(f"the store is not sound: {error or 'see tests/support/invariants.py'}")
    done = subprocess.run(
        [sys.executable, "-m", "scrapy", "dedup", "check"],
        cwd=store.parent,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        found.append(f"scrapy dedup check: {done.stdout[-1000:]}{done.stderr[-1000:]}")
    return found


def words_of(text: str) -> list[str]:
    """Words of a text, by a rule of our own: letters and digits, without marks, case folded."""
    plain = unicodedata.normalize("NFKD", text).casefold()
    return _WORD.findall("".join(one for one in plain if one.isspace() or _is_seen(one)))


def _is_seen(character: str) -> bool:
    return unicodedata.category(character)[0] not in "MC"


def _shingles(text: str) -> Shingles:
    words = words_of(text)
    ends = range(max(len(words) - _SHINGLE_WORDS + 1, 1))
    return {tuple(words[at : at + _SHINGLE_WORDS]) for at in ends}


def resemblance(one: str, other: str) -> float:
    """Resemblance of two texts: shingles that they share / shingles of both (Jaccard)."""
    first, second = _shingles(one), _shingles(other)
    return len(first & second) / max(len(first | second), 1)


class Lines:
    """Lines that several pages of a site have, in a store: what may count as its template."""

    def __init__(self, store: Path) -> None:
        self._pages: defaultdict[str, Counter[str]] = defaultdict(Counter)
        query = "SELECT url, zlib FROM pages JOIN texts ON page_id = id"
        for url, packed in rows_of(store, query):
            self._pages[_site(url)].update({_line(line) for line in unpack(packed).splitlines()})

    def without(self, text: str, url: str) -> str:
        """Leave out of a page's text what other pages of its site have as well."""
        pages = self._pages[_site(url)]
        return "\n".join(line for line in text.splitlines() if pages[_line(line)] < _TEMPLATE_PAGES)


def _site(url: str) -> str:
    return url.split("/")[2] if url.count("/") > 1 else ""


def _line(line: str) -> str:
    return "".join(re.findall(r"[^\W\d_]+", line.casefold()))
