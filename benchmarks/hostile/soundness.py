"""Whether a store is in order after an attack, and whether drops were right."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter, defaultdict
from typing import TYPE_CHECKING, TypeAlias

from benchmarks.processes import ROOT
from shingling.text import unpack
from tests.support.crawls import run_scrapy
from tests.support.invariants import verify
from tests.support.stores import rows_of

if TYPE_CHECKING:
    from pathlib import Path

    Shingles: TypeAlias = set[tuple[str, ...]]

_SHINGLE_WORDS = 5
_TEMPLATE_PAGES = (2, 3, 5)  # of a site, that have a line: readings of what template may be
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
    done = run_scrapy(store.parent, "dedup", "check", PYTHONPATH=str(ROOT))
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


class StoredTexts:
    """Texts of a store, and lines of them that several pages of a site have."""

    def __init__(self, store: Path) -> None:
        self._pages: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self._packed = {}
        query = "SELECT url, zlib FROM pages JOIN texts ON page_id = id"
        for url, packed in rows_of(store, query):
            self._packed[url] = packed
            self._pages[_site(url)].update({_line(line) for line in unpack(packed).splitlines()})

    def get(self, url: str) -> str:
        """Text of a page; empty where there is none."""
        return unpack(self._packed[url]) if url in self._packed else ""

    def resemblance(self, one: tuple[str, str], other: tuple[str, str]) -> float:
        """Resemblance of two pages: of their texts, or without what may be template of a site.

        Args:
            one: text and URL of a page.
            other: those of the other one.

        Returns:
            The greatest of all readings of what template may be.
        """
        found = [resemblance(one[0], other[0])]
        for pages in _TEMPLATE_PAGES:
            left = [self._without(text, url, pages) for text, url in (one, other)]
            if all(left):
                found.append(resemblance(*left))
        return max(found)

    def _without(self, text: str, url: str, pages: int) -> str:
        """Leave out of a page's text what so many pages of its site have as well."""
        seen = self._pages[_site(url)]
        return "\n".join(line for line in text.splitlines() if seen[_line(line)] < pages)


def _site(url: str) -> str:
    return url.split("/")[2] if url.count("/") > 1 else ""


def _line(line: str) -> str:
    return "".join(re.findall(r"[^\W\d_]+", line.casefold()))
