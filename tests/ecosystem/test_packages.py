"""The rows of docs/howto/other-packages.md: a crawl with each package, and with the add-on."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.crawls import Project
from tests.support.pages import article, html, linked
from tests.support.processes import PATIENCE, so_within
from tests.support.serving import serving

if TYPE_CHECKING:
    from pathlib import Path

UNIQUE = 6
PAGES = linked(
    {f"/{n}": html(article(n), f"Article {n}") for n in range(UNIQUE)}
    | {f"/print/{n}": html(article(n), f"Article {n}", "Print") for n in range(UNIQUE // 2)}
)
SPIDER = """
import scrapy

class Spider(scrapy.Spider):
    name = "spider"

    def __init__(self, site, **arguments):
        super().__init__(**arguments)
        self.site = site

    async def start(self):
        yield scrapy.Request(self.site + "/")

    def parse(self, response):
        yield from response.follow_all(css="a", callback=self.parse_page, meta={META})

    def parse_page(self, response):
        yield {"url": response.url, "title": response.css("h1::text").get()}
"""
ARTICLES = """
from zyte_common_items import Article

from shop.spiders.plain import Spider as Plain

class Spider(Plain):
    name = "spider"

    def parse_page(self, response):
        yield Article(
            url=response.url,
            headline=response.css("h1::text").get(),
            articleBody="\\n".join(response.css("p::text").getall()),
        )
"""


@dataclass(frozen=True)
class Beside:
    """A package in a crawl.

    Args:
        module: of the package.
        settings: that its documentation asks for.
        sign: what the crawl's log says if the package has done its work.
        meta: of the requests.
        spider: if it is not the plain one.
    """

    module: str
    settings: dict[str, Any] = field(default_factory=dict)
    sign: str = ""
    meta: dict[str, Any] = field(default_factory=dict)
    spider: str | None = None


def crawled(folder: Path, site: str, beside: Beside) -> None:
    """Crawl the pages beside a package; the items must be those without copies."""
    pytest.importorskip(beside.module)
    project = Project(folder, SPIDER.replace("{META}", repr(beside.meta)))
    project.write("shop/monitors.py", MONITORS)
    if beside.spider:
        source = SPIDER.replace("{META}", repr(beside.meta)).replace('"spider"', '"plain"')
        project.write("shop/spiders/plain.py", source)
        project.write("shop/spiders/spider.py", beside.spider)
    with (folder / "shop" / "settings.py").open("a", encoding="utf-8") as file:
        file.writelines(f"\n{name} = {value!r}" for name, value in beside.settings.items())
    crawl = project.crawl("-a", f"site={site}")
    assert crawl.status == 0, crawl.log
    assert "Traceback" not in crawl.log, crawl.log
    assert len(crawl.items) == UNIQUE, crawl.log
    assert crawl.stat("dedup/exact") == str(UNIQUE // 2)
    assert beside.sign in crawl.log, crawl.log


PLAIN = {
    "scrapy-impersonate": Beside(
        "scrapy_impersonate",
        {"DOWNLOAD_HANDLERS": {"http": "scrapy_impersonate.ImpersonateDownloadHandler"}},
        meta={"impersonate": "chrome"},
    ),
    "spidermon": Beside(
        "spidermon",
        {
            "EXTENSIONS": {"spidermon.contrib.scrapy.extensions.Spidermon": 500},
            "SPIDERMON_ENABLED": True,
            "SPIDERMON_SPIDER_CLOSE_MONITORS": ("shop.monitors.Items",),
            "SPIDERMON_MIN_ITEMS": UNIQUE,
        },
        sign="[Spidermon] Extracted Items Monitor/test_stat_monitor... OK",
    ),
    "zyte-common-items": Beside("zyte_common_items", spider=ARTICLES),
}
MONITORS = """
from spidermon.contrib.scrapy.monitors import ItemCountMonitor
from spidermon.core.suites import MonitorSuite

class Items(MonitorSuite):
    monitors = [ItemCountMonitor]
"""


@pytest.mark.parametrize("name", PLAIN)
def test_the_copies_are_dropped_beside_a_package(tmp_path: Path, name: str) -> None:
    with serving(PAGES) as server:
        crawled(tmp_path, server.url, PLAIN[name])


def test_pages_that_come_through_a_proxy_are_compared(tmp_path: Path) -> None:
    site = "http://shop.example"
    with serving({f"{site}{path}": body for path, body in PAGES.items()}) as proxy:
        settings = {
            "DOWNLOADER_MIDDLEWARES": {
                "scrapy_zyte_smartproxy.ZyteSmartProxyMiddleware": 610,
            },
            "ZYTE_SMARTPROXY_ENABLED": True,
            "ZYTE_SMARTPROXY_APIKEY": "key",
            "ZYTE_SMARTPROXY_URL": proxy.url,
        }
        beside = Beside("scrapy_zyte_smartproxy", settings, sign="zyte_smartproxy/request")
        crawled(tmp_path, site, beside)
        assert {*proxy.asked} >= {f"{site}{path}" for path in PAGES}


def test_dropped_items_do_not_reach_redis(tmp_path: Path) -> None:
    redis = pytest.importorskip("redis")
    program = shutil.which("redis-server") or pytest.skip("no server of Redis")
    socket_file = tmp_path / "redis.sock"
    options = ("--port", "0", "--unixsocket", str(socket_file), "--save", "")
    with subprocess.Popen([program, *options], stdout=subprocess.DEVNULL) as server:
        try:
            assert so_within(PATIENCE, socket_file.exists)
            settings = {
                "SCHEDULER": "scrapy_redis.scheduler.Scheduler",
                "DUPEFILTER_CLASS": "scrapy_redis.dupefilter.RFPDupeFilter",
                "ITEM_PIPELINES": {"scrapy_redis.pipelines.RedisPipeline": 700},
                "REDIS_URL": f"unix://{socket_file}",
            }
            with serving(PAGES) as site:
                crawled(tmp_path / "project", site.url, Beside("scrapy_redis", settings))
            with redis.Redis(unix_socket_path=str(socket_file)) as client:
                assert client.llen("spider:items") == UNIQUE
        finally:
            server.terminate()
