"""Ten thousand mutated pages: nothing is lost, nothing is dropped wrongly, nothing is said.

For each crawl: every page is asked for, and ends as an item that came out, as one that was dropped
as a duplicate, or as an answer that Scrapy itself refuses (a redirect to nowhere, a body that was
cut on its way). Each dropped page is compared with its original by a measure of our own. Its words
and its reading of what is template are not those of the plugin, so that a few drops may be unlike
their originals by the one and not by the other: `scrapy dedup compare A B --explain` tells which.
"""

from __future__ import annotations

import math
import re
import unicodedata
import zlib
from collections import Counter, defaultdict
from functools import cache
from html import unescape
from typing import TYPE_CHECKING, TypeAlias
from urllib.parse import urljoin

from w3lib.encoding import http_content_type_encoding

from benchmarks.hostile.project import Project, number_of
from benchmarks.hostile.server import Reply, serving
from benchmarks.processes import ROOT, stats_of
from benchmarks.report import Target
from shingling import Scheme, canonical_words
from shingling.extraction.extractors import BUILT_IN
from shingling.extraction.pages import Fetched, PageExtractor
from shingling.rules import DEFAULT_THRESHOLD
from shingling.store.urls import safe_url
from shingling.text import unpack
from tests.support.crawls import run_scrapy
from tests.support.invariants import verify
from tests.support.stores import rows_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from benchmarks.hostile.mutations import Mutator
    from benchmarks.hostile.project import Events

    Shingles: TypeAlias = set[tuple[str, ...]]

_SLACK = 0.05  # our words and lines are not exactly those of the plugin
_SHOWN = 10  # of what is wrong
# What may be in the log, and why.
EXPLAINED = {
    "broken answers": r"Gave up retrying <GET \S+> .failed 3 times.: (.*ConnectionDone.*)?$",
    "the first of these answers": r"Got data loss in",
    "URLs of canonical links that are another page's": r"url_mismatch",
    "bodies that Scrapy cannot unpack": r"(decompress|gzip|deflate|zlib)",
    "most pages of this part have hardly any text": r"Dedup did not compare \d+ of \d+ items",
    "redirects to URLs that are none": r"(Ignoring|Redirect)",
    "no worker for pages that could hold up the crawl": r"are skipped .needs_worker.",
}
_MAX_LINE = 300  # characters of what is printed of a page or a line of the log
_LINE = re.compile(
    r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d \[[^\]]*\] (WARNING|ERROR|CRITICAL): .*$", re.M
)


_SHINGLE_WORDS = 5
_TEMPLATE_PAGES = (2, 3, 5)  # of a site, that have a line: readings of what template may be
# A character of a script without spaces is a word.
_WORD = re.compile(
    r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]|\w+"
)
COLUMNS = (
    *("crawl", "pages", "out", "dropped", "refused", "errors", "explained", "unlike", "wrong"),
    "s",
)
_ENDS = ("out", "dropped", "failed")


class Result:
    """A crawl of mutated pages, and what came of it.

    Args:
        mutator: makes the pages.
        pages: so many.
        way: extractor, workers and action of the crawl.
    """

    def __init__(self, mutator: Mutator, pages: int, way: Sequence[str]) -> None:
        self.name = " ".join(way)
        self.pages = pages
        self.counts: Counter[str] = Counter()  # of the ends of pages
        self.wrong: list[str] = []
        self.unlike: list[str] = []
        self.statuses: Counter[str] = Counter()
        self.explained: Counter[str] = Counter()
        self._seconds = math.nan
        self._mutator = mutator
        self._way = way
        self._extractor = PageExtractor(Scheme(), BUILT_IN[way[0]])

    @property
    def errors(self) -> int:
        """How much of what is wrong is an error."""
        return sum("error" in one for one in self.wrong)

    @property
    def row(self) -> tuple[object, ...]:
        """The figures of the table."""
        return (
            *(self.name, self.pages, *(self.counts[name] for name in _ENDS), self.errors),
            *(self.explained.total(), len(self.unlike), len(self.wrong), f"{self._seconds:.0f}"),
        )

    def crawl(self, project: Project) -> None:
        """Crawl all pages, and check what comes of it."""
        pages = range(self.pages)
        project.list_urls((n, self._mutator.url(n), self._mutator.make(n).use) for n in pages)
        crawling = project.crawl(*self._way)
        status = crawling.wait(60 + self.pages)
        log, events = crawling.log, project.events()
        self._seconds = stats_of(log).get("elapsed_time_seconds", math.nan)
        self.counts.update({name: len(events[name]) for name in _ENDS})
        for event in (*events["out"], *events["dropped"]):
            self.statuses[" ".join(filter(None, (event["status"], event["reason"])))] += 1
        self.wrong += [f"exit status {status}"] if status else []
        self._check_ends(events)
        self._check_log(log)
        self._check_drops(events, StoredTexts(project.store))
        self.wrong += faults_of(project.store)

    def _check_ends(self, events: Events) -> None:
        """Note pages that have not ended exactly once, or that Scrapy should not have refused."""
        ends = Counter(event["number"] for name in _ENDS for event in events[name])
        self.wrong += [f"page {n} ended {ends[n]} times" for n in range(self.pages) if ends[n] != 1]
        for event in events["failed"]:
            if not (made := self._mutator.make(event["number"])).may_fail:
                self.wrong.append(f"page {event['number']} ({made.names}): {event['error']}")
        for event in (*events["out"], *events["dropped"]):
            if event["status"] is None or event["reason"] == "error":
                self.wrong.append(f"page {event['number']}: verdict {event}")
        self.wrong += [f"page {event['number']}: {event['error']}" for event in events["error"]]

    def _check_drops(self, events: Events, stored: StoredTexts) -> None:
        """Note drops of pages that are not like their originals."""
        bodies = {event["number"]: event["url"] for event in events["response"]}
        named = defaultdict(set)  # answers by the URLs that their items may be stored under
        # A duplicate stands for its group when the page of its original changes.
        for event in (*events["out"], *events["dropped"]):
            answered = bodies[event["number"]]
            for url in (answered, event["url"], _joined(answered, event["url"])):
                named[url].add(answered)
        for event in events["dropped"]:
            own, is_exact = bodies[event["number"]], event["status"] == "exact"
            page, url = (self._text(own), own), event["original"]
            # A page whose item names no page of its own has a URL that only the store knows.
            originals = [(self._text(one), one) for one in named[url]] or [(stored.get(url), url)]
            if is_exact and canonical_words(page[0]) in [canonical_words(o) for o, _ in originals]:
                continue
            # The page that an exact copy has the text of may be a near-duplicate of the original.
            measured = [stored.resemblance(page, one) for one in originals]
            if max(measured) < DEFAULT_THRESHOLD - _SLACK:
                shown = ", ".join(f"{one:.2f}" for one in measured)
                line = f"page {event['number']} is {shown} like its original: {event}"
                self.unlike.append(line[:_MAX_LINE])

    @cache  # noqa: B019 (as long as the benchmark)
    def _text(self, url: str) -> str:
        """Extract the main text of what was answered under a URL."""
        made = self._mutator.make(number_of(url))
        if made.use == "html":
            fetched = Fetched(made.body.decode("utf-8", "replace"), is_html=True, url=url)
        else:
            header = dict(made.reply.headers).get("Content-Type", "")
            encoding = http_content_type_encoding(header)
            fetched = Fetched(_received(made.reply), is_html=True, url=url, encoding=encoding)
        return self._extractor.extract(fetched).text or ""

    def _check_log(self, log: str) -> None:
        """Note what is in a log that nothing explains; count what is explained."""
        if "Traceback" in log:
            self.wrong.append("a traceback is in the log")
        for line in _LINE.finditer(log):
            found = [why for why, text in EXPLAINED.items() if re.search(text, line[0], re.I)]
            self.explained.update(found[:1])
            if not found:
                self.wrong.append(line[0][:_MAX_LINE])


def _joined(page: str, url: str) -> str:
    """URL that an item is stored under: it may be relative to its page's, or no URL at all."""
    try:
        return safe_url(urljoin(page, url))
    except ValueError:
        return safe_url(url)


def _received(reply: Reply) -> bytes:
    """Body of an answer without its coding; as much as there is of it."""
    coding = dict(reply.headers).get("Content-Encoding")
    if coding is None:
        return reply.body
    reader = zlib.decompressobj(wbits=47 if coding == "gzip" else 15)
    try:
        return reader.decompress(reply.body)
    except zlib.error:
        return b""


def run(folder: Path, mutator: Mutator, pages: int, ways: Iterable[Sequence[str]]) -> list[Result]:
    """Crawl all pages once in each way: extractor, workers, action."""

    def answer(url: str) -> Reply:
        try:
            return mutator.make(number_of(url)).reply
        except ValueError:
            return Reply(b"", status=404)

    results = []
    with serving(answer) as proxy:
        for way in ways:
            result = Result(mutator, pages, way)
            result.crawl(Project(folder / "-".join(way), proxy))
            results.append(result)
    return results


def shown(results: Sequence[Result]) -> list[str]:
    """Say what is wrong with crawls, what explains the log, and the verdicts."""
    lines = []
    for result in results:
        verdicts = ", ".join(f"{count} {name}" for name, count in result.statuses.most_common())
        lines.append(f"{result.name}: {verdicts}")
        lines += [f"    {count} x {why}" for why, count in result.explained.most_common()]
        lines += [f"    UNLIKE: {one}" for one in result.unlike[:_SHOWN]]
        lines += [f"    WRONG: {one}" for one in result.wrong[:_SHOWN]]
    return lines


def targets(results: Sequence[Result]) -> list[Target]:
    """Return the figures that must be met."""
    lost = sum(abs(one.pages - one.counts.total()) for one in results)
    dropped = max(sum(one.counts["dropped"] for one in results), 1)
    unlike = sum(len(one.unlike) for one in results)
    return [
        Target("mutated pages whose item was lost", lost, 0),
        Target("mutated pages: errors", sum(one.errors for one in results), 0),
        Target("mutated pages: all that is wrong", sum(len(one.wrong) for one in results), 0),
        Target("mutated pages: share of drops unlike their original", unlike / dropped, 0.005),
    ]


# Whether a store is in order, and how alike two pages are, by rules of our own


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
    """Words of a text, by a rule of our own: letters and digits, without marks, case folded.

    References to characters are what they stand for: some texts are escaped twice.
    """
    plain = unicodedata.normalize("NFKD", unescape(text)).casefold()
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
