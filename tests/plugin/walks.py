"""Random walks of a store: crawls, of which some lose items or are killed, and its maintenance.

Run by `python -m tests.plugin.walks`, it takes many, and prints those that go wrong.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import random
import sys
import tempfile
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrapy import signals
from scrapy.exceptions import DropItem
from scrapy.utils.test import get_crawler

from shingling import Rules, Store
from shingling.admin.records import read_export
from shingling.admin.transfer import export, restore
from shingling.plugin.items.decider import ItemDecider
from shingling.plugin.report import DuplicatePage, Report
from shingling.plugin.settings import DedupSettings
from shingling.rules.reasons import Reason
from shingling.store.forgetting import Chosen, forget
from tests.support.invariants import ending, text, words
from tests.support.postgres import shared_database
from tests.support.stores import execute, rows_of, session_of, url_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from shingling import Page, Verdict

URLS = [f"http://{host}.test/{path}" for host in "abcd" for path in (1, 2)]
ARTICLES, VARIANTS, PRICES = 3, 3, (10, 12)
YEAR_AGO = 400 * 86_400
FEW_STEPS = 14


@dataclass(frozen=True)
class Said:
    """What the item of a page says."""

    text: str
    title: str
    price: int


NOTHING = Said("", "", 0)


def article(number: int, variant: int) -> str:
    base = words(f"article {number}", 60)
    return text(ending(base, f"{number} {variant}", 3 * variant) if variant else base)


class Walk:
    """One walk, and what must be true of it.

    Args:
        seed: of all that is drawn.
        file: of the store.

    Attributes:
        came: what has come out of each URL last.
        wrong: what should not have happened.
    """

    def __init__(self, seed: int, file: Path) -> None:
        self.draw, self.file, self.stores = random.Random(seed), file, 0
        self.web: dict[str, Said | None] = {}
        self.before: dict[str, Said | None] = {}
        self.came: dict[str, Said] = {}
        self.rested: set[str] = {*URLS}  # no originals, gone or forgotten since they came out
        self.is_careful = True  # nothing was killed, or dropped by a later pipeline
        self.job: dict[str, Any] | None = None  # of a crawl that was paused
        self.threshold = 0.8
        self.steps: list[str] = []
        self.wrong: list[str] = []
        for url in URLS:
            self.change(url)
        self.open().close()

    def take(self) -> list[str]:
        """Take the walk: what was wrong."""
        for _ in range(self.draw.randint(4, FEW_STEPS)):
            step = self.draw.choices(
                [
                    *(self.crawl_some, self.change_some, self.forget, self.review, self.rebuild),
                    *(self.prune, self.carry_over),
                ],
                [10, 6, 3, 2, 2, 1, 1],
            )[0]
            self.steps.append(step.__name__)
            step()
            self.note_rested()
        for _ in range(3):
            self.crawl([url for url in URLS if self.web[url]], drop_unchanged=True)
        self.check_end()
        return self.wrong

    def change(self, url: str) -> None:
        """Have a page say something else, what it said before, or nothing, or be gone."""
        kind, now = self.draw.random(), self.web.get(url)
        before, self.before[url] = self.before.get(url), now
        if kind < 0.12:
            self.web[url] = None
        elif kind < 0.4 and before is not None:
            self.web[url] = before
        elif kind < 0.45:
            self.web[url] = NOTHING
        else:
            number, variant = self.draw.randrange(ARTICLES), self.draw.randrange(VARIANTS)
            price = self.draw.choices(PRICES, [8, 1])[0]
            self.web[url] = Said(article(number, variant), f"Title {number}", price)

    def change_some(self) -> None:
        for url in self.draw.sample(URLS, self.draw.randint(1, 3)):
            self.change(url)

    def open(self) -> Store:
        return Store.open(url_of(self.file), rules=Rules(threshold=self.threshold))

    def forget(self) -> None:
        one, other = self.draw.sample(URLS, 2)
        with self.open() as store:
            last = store.runs(1)
            chosen = self.draw.choice(
                [
                    Chosen([one]),
                    Chosen([one, other]),
                    Chosen(site=one.split("/")[2]),
                    Chosen(run=last[0].id if last else 1),
                    Chosen(every=True),
                ]
            )
            forget(session_of(store), chosen)

    def prune(self) -> None:
        with self.open() as store:
            for url in self.draw.sample(URLS, 2):
                age = f"UPDATE pages SET last_seen = last_seen - {YEAR_AGO} WHERE url = '{url}'"
                execute(self.file, age)
            store.admin.forget(older_than=365)

    def review(self) -> None:
        with self.open() as store:
            a, b = self.draw.sample(URLS, 2)
            store.admin.review(a, b, same=self.draw.choice([True, False, False, None]))

    def rebuild(self) -> None:
        self.threshold = self.draw.choice([0.6, 0.8, 0.95])
        with self.open() as store:
            store.admin.redecide()

    def carry_over(self) -> None:
        """Go on with a copy of the store."""
        self.stores += 1
        copy = self.file.with_name(f"{self.file.stem} {self.stores}{self.file.suffix}")
        with self.open() as store, Store.open(url_of(copy)) as other:
            restore(session_of(other), *read_export(export(session_of(store))))
        self.file = copy

    def crawl_some(self) -> None:
        fetched = self.draw.choices(URLS, k=self.draw.randint(1, 12))
        kind = self.draw.random()
        options: dict[str, Any] = {"drop_unchanged": self.draw.random() < 0.8}
        if kind < 0.15:
            options["action"] = self.draw.choice(["tag", "observe"])
        elif kind < 0.3:
            options["loses"] = 0.3
        elif kind < 0.45:
            options["killed_at"] = self.draw.randrange(len(fetched))
        elif kind < 0.6:
            options["is_paused"] = True
        self.steps[-1] += f" {options}"
        self.crawl(fetched, **options)

    def crawl(
        self,
        urls: Sequence[str],
        *,
        drop_unchanged: bool,
        action: str = "drop",
        loses: float = 0.0,
        killed_at: int | None = None,
        is_paused: bool = False,
    ) -> None:
        """Crawl pages.

        Args:
            urls: in their order.
            drop_unchanged: `DEDUP_DROP_UNCHANGED`.
            action: `DEDUP_ACTION`.
            loses: share of the items that a later pipeline drops.
            killed_at: the item at which the crawl is killed.
            is_paused: whether the next crawl resumes it.
        """
        self.is_careful &= not loses and killed_at is None
        settings = {
            "DEDUP_STORE_URL": url_of(self.file),
            "DEDUP_WORKERS": 0,
            "DEDUP_ACTION": action,
            "DEDUP_DROP_UNCHANGED": drop_unchanged,
            "DEDUP_THRESHOLD": self.threshold,
            "DEDUP_RESULT_FIELD": "dedup",
            "EXTENSIONS": {"scrapy.extensions.corestats.CoreStats": None},
        }
        crawl = _Crawl(self, settings, loses, killed_at)
        asyncio.run(crawl.take(urls, self.job, is_paused=is_paused))
        if killed_at is not None:
            execute(self.file, "UPDATE runs SET started = 0, finished = 0 WHERE outcome IS NULL")
        self.job = crawl.job if is_paused else None
        self.note_rested()

    def note_rested(self) -> None:
        """Note the pages that are no originals at this moment."""
        query = "SELECT url FROM pages WHERE original_id IS NULL AND coalesce(last_run_id, 1) <> 0"
        self.rested.update({*URLS} - {url for (url,) in rows_of(self.file, query)})

    def note_came(self, url: str, said: Said, *, only_news: bool) -> None:
        """Note an item that has left the pipelines."""
        is_again = self.came.get(url) == said and url not in self.rested
        if is_again and only_news and self.is_careful:
            self.wrong.append(f"{url} came out twice")
        self.came[url] = said
        self.rested.discard(url)

    def check_end(self) -> None:
        """Check that all originals that are there have come out as they are."""
        standing = (
            "SELECT pages.url, original.url FROM pages LEFT JOIN pages AS original"
            " ON original.id = pages.original_id"
        )
        pages = dict(rows_of(self.file, standing))
        for url, said in self.web.items():
            if said in (None, NOTHING):
                continue
            if url not in pages:
                self.wrong.append(f"{url} is not stored")
                continue
            original = pages[url] or url
            if original != url and self.web[original] in (None, NOTHING):
                self.wrong.append(f"{url} follows {original}, which is not there")
            elif original == url and (self.came.get(url) != said or url in self.rested):
                self.wrong.append(f"{url} has not come out")


class _Crawl:
    """The pipelines of a crawl, without an engine."""

    def __init__(
        self, walk: Walk, settings: dict[str, Any], loses: float, killed_at: int | None
    ) -> None:
        self.walk, self.draw = walk, walk.draw
        self.crawler = get_crawler(settings_dict=settings)
        for name in ("get_spider_middleware", "get_downloader_middleware"):
            setattr(self.crawler, name, lambda _: None)  # there is no engine
        read = DedupSettings.from_settings(self.crawler.settings)
        report = Report(self.crawler, read)
        self.decider = ItemDecider(self.crawler, read, report, read.action, None)
        self.is_observing = read.action == "observe"
        self.only_news = read.drop_unchanged and not self.is_observing
        self.loses, self.killed_at = loses, killed_at
        self.is_killed = False
        self.job: dict[str, Any] = {}

    async def take(
        self, urls: Sequence[str], job: dict[str, Any] | None, *, is_paused: bool
    ) -> None:
        checker = self.decider.checker
        _, store = await checker.opened()
        decide = store._decide_now

        def decide_now(batch: list[Page]) -> list[Verdict]:
            verdicts = decide(batch)
            self.walk.note_rested()
            return verdicts

        vars(store)["_decide_now"] = decide_now
        if job is not None or is_paused:
            self.job = {} if job is None else job
            await store.resume(self.job)
        tasks = []
        for number, url in enumerate(urls):
            said = self.walk.web[url]
            if said is None:
                store._gone.append(url)
                self.walk.rested.add(url)
                continue
            tasks.append(asyncio.create_task(self.send(number, url, said, self.draw.random())))
            for _ in range(self.draw.choice([0, 0, 3, 30])):
                await asyncio.sleep(0)
            if self.draw.random() < 0.3:
                await asyncio.wait(tasks, timeout=0.02)
        while tasks and not self.is_killed:
            _, waiting = await asyncio.wait(tasks, timeout=0.01)
            if not waiting:
                break
        if self.is_killed:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            if store._deciding is not None:
                await asyncio.gather(store._deciding, return_exceptions=True)
            assert store._session is not None
            await store._call(store._session.close)
            store._executor.shutdown()
            return
        await asyncio.gather(*tasks)
        await checker.close()
        await checker.close_store("shutdown" if is_paused else "finished")

    async def send(self, number: int, url: str, said: Said, drawn: float) -> None:
        """Send an item through the pipelines."""
        draw = random.Random(drawn)
        item = {"url": url, "text": said.text, "title": said.title, "price": said.price}
        sent: dict[str, Any] = {"item": item, "spider": None, "response": None}
        try:
            item = await self.decider.decide({**item, "dedup": None}, None)
            for _ in range(draw.choice([0, 1, 20])):
                await asyncio.sleep(0)
            if self.is_killed:
                return
            if draw.random() < self.loses:
                raise DropItem("by a later pipeline")
        except DropItem as error:
            if self.is_killed:
                return
            if isinstance(error, DuplicatePage) and error.verdict.reason != Reason.REPEATED:
                self.walk.rested.add(url)
            sent |= {"signal": signals.item_dropped, "exception": error}
        else:
            result = item["dedup"] or {}
            if not result.get("duplicate") and said.text:
                self.walk.note_came(url, said, only_news=self.only_news)
            sent |= {"signal": signals.item_scraped}
        if number == self.killed_at and draw.random() < 0.5:
            self.is_killed = True
            return
        await self.crawler.signals.send_catch_log_async(**sent)
        self.is_killed |= number == self.killed_at


def walk(seed: int, file: Path) -> list[str]:
    """Take a walk: what was wrong, and the steps."""
    taken = Walk(seed, file)
    return [f"{seed}: {one} after {', '.join(taken.steps)}" for one in taken.take()]


def main(arguments: Iterable[str] | None = None) -> int:
    """Take many walks."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--walks", type=int, default=2000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--postgres", action="store_true")
    options = parser.parse_args(None if arguments is None else [*arguments])
    logging.disable()
    wrong = 0
    with ExitStack() as held:
        database = held.enter_context(shared_database()) if options.postgres else None
        for seed in range(options.first, options.first + options.walks):
            with tempfile.TemporaryDirectory() as folder:
                file = Path(folder) / f"dedup{'.pg' if options.postgres else '.db'}"
                found = walk(seed, file)
                if database is not None:
                    database.drop(Path(folder))
            wrong += bool(found)
            for line in found:
                print(line, flush=True)
    print(f"{options.walks} walks, {wrong} wrong")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
