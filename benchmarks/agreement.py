"""Compare what every place says of the same pairs of pages with the verdicts on them.

Real pages are decided with the default settings: each release, architecture and package is a site,
a mirror has some pages of each, and a catalogue has items that say of which architecture they are.
There are three crawls. Between the first two, some pairs are reviewed; in the second, some pages
have another text; from then on, some originals are no longer met.

After each batch, verdicts are compared with what is stored of their pages, and with the step that
explains it. At the end, the value that decided, the page that it is to, the reason and the step are
compared for each page that another one decided: in the verdict (the result field of an item), in
`list` and `groups`, in its group and its pair in the browser (with the page that decided, and with
the original), and in what `show` and `compare --explain` have as JSON. For a
sample of them, the commands are run, and the pair is asked for by HTTP. Which step a verdict means
is found by its reason and by the texts of the pages.

    python -m benchmarks.agreement [--data DIR] [--pages N] [--sample 200] [--cache DIR]
        [--json FILE]
"""

from __future__ import annotations

import argparse
import html
import io
import json
import random
import re
import time
from collections import Counter
from contextlib import redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlencode

from rich.console import Console
from rich.table import Table
from scrapy.cmdline import execute
from scrapy.settings import Settings

from benchmarks.data import data_folder
from benchmarks.releases import DEFAULT_CACHE, readings
from benchmarks.web.times import served
from shingling import Page, Store
from shingling.cli.explain import Explained
from shingling.sketch import exact_hash
from shingling.store.decided import Step
from shingling.store.session import Session
from shingling.web.lists import asked_of, groups, members
from shingling.web.pairs import Side, read_pair, steps

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from benchmarks.releases import Read
    from benchmarks.web.times import Application
    from shingling.store import StoredPage, Verdict

SETS = ("waddle", "installation-guide", "llvm-docs", "docs-multilang")
LEAST_PAIRS = 10_000
MIRRORED = 2  # every so many pages are on the mirror as well
CATALOGUED = ("en", "de", "ja")  # languages of the guide
REVIEWED, CHANGED, GONE = 60, 200, 100
MAX_EXAMPLES = 20
AT_ONCE = "store, after the batch"
_BATCH = 64
_CARD = re.compile(r'<div class="decided"><dt>Decided</dt><dd>([^<]*)</dd>')
_STEP = re.compile(r'<tr class="decides"><th scope="row">([^<]*)</th>')


class Said(NamedTuple):
    """What a place says of a page that another one decided; None: nothing of this."""

    value: str | None
    by: str | None = None
    reason: str | None = None
    step: str | None = None

    @classmethod
    def of(cls, shown: Mapping[str, Any] | None) -> Said:
        """Return what JSON with the names of the result field says."""
        if shown is None:
            return cls("none", "none")
        value = shown["containment" if shown["reason"] == "piece" else "resemblance"]
        by = shown["compared_with"] or shown["original"]
        return cls(None if value is None else f"{value:.4f}", by, shown["reason"])

    def agrees(self, verdict: Said) -> bool:
        """Return whether a place says what the verdict says, as far as it says anything."""
        others = zip(self[1:], verdict[1:], strict=True)
        if self.value is None or verdict.value is None:
            return False
        # The browser shows three digits of what has four in JSON.
        near = abs(float(self.value) - float(verdict.value)) <= (
            0.00055 if len(self.value) < len(verdict.value) else 0
        )
        return near and all(own is None or own == other for own, other in others)


@dataclass
class Tally:
    """How often each place agrees with the verdicts, and examples of where it does not."""

    agreed: Counter[str] = field(default_factory=Counter)
    differ: Counter[str] = field(default_factory=Counter)
    kinds: Counter[str] = field(default_factory=Counter)
    examples: list[str] = field(default_factory=list)

    def add(self, place: str, url: str, said: object, verdict: object, *, agrees: bool) -> None:
        """Count what a place says of a page."""
        (self.agreed if agrees else self.differ)[place] += 1
        if not agrees and len(self.examples) < MAX_EXAMPLES:
            self.examples.append(f"{url}\n  verdict: {verdict}\n  {place}: {said}")

    def compare(self, url: str, verdict: Said, places: Mapping[str, Said]) -> None:
        """Count what some places say of a page."""
        for place, said in places.items():
            self.add(place, url, said, verdict, agrees=said.agrees(verdict))


@dataclass(frozen=True)
class Crawled:
    """What the last crawl has said of pages, and the hashes of their texts, by their URLs."""

    verdicts: dict[str, Verdict]
    hashes: dict[str, bytes]

    def said(self, url: str) -> Said:
        """Return what the verdict on a page says."""
        verdict = self.verdicts[url]
        return Said.of(verdict.as_dict())._replace(step=expected_step(verdict, self.hashes, url))


def url_of(name: str, file: str) -> str:
    """Return the URL that a page of a set is stored under."""
    first, _, rest = file.partition("/")
    if name == "waddle":
        return f"https://{rest.split('_')[1]}/{rest}"
    site = {"installation-guide": "guide", "llvm-docs": "llvm"}.get(name, "manual")
    return f"https://{first}.{site}.example/{rest}"


def made_pages(name: str, found: Sequence[Read]) -> Iterator[Page]:
    """Yield the pages of a set: on their sites, on the mirror, and in the catalogue."""
    for number, read in enumerate(found):
        if read.text is None:
            continue
        url = url_of(name, read.file)
        yield Page(url, read.text, title=read.title)
        if number % MIRRORED == 0:
            mirror = f"https://mirror.example/{url.removeprefix('https://')}"
            yield Page(mirror, read.text, title=read.title)
        if name == "installation-guide" and read.file.split("/")[1] in CATALOGUED:
            own = {"architecture": read.file.split("/")[0], "form": "HTML"}
            url = f"https://catalogue.example/{read.file}"
            yield Page(url, read.text, title=read.title, fields=own)


def crawl(
    store: Store,
    pages: Sequence[Page],
    hashes: dict[str, bytes],
    tally: Tally,
    at_once: int = 1,
) -> dict[str, Verdict]:
    """Decide pages in batches, and compare each verdict with what is stored of its page.

    Args:
        store: that decides.
        pages: of one crawl.
        hashes: of the texts of all pages met so far, by URL; it is brought up to date.
        tally: counts.
        at_once: pages in a batch; a page that changes may move others of its batch.
    """
    run = store.start_run("agreement", is_crawl=True)
    verdicts: dict[str, Verdict] = {}
    for start in range(0, len(pages), at_once):
        batch = pages[start : start + at_once]
        for page, verdict in zip(batch, store.check(batch, run=run), strict=True):
            verdicts[page.url] = verdict
            hashes[page.url] = exact_hash(page.text or "")
            if verdict.page_id is None:
                continue
            [stored] = store.find(page.url)
            given, kept = _of_verdict(verdict), _of_page(stored, verdict)
            if verdict.status != "unchanged":
                given["step"] = expected_step(verdict, hashes, page.url)
                asked = steps(Side(stored, None), None, store.scheme)
                kept["step"] = next(one.question for one in asked if one.decides)
            tally.add(AT_ONCE, page.url, kept, given, agrees=given == kept)
    store.finish_run(run, "finished")
    return verdicts


def _of_verdict(verdict: Verdict) -> dict[str, Any]:
    shown = verdict.as_dict()
    if verdict.status == "changed" and verdict.original is None:
        shown["resemblance"] = None  # it is to what the page was
    return {**_common(shown), "status": verdict.status, "duplicate": verdict.is_duplicate}


def _of_page(page: StoredPage, verdict: Verdict) -> dict[str, Any]:
    """Return what is stored; of an original that is unchanged, why it is one is not said again."""
    shown = page.as_dict()
    if verdict.status == "unchanged" and page.resemblance is None and verdict.reason is None:
        shown["reason"] = None
    return {**_common(shown), "status": page.last_verdict, "duplicate": page.original is not None}


def _common(shown: Mapping[str, Any]) -> dict[str, Any]:
    names = ("resemblance", "containment", "threshold", "reason")
    fields = shown["fields"] if shown["reason"] == "other_fields" else None
    by = shown["compared_with"] or shown["original"]
    return {**{name: shown[name] for name in names}, "by": by, "fields": fields}


def expected_step(verdict: Verdict, hashes: Mapping[str, bytes], url: str) -> str:
    """Return the step that a verdict means, by its reason and the texts of the pages."""
    by_reason = {
        "review": Step.REVIEW,
        "original_gone": Step.URL,
        "short": Step.ENOUGH,
        "template": Step.ENOUGH,
    }
    if verdict.reason in by_reason:
        return str(by_reason[verdict.reason].value)
    if not verdict.is_duplicate:
        return str(Step.NEW.value)
    by = verdict.compared_with or verdict.original or ""
    step = Step.SAME if hashes[url] == hashes[by] else Step.NEAR
    return str(step.value)


def three_crawls(store: Store, pages: Sequence[Page], tally: Tally) -> Crawled:
    """Crawl pages three times, and return what the last crawl has said."""
    chance = random.Random(84)
    hashes: dict[str, bytes] = {}
    first = crawl(store, pages, hashes, tally, _BATCH)
    pairs = [(page.url, first[page.url].original) for page in pages if first[page.url].is_duplicate]
    for url, original in chance.sample(pairs, min(REVIEWED, len(pairs))):
        store.admin.review(url, original or "", same=False)
    originals = [page.url for page in pages if first[page.url].status == "new"]
    chosen = chance.sample(originals, 2 * min(REVIEWED, len(originals) // 2))
    for a, b in zip(chosen[::2], chosen[1::2], strict=True):
        store.admin.review(a, b, same=True)
    leading = sorted({original for _, original in pairs if original is not None})
    gone = {*chance.sample(leading, min(GONE, len(leading)))}
    changed = _changed(pages, chance)
    met = [changed.get(page.url, page) for page in pages if page.url not in gone]
    crawl(store, met, hashes, tally)
    return Crawled(crawl(store, met, hashes, tally), hashes)


def _changed(pages: Sequence[Page], chance: random.Random) -> dict[str, Page]:
    """Return pages that have the text of another page now, by their URLs."""
    chosen = chance.sample(pages, 2 * min(CHANGED, len(pages) // 2))
    return {
        page.url: Page(page.url, other.text, title=other.title, fields=page.fields)
        for page, other in zip(chosen[::2], chosen[1::2], strict=True)
    }


def compare_pairs(
    session: Session, crawled: Crawled, tally: Tally
) -> list[tuple[StoredPage, StoredPage]]:
    """Compare what is said of every page that another one decided, and return these pairs."""
    store = Store(session)
    listed = {page.url: page for page in store.pages()}
    in_groups = {page.url: page for group in store.groups() for page in group.duplicates}
    with session.reading() as connection:
        found = groups(connection, asked_of({}), limit=len(listed)).groups
        in_browser = {
            row.page.url: row.page
            for group in found
            for row in members(connection, group.original.id, asked_of({}), limit=len(listed))
        }
    pairs = []
    for url in crawled.verdicts:
        page = listed.get(url)
        if page is None or page.decided_by is None:
            continue
        other = listed[page.decided_by]
        places = {"list": Said.of(page.as_dict()), **_explained(store, page, other)}
        places["pair in the browser"] = _in_browser(session, other, page)
        if page.original is not None:
            places["groups"] = Said.of(in_groups[url].as_dict())
            places["group in the browser"] = Said.of(in_browser[url].as_dict())
            if page.original != other.url:
                head = listed[page.original]
                places["show --explain, beside the original"], _ = _explained(
                    store, page, head
                ).values()
                places["pair with the original"] = _in_browser(session, head, page)
        tally.compare(url, crawled.said(url), places)
        tally.kinds[_kind(page)] += 1
        pairs.append((page, other))
    return pairs


def _kind(page: StoredPage) -> str:
    of = " of another duplicate" if page.original and page.compared_with else ""
    return f"{page.status}{of}{f', {page.reason}' if page.reason else ''}"


def _explained(store: Store, page: StoredPage, other: StoredPage) -> dict[str, Said]:
    """Return what `show --explain` says of a page, and `compare --explain` of both."""
    texts = [store.split_text(one) for one in (page, other)]
    assert texts[0] is not None
    assert texts[1] is not None
    shown = Explained.of_pages(store, page, other, (texts[0], texts[1]))
    turned = Explained.of_pages(store, other, page, (texts[1], texts[0]))
    said = shown.as_dict(store.scheme)["decided"]
    by_turned = None if turned.decision is None else turned.decision.as_dict()
    return {"show --explain": Said.of(said), "compare --explain": Said.of(by_turned)}


def _in_browser(session: Session, other: StoredPage, page: StoredPage) -> Said:
    """Return what the pair in the browser says of a page."""
    pair = read_pair(session, other.url, page.url)
    if pair.decision is None or pair.right.page.url != page.url:
        return Said("none", "none")
    [step] = [one for one in pair.steps if one.decides]
    value, decided = pair.value, pair.decision.page
    return Said(value if value in step.answer else "none", decided.decided_by, None, step.question)


def compare_sample(
    url: str,
    sample: Sequence[tuple[StoredPage, StoredPage]],
    crawled: Crawled,
    application: Application,
    tally: Tally,
) -> None:
    """Run the commands, and ask for the pages by HTTP."""
    for page, other in sample:
        [shown] = json.loads(command("show", page.url, "--json", "--store", url))
        options = ("--explain", "--json", "--store", url)
        compared = json.loads(command("compare", page.url, other.url, *options))
        _, _, body = application.ask(f"/pair?{urlencode({'a': other.url, 'b': page.url})}")
        card, step = _CARD.search(body), _STEP.search(body)
        in_page = Said("none")
        if card is not None and step is not None:
            in_page = Said(card[1], step=html.unescape(step[1]))
        places = {
            "`show --json`": Said.of(shown),
            "`compare --explain --json`": Said.of(compared["explained"]["decided"]),
            "/pair": in_page,
        }
        tally.compare(page.url, crawled.said(page.url), places)


def command(*arguments: str) -> str:
    """Run `scrapy dedup` in this process, and return what it prints."""
    out = io.StringIO()
    with redirect_stdout(out):
        try:
            execute(["scrapy", "dedup", *arguments], settings=Settings())
        except SystemExit as stop:
            if stop.code:
                raise
    return out.getvalue()


def table_of(tally: Tally) -> Table:
    """Return how many pages each place says the same of as the verdict."""
    table = Table("place", "pages", "as the verdict", "other", box=None)
    for place in {**tally.agreed, **tally.differ}:
        agreed, differ = tally.agreed[place], tally.differ[place]
        table.add_row(place, f"{agreed + differ:,}", f"{agreed:,}", f"{differ:,}")
    return table


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", help="folder of the labelled data (default: DEDUP_DATA)")
    parser.add_argument("--pages", type=int, help="of each set (default: all)")
    parser.add_argument("--sample", type=int, default=200, help="of commands and requests")
    parser.add_argument("--cache", type=Path, default=DEFAULT_CACHE, help="for main texts")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    folder = data_folder(options.data)
    pages = [
        page
        for name in SETS
        for page in made_pages(name, readings(folder, name, options.cache)[: options.pages])
    ]
    began, tally = time.perf_counter(), Tally()
    with TemporaryDirectory() as place:
        url = f"sqlite:///{Path(place) / 'dedup.db'}"
        with Store.open(url) as store:
            crawled = three_crawls(store, pages, tally)
        with Session.open(url, create=False) as session:
            pairs = compare_pairs(session, crawled, tally)
        sample = random.Random(84).sample(pairs, min(options.sample, len(pairs)))
        with served(url, Path(place), "--read-only") as application:
            compare_sample(url, sample, crawled, application, tally)
    console = Console(width=120, highlight=False, markup=False)
    console.print(f"{len(pages):,} pages, {len(pairs):,} of which another page decided:")
    console.print(*(f"  {number:,} {kind}" for kind, number in tally.kinds.most_common()), sep="\n")
    console.print(table_of(tally), f"{time.perf_counter() - began:,.0f} s")
    console.print(*tally.examples, sep="\n")
    enough = "" if len(pairs) >= LEAST_PAIRS else f", fewer than {LEAST_PAIRS:,} pairs"
    console.print(f"{'missed' if tally.differ or enough else 'met'}{enough}")
    if options.json:
        written = {"pages": len(pages), "pairs": len(pairs), **vars(tally)}
        options.json.write_text(json.dumps(written, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
