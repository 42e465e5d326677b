"""Crawls of pages that are known: by an earlier crawl, or because this one meets them twice."""

from __future__ import annotations

import json
import signal
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.crawls import Crawl, Crawling, Project, read_feed
from tests.support.pages import article, html
from tests.support.serving import serving

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SPIDER = """
import time

import scrapy

class Spider(scrapy.Spider):
    name = "spider"

    async def start(self):
        for path in self.paths.split(","):
            yield scrapy.Request(self.site + path, dont_filter=True)

    def parse(self, response):
        rows = response.css("section")
        for row in rows:
            yield {"url": response.urljoin(row.attrib["id"]), "text": row.css("p::text").get()}
        if not rows:
            price = response.css("data::attr(value)").get()
            yield {"url": response.url, "price": price, "crawled": time.time()}
"""
LOSES_FIRST = """
from scrapy.exceptions import DropItem

class LosesFirst:
    seen = set()

    def process_item(self, item):
        if item["url"] not in self.seen:
            self.seen.add(item["url"])
            raise DropItem("the first item of its page")
        return item
"""
ENDS_ITSELF = """
import os
import signal

class EndsItself:
    def process_item(self, item):
        if item["url"].endswith("/3"):
            os.kill(os.getpid(), signal.SIGKILL)
        return item
"""
ONE_BY_ONE = ("-s", "CONCURRENT_REQUESTS=1")
ONLY_NEWS = ("-s", "DEDUP_DROP_UNCHANGED=True")
LOSING = ("-s", 'ITEM_PIPELINES={"shop.pipelines.LosesFirst": 300}')


def shop(number: int, price: int = 10, text: str = "") -> str:
    shown = html(text or article(number), f"Product {number}")
    return shown.replace("</article>", f'<data value="{price}"></data></article>')


@pytest.fixture
def project(tmp_path: Path) -> Project:
    made = Project(tmp_path, SPIDER)
    made.write("shop/pipelines.py", LOSES_FIRST + ENDS_ITSELF)
    return made


@pytest.fixture
def answers() -> dict[str, str]:
    return {f"/{number}": shop(number) for number in range(12)}


@pytest.fixture
def site(answers: dict[str, str]) -> Iterator[str]:
    with serving(answers) as server:
        yield server.url


def last_line(crawl: Crawl) -> str:
    return next(line for line in crawl.log.splitlines() if " items: " in line and "Dedup" in line)


def came(crawl: Crawl, site: str) -> list[str]:
    return sorted(item["url"].removeprefix(site) for item in crawl.items)


def test_lines_that_move_are_told_and_need_not_come_out_again(project: Project) -> None:
    answers: dict[str, str] = {}
    ignoring = ("-s", "DEDUP_MOVING_LINES=ignore")

    def crawl(site: str, day: int, *arguments: str) -> Crawl:
        answers.update(
            {
                f"/{number}": shop(number).replace(
                    "</h1>", f"</h1><p>Posted {number + 5 * day} hours ago</p>"
                )
                for number in range(12)
            }
        )
        paths = ("-a", f"site={site}", "-a", f"paths={','.join(answers)}")
        return project.crawl(*paths, *ONE_BY_ONE, *ONLY_NEWS, *arguments)

    with serving(answers) as server:
        days = [crawl(server.url, day) for day in range(3)]
        assert [len(day.items) for day in days] == [12] * 3
        said = ["came out again, although only lines" in day.log for day in days]
        assert said == [False, False, True]
        assert (
            "Dedup: 12 pages came out again, although only lines have changed that move from crawl"
            ' to crawl: "Posted 10 hours ago". If such lines say nothing: DEDUP_MOVING_LINES ='
        ) in days[-1].log
        ignored = crawl(server.url, 3, *ignoring)
        assert ignored.items == []
        assert "'dedup/moving_lines': 12" in ignored.log
        assert 'only lines have changed that move from crawl to crawl: "Posted 15' in ignored.log
        without_texts = crawl(server.url, 4, *ignoring, "-s", "DEDUP_STORE_TEXT=False")
        assert "has no effect without DEDUP_STORE_TEXT and DEDUP_TEMPLATES" in without_texts.log
        assert len(without_texts.items) == 12


def test_only_what_is_new_or_has_changed_comes_out(
    project: Project, answers: dict[str, str], site: str
) -> None:
    def crawl(*arguments: str) -> Crawl:
        return project.crawl(
            *("-a", f"site={site}", "-a", f"paths={','.join(answers)}"), *ONE_BY_ONE, *arguments
        )

    assert len(crawl(*ONLY_NEWS).items) == 12
    answers |= {
        "/1": shop(1, text=f"{article(1)} {article(91)}"),
        "/2": shop(2, price=12),
        "/new": shop(40),
        "/copy": shop(3),
    }
    second = crawl(*ONLY_NEWS)
    assert came(second, site) == ["/1", "/2", "/new"]
    assert "14 items: 11 dropped (10 unchanged, 1 exact), 1 new, 0 unchanged, 2 changed" in (
        last_line(second)
    )
    assert second.stat("dedup/dropped/unchanged") == "10"
    assert second.stat("item_dropped_reasons_count/UnchangedPage") == "10"
    assert "Dedup: items have changed in their fields alone: price (1). If price" in second.log
    assert "WARNING: Dedup dropped" not in second.log, "that was wanted"
    answers["/2"] = shop(2, price=9)
    tagged = crawl(*ONLY_NEWS, "-s", "DEDUP_ACTION=tag")
    assert came(tagged, site) == ["/2"]
    assert tagged.items[0]["dedup"]["status"] == "changed"
    assert tagged.items[0]["dedup"]["fields"] == ["price"]
    assert len(crawl(*ONLY_NEWS, "-s", "DEDUP_ACTION=observe").items) == 14
    assert len(crawl().items) == 13


def test_an_item_that_a_later_pipeline_has_dropped_comes_out_of_the_next_crawl(
    project: Project, answers: dict[str, str], site: str
) -> None:
    answers["/short"] = html("Too few words", "Short")
    where = ("-a", f"site={site}", "-a", f"paths={','.join(answers)}", *ONLY_NEWS)
    assert project.crawl(*where, *LOSING).items == []
    assert len(project.crawl(*where).items) == 13
    assert project.crawl(*where).items == []


def test_a_page_that_is_met_twice_in_one_crawl_comes_out_once(
    project: Project, answers: dict[str, str], site: str
) -> None:
    texts = [article(20 + n) for n in range(4)]
    rows = [f'<section id="/row/{n}"><p>{text}</p></section>' for n, text in enumerate(texts)]
    # Two parts of one response that say the same stand for two things.
    parts = ['<section id=""><p>One</p></section>'] * 3
    answers["/list/a"] = f"<title>A</title>{''.join([*rows[:3], *parts])}"
    answers["/list/b"] = f"<title>B</title>{''.join(rows[1:])}"
    paths = ["/1", "/2", "/1", "/list/a", "/list/b", "/1"]
    where = ("-a", f"site={site}", "-a", f"paths={','.join(paths)}", *ONE_BY_ONE)
    expected = ["/1", "/2", *["/list/a"] * 3, *(f"/row/{n}" for n in range(4))]
    for day in range(2):
        crawl = project.crawl(*where)
        assert came(crawl, site) == expected, f"in crawl {day}"
        assert "13 items: 4 dropped (4 repeated)" in last_line(crawl)
        assert crawl.stat("dedup/dropped/repeated") == "4"
    lost = project.crawl(*where, *LOSING)
    assert came(lost, site).count("/1") == 1, "the second is kept, the third repeats it"
    tagged = project.crawl(*where, "-s", "DEDUP_ACTION=tag")
    results = Counter(item["dedup"]["reason"] for item in tagged.items)
    assert results["repeated"] == 4
    assert len(tagged.items) == 13


def test_what_a_killed_crawl_has_met_comes_out_when_it_is_started_again_at_once(
    project: Project, answers: dict[str, str], site: str
) -> None:
    where = ("-a", f"site={site}", "-a", f"paths={','.join(answers)}", *ONE_BY_ONE, *ONLY_NEWS)
    ending = ("-s", 'ITEM_PIPELINES={"shop.pipelines.EndsItself": 300}')
    assert project.run("crawl", "spider", *where, *ending).returncode == -signal.SIGKILL
    [run] = json.loads(project.run("dedup", "status", "--json").stdout)["last_runs"]
    assert run["state"] == "did not end"
    assert "process" not in run["settings"]
    assert came(project.crawl(*where), site) == sorted(answers)
    assert came(project.crawl(*where), site) == []


class Prices(dict[str, Any]):
    """Pages that show another price each time that they are asked for."""

    def get(self, path: str, default: Any = None) -> Any:
        return shop(1, self[path].pop(0)) if path in self else default


def test_a_page_whose_data_change_within_a_crawl_is_not_repeated(project: Project) -> None:
    with serving(Prices({"/1": [10, 10, 12, 12, 10]})) as server:
        where = ("-a", f"site={server.url}", "-a", f"paths={','.join(['/1'] * 5)}")
        crawl = project.crawl(*where, *ONE_BY_ONE)
    assert [item["price"] for item in crawl.items] == ["10", "12", "10"]


@pytest.mark.parametrize("loses_first", [False, True])
def test_a_crawl_that_was_paused_is_one_crawl(
    project: Project, site: str, loses_first: bool
) -> None:
    paths = ["/1", "/2", "/3", "/1", "/2", "/3"]
    job = ("-s", "JOBDIR=job", "-o", "all.jsonl", *(LOSING if loses_first else ()))
    where = ("-a", f"site={site}", "-a", f"paths={','.join(paths)}", *ONE_BY_ONE, *job)
    first = project.run("crawl", "spider", *where, "-s", "CLOSESPIDER_PAGECOUNT=2")
    assert "closespider_pagecount" in first.stderr
    second = project.run("crawl", "spider", *where)
    assert "finished" in second.stderr
    urls = [item["url"].removeprefix(site) for item in read_feed(project.folder / "all.jsonl")]
    assert sorted(urls) == ["/1", "/2", "/3"]


def test_two_crawlers_on_one_store_bring_each_page_once(
    project: Project, answers: dict[str, str], site: str
) -> None:
    where = ("-a", f"site={site}", "-a", f"paths={','.join([*answers] * 2)}", *ONLY_NEWS)
    crawlers = [Crawling(project.folder, *where, "-o", f"{name}.jsonl") for name in "ab"]
    assert [one.wait() for one in crawlers] == [0, 0]
    brought = [item for name in "ab" for item in read_feed(project.folder / f"{name}.jsonl")]
    assert sorted(item["url"] for item in brought) == sorted(f"{site}{path}" for path in answers)
    assert json.loads(project.run("dedup", "status", "--json").stdout)["pages"] == 12


def test_pages_of_a_site_that_comes_first_come_out_although_copies_were_crawled_before(
    project: Project, site: str
) -> None:
    copies = site.replace("127.0.0.1", "localhost")  # the same server is another site
    urls = [f"{one}/{number}" for one in (copies, site) for number in range(3)]
    where = ("-a", "site=", "-a", f"paths={','.join(urls)}", *ONE_BY_ONE)
    first = ("-s", f"DEDUP_PREFER_SITES={site}/")

    def kept(*arguments: str) -> list[str]:
        return sorted(item["url"] for item in project.crawl(*where, *arguments).items)

    assert kept() == urls[:3]
    assert kept(*first, *LOSING) == [], "they were not brought"
    assert kept(*first) == sorted(urls)
    assert kept(*first) == sorted(urls[3:])
    other = ("-s", "DEDUP_STORE_URL=sqlite:///other.db", "-s", "DEDUP_DROP_UNCHANGED=True", *first)
    both = project.crawl(*where, *other)
    assert sorted(item["url"] for item in both.items) == sorted(urls), "the copies came before"
    assert both.stat("dedup/preferred_site") == "3"
    assert kept(*other) == []
