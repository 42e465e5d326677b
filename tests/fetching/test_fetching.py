"""Requests that are skipped, in real crawls of a site whose URLs have session ids."""

from __future__ import annotations

import itertools
import json
import random
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

import pytest

from tests.support.crawls import Project, stats
from tests.support.pages import article, html
from tests.support.serving import Answer, serving

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.support.serving import Server

PAGES = 50
SPIDER = """
import scrapy

class Spider(scrapy.Spider):
    name = "spider"
    failures = 0
    custom_settings = {"CONCURRENT_REQUESTS": 4, "CLOSESPIDER_PAGECOUNT": 450}

    async def start(self):
        yield scrapy.Request(self.site + "/")

    def parse(self, response):
        if self.items and "/post/" in response.url:
            yield {"url": response.url}
        for href in response.css("a::attr(href)").getall():
            yield response.follow(href, errback=self.failed, meta=response.meta)

    def never_skipped(self, url):
        yield scrapy.Request(url + "-forced", self.nothing, meta={"dedup_fetch": True})
        yield scrapy.Request(url + "-out", self.nothing, meta={"dedup": False})
        yield scrapy.Request(url + "-unfiltered", self.nothing, dont_filter=True)
        yield scrapy.Request(url + "-posted", self.nothing, method="POST")

    def nothing(self, response):
        pass

    def failed(self, failure):
        error = failure.value
        self.crawler.stats.inc_value("failed/" + type(error).__name__)
        self.crawler.stats.set_value("failed/rules", ",".join(error.rules))
        assert error.page.split("?")[0] == error.url.split("?")[0]
        assert error.page in str(error) and "drop-parameter sid" in str(error)
        self.failures += 1
        if self.failures == 20:
            for number in range(3):
                yield from self.never_skipped(f"{self.site}/post/1?sid=never-{number}")
"""


class Site(dict[str, Answer]):
    """Posts that link to others, each time under a new session id.

    Attributes:
        matters: whether the session id says which page is meant.
    """

    def __init__(self) -> None:
        super().__init__()
        self._ids = itertools.count()
        self.matters = False

    def get(self, path: str, default: Any = None) -> Any:
        parts = urlsplit(path)
        if not parts.path.startswith("/post/") and parts.path != "/":
            return default
        number = int(parts.path[6:] or 0)
        chosen = random.Random(number)
        linked = [2 * number + 1, 2 * number + 2, *(chosen.randrange(PAGES) for _ in range(3))]
        menu = "".join(f'<a href="/post/{n % PAGES}?sid={next(self._ids)}">x</a>' for n in linked)
        sid = parse_qs(parts.query).get("sid", ["0"])[0]
        other = 1000 * (int(sid) % 3) if self.matters and sid.isdigit() else 0
        return Answer(html(article(100 + number + other), f"{number} {other}", menu).encode())


@pytest.fixture
def site() -> Iterator[Server]:
    with serving(Site()) as server:
        yield server


@pytest.fixture
def store_url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'dedup.db'}"


def crawl(
    project: Project, site: Server, fetch: str, store: str, *options: str, items: int = 1
) -> tuple[dict[str, str], list[str], str]:
    """Stats of a crawl, the paths that it asked for, and its log."""
    before = len(site.asked)
    done = project.crawl(
        *("-a", f"site={site.url}", "-a", f"items={items or ''}", "-s", f"DEDUP_FETCH={fetch}"),
        *("-s", f"DEDUP_STORE_URL={store}", "-s", "DEDUP_DEBUG=True", "-s", "DEDUP_ACTION=tag"),
        *options,
    )
    assert done.status == 0, done.log
    assert "Traceback" not in done.log
    return stats(done.log), site.asked[before:], done.log


def test_requests_that_would_repeat_a_page_are_skipped_until_they_would_not(
    project: Project, site: Server, store_url: str
) -> None:
    project.write("shop/spiders/spider.py", SPIDER)
    first, asked, log = crawl(project, site, "skip", store_url)
    posts = [path for path in asked if path.startswith("/post/") and "never" not in path]
    assert {path.partition("?")[0] for path in posts} == {f"/post/{n}" for n in range(PAGES)}
    skipped = int(first["dedup/fetch/skipped"])
    assert skipped > 50
    assert int(first["failed/RepeatedPage"]) == skipped
    assert first["failed/rules"] == "drop-parameter sid"
    assert "spider_exceptions/count" not in first
    assert log.count(" DEBUG: Skipped: ") == skipped
    assert f"Dedup: {skipped} requests were skipped by" in log
    assert int(first["dedup/fetch/noted"]) > PAGES
    assert "dedup/fetch/not_noted" not in first
    for never in ("forced", "out", "unfiltered"):
        assert sum(path.endswith(f"-{never}") for path in asked) == 3, never
    assert int(first["downloader/request_method_count/POST"]) >= 3
    assert first["dedup/known_bodies"] == "0", "an item and its page are extracted once"

    rules = project.dedup("rules", site.url.split("/")[2].split(":")[0], "--store", store_url)
    [rule] = [one for one in rules["rules"] if one["node"] == "/"]
    assert (rule["change"], rule["active"], rule["saved"]) == ("drop-parameter sid", True, skipped)
    assert rule["examples"]
    assert rules["lost"]["lost"] == 0
    status = project.dedup("status", "--store", store_url)
    assert status["skipped_urls"] > 0
    assert status["last_runs"][0]["counts"]["fetch_skipped"] == skipped

    site.answers.matters = True  # type: ignore[attr-defined]
    second, asked, log = crawl(project, site, "skip", store_url)
    assert int(second["dedup/fetch/unlearned"]) >= 1
    assert int(second["dedup/fetch/made_again"]) >= skipped // 2
    made = {path for path in asked if "sid=" in path and int_of(path) < first_id_of(posts, skipped)}
    assert made, "what the first crawl has skipped is fetched"
    after = project.dedup("rules", "--store", store_url)["rules"]
    assert not [one for one in after if one["node"] == "/" and one["active"]]


def test_pages_whose_items_another_pipeline_drops_are_not_waited_for(
    project: Project, site: Server
) -> None:
    project.write("shop/spiders/spider.py", SPIDER)
    project.write(
        "shop/dropping.py",
        "from scrapy.exceptions import DropItem\n\n"
        "class Dropping:\n"
        "    def process_item(self, item):\n"
        "        raise DropItem('not wanted')\n",
    )
    pipelines = json.dumps({"shop.dropping.Dropping": 100})
    store = f"sqlite:///{project.folder / 'dedup.db'}"
    seen, _, _ = crawl(project, site, "skip", store, "-s", f"ITEM_PIPELINES={pipelines}")
    assert "dedup/checked" not in seen
    assert int(seen["dedup/fetch/skipped"]) > 50
    # Each page would be waited for five seconds, and for each page those that it links to.
    assert float(seen["elapsed_time_seconds"]) < 30


def int_of(path: str) -> int:
    sid = parse_qs(urlsplit(path).query)["sid"][0]
    return int(sid) if sid.isdigit() else 1 << 60


def first_id_of(posts: list[str], skipped: int) -> int:
    """An id that is greater than those of the first crawl."""
    return max(map(int_of, posts)) + skipped


def test_observe_skips_nothing_and_tells_how_often_that_would_have_lost_a_page(
    project: Project, site: Server
) -> None:
    project.write("shop/spiders/spider.py", SPIDER)
    url = f"sqlite:///{project.folder / 'dedup.db'}"
    seen, asked, log = crawl(project, site, "observe", url, items=0)
    assert "dedup/fetch/skipped" not in seen
    would = int(seen["dedup/fetch/would_skip"])
    assert would > 50
    assert f"Dedup: {would} requests would have been skipped by" in log
    assert "0 would have been lost (0.00% to " in log
    assert "dedup/checked" not in seen, "no item ever came"
    assert len(asked) > 400
    site.answers.matters = True  # type: ignore[attr-defined]
    seen, _, log = crawl(project, site, "observe", url, items=0)
    lost = int(seen.get("dedup/fetch/would_lose", 0)) + int(seen["dedup/fetch/unlearned"])
    assert lost >= 1
    assert project.dedup("status")["skipped_urls"] == 0
