"""A page that is fetched again is asked for as it was the first time."""

from __future__ import annotations

import asyncio
import itertools
import socket
from base64 import b64encode
from contextlib import contextmanager
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import urlsplit

import pytest
from scrapy import FormRequest, Request, Spider
from scrapy.http.request import NO_CALLBACK

from shingling.fetching.counting import FetchCounts
from shingling.fetching.learning import Skip, UrlLearner
from shingling.fetching.requests import may_be_skipped, second_look
from shingling.fetching.skipped import SkippedRequests
from tests.support.pages import article, html
from tests.support.serving import Answer, Server

if TYPE_CHECKING:
    from collections.abc import Iterator
    from email.message import Message

    from scrapy.crawler import Crawler

    from tests.support.crawls import Project

POSTS = 12
LINKS = "".join(f'<a href="/post/{n}?sid={sid}">x</a>' for n in range(POSTS) for sid in "12")
BASIC = f"Basic {b64encode(b'me:secret').decode()}"
SPIDER = """
import scrapy
from shingling.fetching import middleware

if {FORGETS}:
    middleware._MAX_SECOND_LOOKS = 2

class ChoosesProxy:
    def process_request(self, request):
        if request.meta.get("country") == "nl":
            request.meta["proxy"] = {PROXY!r}

class Spider(scrapy.Spider):
    name = "spider"
    http_user, http_pass, http_auth_domain = "me", "secret", None
    custom_settings = {{"CONCURRENT_REQUESTS": 1, "RETRY_ENABLED": False}}

    def ask(self, url, callback):
        meta = {{"cookiejar": 7, **{META}}}
        headers, cookies = {{"X-Key": "abc"}}, {{"chosen": "1"}}
        return scrapy.Request(url, callback, meta=meta, headers=headers, cookies=cookies)

    async def start(self):
        yield self.ask(self.site + "/", self.parse)

    def parse(self, response):
        for href in response.css("a::attr(href)").getall():
            yield self.ask(response.urljoin(href), self.parse_post)

    def parse_post(self, response):
        yield {{"url": response.url}}
"""


class Proxy(Server):
    """A proxy, which alone reaches a site, for those that have a session there.

    `missing` says what some requests have lacked.
    """

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.url = self.url.replace("//", "//me:secret@")
        self.missing: list[str] = []
        self._visitors = itertools.count(1000)

    def answer(self, path: str, headers: Message) -> Answer:
        url, cookies = urlsplit(path), headers["Cookie"] or ""
        parts = {
            "X-Key": headers["X-Key"] == "abc",
            "Authorization": headers["Authorization"] == BASIC,
            "Proxy-Authorization": headers["Proxy-Authorization"] == BASIC,
            "a chosen cookie": "chosen=1" in cookies,
            "a session": url.path == "/" or "session=jar7" in cookies,
        }
        self.missing += [f"{path}: {name}" for name, there in parts.items() if not there]
        number = int(url.path.rpartition("/")[2] or 99)
        visits = f"</p><p>{next(self._visitors)} people are reading this page right now."
        menu = LINKS if url.path == "/" else ""
        body = html(article(number) + visits, f"Post {number}", menu).encode()
        session = {"Set-Cookie": "session=jar7"} if url.path == "/" else {}
        return Answer(body, headers=session, status=200 if all(parts.values()) else 403)


@contextmanager
def a_site_that_refuses() -> Iterator[str]:
    """The address of a site that refuses each connection."""
    with socket.socket() as nobody:  # bound, and it does not listen
        nobody.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{nobody.getsockname()[1]}"


@pytest.mark.parametrize("by", ["metadata", "a middleware"])
def test_a_page_is_fetched_again_as_it_was_fetched(project: Project, by: str) -> None:
    with Proxy({}) as proxy, a_site_that_refuses() as site:
        own = by == "a middleware"
        meta = {"country": "nl"} if own else {"proxy": proxy.url}
        source = SPIDER.format(FORGETS=own, PROXY=proxy.url, META=meta)
        project.write("shop/spiders/spider.py", source)
        middleware = '{"shop.spiders.spider.ChoosesProxy": 740}'
        crawl = project.crawl(
            *("-a", f"site={site}", "-s", "DEDUP_FETCH=skip", "-s", "JOBDIR=job"),
            *("-s", f"DOWNLOADER_MIDDLEWARES={middleware}"),
        )
        # tldextract, which Scrapy asks about cookies, logs that it cannot fetch its list.
        assert "shingling/" not in crawl.log
        skipped = "downloader/exception_type_count/shingling.fetching.repeated.RepeatedPage"
        assert crawl.stat("downloader/exception_count") == crawl.stat(skipped), crawl.log
        assert proxy.missing == []
        assert int(crawl.stat("dedup/fetch/second_looks") or 0) >= 1
        assert len(proxy.asked) > len({*proxy.asked})
        assert str(len(proxy.asked)) == crawl.stat("downloader/response_count")
        assert crawl.stat("dedup/fetch/not_noted") is None


class Posts(Spider):
    name = "posts"

    def parse_post(self, response: Any) -> None:
        """As a spider has it."""

    def failed(self, failure: Any) -> None:
        """As a spider has it."""


def a_request(kind: type[Request] = Request) -> Request:
    spider = Posts()
    own = {"proxy": "http://p.example", "country": "nl", "dont_verify": True, "cookiejar": 7}
    noted = {"redirect_urls": ["https://a.example/old"], "retry_times": 1, "dedup_followed": []}
    return kind(
        "https://a.example/1?sid=1",
        spider.parse_post,
        errback=spider.failed,
        headers={"X-Key": "abc"},
        cookies={"chosen": "1"},
        meta=own | noted,
        priority=3,
        flags=["a"],
        cb_kwargs={"item": {}},
    )


@pytest.mark.parametrize("kind", [Request, FormRequest])
def test_a_second_look_is_the_same_request_for_nobody(kind: type[Request]) -> None:
    request = a_request(kind)
    for url, is_same_host in (
        (request.url, True),
        ("https://a.example/2", True),
        ("https://m.a.example/2", False),
        ("http://a.example/2", False),
    ):
        again = second_look(request, url)
        assert (type(again), again.url, again.priority) == (kind, url, 3)
        assert again.meta == {
            "proxy": "http://p.example",
            "country": "nl",
            "dont_verify": True,
            "cookiejar": 7,
        }
        assert (again.callback, again.errback, again.cb_kwargs) == (NO_CALLBACK, None, {})
        assert again.dont_filter
        assert not may_be_skipped(again)
        assert again.headers == (request.headers if is_same_host else {})
        assert again.cookies == (request.cookies if is_same_host else {})
        assert again.replace(callback=None).to_dict(spider=Posts())


async def test_a_skipped_request_is_made_after_all_as_it_was_also_after_a_pause() -> None:
    made: list[Request] = []
    spider = Posts()
    spider.state = {}  # type: ignore[attr-defined]
    crawler = cast(
        "Crawler",
        SimpleNamespace(
            engine=SimpleNamespace(crawl=made.append),
            settings={"JOBDIR": "job"},
            spider=spider,
            stats=SimpleNamespace(inc_value=lambda *_: None),
        ),
    )

    def skipped() -> SkippedRequests:
        return SkippedRequests(crawler, UrlLearner(), FetchCounts(crawler))

    before = a_request().replace(callback=spider.parse_post, errback=spider.failed)
    first = skipped()
    first.keep(before, Skip(("drop-parameter sid",), "https://a.example/1", 0.001))
    first.pause()
    for owing in (first, skipped()):
        owing.resume()
        owing.make_owed("a.example")
        while owing.is_busy:
            await asyncio.sleep(0.01)
    assert len(made) == 2
    for after in made:
        assert after.to_dict(spider=spider) == {
            **before.to_dict(spider=spider),
            "dont_filter": True,
            "meta": {**before.meta, "dedup_fetch": True},
        }
