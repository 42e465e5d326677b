"""The labelled pages of benchmarks/verdicts.py, which of them are alike, and the scores."""

from __future__ import annotations

from collections import Counter, defaultdict
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias
from unittest.mock import patch
from urllib.parse import quote

import trafilatura
from fastwarc.warc import WarcRecord, WarcRecordType
from lxml.html import document_fromstring
from scrapy import Request

from benchmarks.data import bodies_of, rows_of
from shingling.errors import ExtractionError
from shingling.extraction.main_text import extract_page
from shingling.extraction.trafilatura import FastTrafilaturaPage
from shingling.similarity.measures import overlap
from shingling.sketch import Scheme, fingerprint_set_of_words
from shingling.store.urls import safe_url, site_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    Flags: TypeAlias = dict[int, int]  # flagged pages, each with its original

DIFFERENT = 0.5  # resemblance below which pages are different ones
ALL, EVEN, ODD = "all", "even sites", "odd sites"

_SCHEME = Scheme()

_ANSWER = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {length}\r\n\r\n"


@dataclass(frozen=True)
class LabelledPage:
    """A page and what is known of it.

    Args:
        file: its name in the data.
        url: that it is crawled under.
        key: pages of two keys need not be found, however alike they are.
        groups: that it is counted in.
        gold: its main text, where a person has cut it out.
        body: HTML.
    """

    file: str
    url: str
    key: str = ""
    groups: tuple[str, ...] = (ALL,)
    gold: str | None = None
    body: bytes = b""


def main_text(body: bytes) -> str:
    """Return what trafilatura takes for the main text when it is asked for nothing else."""
    return trafilatura.extract(body, include_comments=False, deduplicate=False) or ""


def handbook_text(body: bytes) -> str:
    """Return the whole text of a page of the handbook, without its navigation."""
    tree = document_fromstring(body)
    around = "@id='banner' or @id='title' or contains(@class, 'docnav')"
    for element in tree.xpath(f"//body/*[{around}]"):
        element.drop_tree()
    return " ".join(tree.xpath("//body//text()"))


@dataclass(frozen=True)
class VerdictSet:
    """How the pages of a set are labelled.

    Args:
        pages: takes the rows of the manifest, and returns the pages without their HTML.
        truth: what must be found, in words.
        must_find: resemblance to an earlier page from which on a page must be flagged.
        text: takes the HTML of a page, and returns the text by which it is like others, unless
            a person has cut it out.
    """

    pages: Callable[[list[dict[str, Any]]], list[LabelledPage]]
    truth: str
    must_find: float = 0.8
    text: Callable[[bytes], str] = main_text


def _waddle(rows: list[dict[str, Any]]) -> list[LabelledPage]:
    pages = []
    for row in rows:
        host = row["file"].split("_")[1]  # html/20120101_host_...
        gold = row["gold"].replace("<p>", "\n").replace("</p>", "\n")
        pages.append(LabelledPage(row["file"], f"http://{host}/{row['file']}", gold=gold))
    sites = sorted({site_of(page.url) for page in pages})
    half = {site: (EVEN, ODD)[number % 2] for number, site in enumerate(sites)}
    return [replace(page, groups=(ALL, half[site_of(page.url)])) for page in pages]


def _guide(rows: list[dict[str, Any]]) -> list[LabelledPage]:
    keys = (f"{row['lang']}\t{row['title']}" for row in rows)
    return _of_one_site("guide", rows, keys)


def _llvm(rows: list[dict[str, Any]]) -> list[LabelledPage]:
    return _of_one_site("llvm", rows, (row["page"] for row in rows))


def _handbook(rows: list[dict[str, Any]]) -> list[LabelledPage]:
    return _of_one_site("handbook", rows, (row["group"] for row in rows))


def _of_one_site(name: str, rows: list[dict[str, Any]], keys: Iterable[str]) -> list[LabelledPage]:
    return [
        LabelledPage(row["file"], f"http://{name}.example/{row['file']}", key)
        for row, key in zip(rows, keys, strict=True)
    ]


def _web(rows: list[dict[str, Any]]) -> list[LabelledPage]:
    urls = [row["url"] or "" for row in rows]
    # As Scrapy requests them, and the store knows them.
    urls = [safe_url(Request(url).url) if url.startswith("http") else "" for url in urls]
    uses = Counter(urls)
    return [
        LabelledPage(
            row["file"],
            url if url and uses[url] == 1 else f"http://unknown.example/{quote(row['file'])}",
        )
        for row, url in zip(rows, urls, strict=True)
    ]


def _gold_of_urls(rows: list[dict[str, Any]]) -> list[LabelledPage]:
    return [LabelledPage(row["file"], row["url"], gold=row["gold"]) for row in rows]


def _gold(rows: list[dict[str, Any]]) -> list[LabelledPage]:
    return [
        replace(page, gold=row["gold"], groups=(ALL, (EVEN, ODD)[int(row["group"]) % 2]))
        for page, row in zip(_web(rows), rows, strict=True)
    ]


VERDICT_SETS = {
    "waddle": VerdictSet(_waddle, "gold texts >= 0.8 alike"),
    "installation-guide": VerdictSet(_guide, "same language and title, main texts >= 0.8 alike"),
    "llvm-docs": VerdictSet(_llvm, "same path, main texts >= 0.8 alike"),
    "trafilatura-eval": VerdictSet(_web, "main texts >= 0.5 alike", must_find=0.5),
    "article-extraction": VerdictSet(_web, "main texts >= 0.5 alike", must_find=0.5),
    "gold-articles": VerdictSet(_gold, "gold texts >= 0.8 alike"),
    "debian-docs": VerdictSet(_gold_of_urls, "gold texts >= 0.8 alike"),
    "gimp-help": VerdictSet(_gold_of_urls, "gold texts >= 0.8 alike"),
    "singular": VerdictSet(_gold_of_urls, "gold texts >= 0.8 alike"),
    "django": VerdictSet(_gold_of_urls, "gold texts >= 0.8 alike"),
    "handbook-languages": VerdictSet(
        _handbook, "same file, whole texts >= 0.8 alike", must_find=0.0, text=handbook_text
    ),
}


def labelled_pages(folder: Path, name: str, most: int | None = None) -> list[LabelledPage]:
    """Return the first pages of one of `VERDICT_SETS`, in the order of the manifest."""
    rows = rows_of(folder / name / "manifest.jsonl.gz")
    pages = VERDICT_SETS[name].pages(rows)[:most]
    bodies = bodies_of(folder / name / "html.tar.xz", {page.file for page in pages})
    return [replace(page, body=bodies[page.file]) for page in pages]


def write_warc(path: Path, pages: Iterable[LabelledPage]) -> None:
    """Write pages as the responses of a crawl."""
    with path.open("wb") as file:
        for page in pages:
            record = WarcRecord()
            record.init_headers(record_type=WarcRecordType.response)
            record.headers["WARC-Target-URI"] = page.url
            record.headers["Content-Type"] = "application/http; msgtype=response"
            record.set_bytes_content(_ANSWER.format(length=len(page.body)).encode() + page.body)
            record.write(file)


def texts_of(name: str, pages: Sequence[LabelledPage]) -> list[str]:
    """Return the texts by which pages of one of `VERDICT_SETS` are alike."""
    if all(page.gold is not None for page in pages):
        return [page.gold or "" for page in pages]
    with ProcessPoolExecutor() as pool:
        return [*pool.map(VERDICT_SETS[name].text, [page.body for page in pages], chunksize=8)]


def asked_share(pages: Sequence[LabelledPage]) -> float:
    """Return the share of pages of which `quick` asks trafilatura, too."""
    with ProcessPoolExecutor() as pool:
        return sum(pool.map(_asks, [page.body for page in pages], chunksize=8)) / len(pages)


def _asks(body: bytes) -> bool:
    with patch.object(FastTrafilaturaPage, "parse", return_value=None) as parse:
        with suppress(ExtractionError):
            extract_page(body)
        return parse.called


class Truth:
    """Which pages are alike, by the 5-word shingles of their gold texts or main texts.

    Args:
        pages: in the order in which they are crawled.
        texts: theirs.
        least: resemblance to an earlier page from which on a page must be flagged.
    """

    def __init__(self, pages: Sequence[LabelledPage], texts: Iterable[str], least: float) -> None:
        self.pages = pages
        self._shingles = [
            fingerprint_set_of_words(_SCHEME.canonical.words(text), _SCHEME) for text in texts
        ]
        self._least = least

    def resemblance(self, a: int, b: int) -> float:
        """Return shared shingles / all shingles of two pages; 0 where one has none."""
        one, other = self._shingles[a], self._shingles[b]
        return overlap(one, other).resemblance if len(one) and len(other) else 0.0

    @cached_property
    def must_find(self) -> dict[int, int]:
        """Return the pages to be flagged, each with the earlier one that it is most like."""
        members = defaultdict(list)
        for number, page in enumerate(self.pages):
            members[page.key].append(number)
        found = {}
        for numbers in members.values():
            for place, number in enumerate(numbers):
                alike = {other: self.resemblance(number, other) for other in numbers[:place]}
                best = max(alike, key=alike.__getitem__, default=None)
                if best is not None and alike[best] >= self._least:
                    found[number] = best
        return dict(sorted(found.items()))


@dataclass(frozen=True)
class Tally:
    """What verdicts on some pages come to.

    Args:
        pages: all of them.
        flagged: those with an original.
        false: of those, the ones that are not like it.
        other_key: of those, the ones whose original has another key.
        must_find: pages that must be flagged.
        found: of those, the flagged ones.
    """

    pages: int
    flagged: int
    false: int
    other_key: int
    must_find: int
    found: int

    @property
    def precision(self) -> float | None:
        """Return the share of flagged pages that are not false; None where none is flagged."""
        return (self.flagged - self.false) / self.flagged if self.flagged else None

    @property
    def recall(self) -> float | None:
        """Return the share of pages found that must be; None where there are none."""
        return self.found / self.must_find if self.must_find else None


def score(flags: Flags, truth: Truth) -> dict[str, Tally]:
    """Return the figures of verdicts by group of pages."""
    members = defaultdict(list)
    for number, page in enumerate(truth.pages):
        for group in page.groups:
            members[group].append(number)
    false = {page for page, _ in false_pairs(flags, truth)}
    return {group: _tally(set(members[group]), flags, false, truth) for group in sorted(members)}


def _tally(members: set[int], flags: Flags, false: set[int], truth: Truth) -> Tally:
    flagged = members & flags.keys()
    must_find = members & truth.must_find.keys()
    return Tally(
        pages=len(members),
        flagged=len(flagged),
        false=len(flagged & false),
        other_key=sum(truth.pages[page].key != truth.pages[flags[page]].key for page in flagged),
        must_find=len(must_find),
        found=len(must_find & flagged),
    )


def false_pairs(flags: Flags, truth: Truth) -> list[tuple[int, int]]:
    """Return pages that are not like the originals that they are flagged with."""
    return [pair for pair in sorted(flags.items()) if truth.resemblance(*pair) < DIFFERENT]


def missed_pairs(flags: Flags, truth: Truth) -> list[tuple[int, int]]:
    """Return pages that should have been flagged, with the earlier pages most like them."""
    return [pair for pair in truth.must_find.items() if pair[0] not in flags]
