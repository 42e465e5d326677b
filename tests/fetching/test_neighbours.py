"""What another site, or another server of the same host, has made up of a site's URLs."""

from __future__ import annotations

from itertools import count, product
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlsplit

import pytest

from tests.support.pages import article, html
from tests.support.serving import Answer, serving

if TYPE_CHECKING:
    from tests.support.crawls import Project
    from tests.support.serving import Server

SPIDER = """
import scrapy
from scrapy.spiders import SitemapSpider

class Spider(SitemapSpider):
    name = "spider"

    async def start(self):
        yield scrapy.Request(self.first)
        if self.sitemap:
            yield scrapy.Request(self.sitemap, self._parse_sitemap)

    def parse(self, response):
        for href in response.css("a::attr(href), link[rel=canonical]::attr(href)").getall():
            yield response.follow(href)
"""

WAYS = ("link", "redirect", "refresh", "open", "echo", "canonical", "sitemap")
ARTICLES, STORIES = range(3), range(2)


def _moved(url: str) -> Answer:
    return Answer(b"", headers={"Location": url}, status=302)


class Victim(dict[str, Answer]):
    """Articles, each under its own path; the parameter `story` says nothing there.

    `/go` redirects to any of its pages. Pages that are called `echo` write the query of their URL
    into a link. `/own` links to all of it.
    """

    def get(self, path: str, default: Any = None) -> Any:
        parts = urlsplit(path)
        name = parts.path.strip("/")
        if name == "go":
            return _moved(parts.query.partition("to=")[2])
        if name == "own":
            urls = [target(way, one, two) for way, one, two in product(WAYS, ARTICLES, STORIES)]
            menu = "".join(f'<a href="{url}">a</a>' for url in urls)
            return Answer(html(article(1), "Own", menu).encode())
        number = sum(map(ord, name))
        menu = f'<a href="/more-{name}?{parts.query}">more</a>' if name.startswith("echo") else ""
        return Answer(html(article(number), name, menu).encode())


def target(way: str, one: int, two: int) -> str:
    """Path of a page of the victim."""
    return f"/{way}-{one}?story={two}"


class Neighbour(dict[str, Answer]):
    """Leads to pages of the victim in each of the ways."""

    def __init__(self, victim: str) -> None:
        super().__init__()
        numbers = count()
        menu: list[str] = []
        sitemap: list[str] = []
        for way, one, two in product(WAYS, ARTICLES, STORIES):
            url, own = f"{victim}{target(way, one, two)}", f"/{next(numbers)}"
            if way == "redirect":
                self[own] = _moved(url)
            elif way == "refresh":
                refresh = f'<meta http-equiv="refresh" content="0; url={url}">'
                self[own] = Answer(f"<html><head>{refresh}</head></html>".encode())
            elif way == "canonical":
                head = f'<link rel="canonical" href="{url}">'
                self[own] = Answer(f"<html><head>{head}</head><body>a</body></html>".encode())
            elif way == "sitemap":
                sitemap.append(f"<url><loc>{url}</loc></url>")
                continue
            elif way == "open":
                own = f"{victim}/go?to={quote(target(way, one, two), safe='/?=')}"
            else:
                own = url
            menu.append(f'<a href="{own}">a</a>')
        self["/"] = Answer(html(article(2), "Links", "".join(menu)).encode())
        self["/sitemap.xml"] = Answer(f"<urlset>{''.join(sitemap)}</urlset>".encode(), "text/xml")


@pytest.mark.parametrize("is_own", [True, False])
def test_what_another_server_of_the_host_leads_to_teaches_nothing(
    project: Project, is_own: bool
) -> None:
    project.write("shop/spiders/spider.py", SPIDER)
    with serving(Victim()) as victim, serving(Neighbour(victim.url)) as neighbour:
        start = ("-a", f"first={neighbour.url}/", "-a", f"sitemap={neighbour.url}/sitemap.xml")
        if is_own:
            start = ("-a", f"first={victim.url}/own", "-a", "sitemap=")
        done = project.crawl(*start, "-s", "DEDUP_FETCH=observe", "-s", "ROBOTSTXT_OBEY=False")
    assert done.status == 0, done.log
    fetched = {target(way, one, two) for way, one, two in product(WAYS, ARTICLES, STORIES)}
    assert fetched <= {*victim.asked}
    store = str(project.folder / "dedup.db")
    found = project.dedup("rules", _name(victim), "--all", "--store", store)["rules"]
    assert {rule["change"] for rule in found if rule["agreed"]} == (
        {"drop-parameter story"} if is_own else set()
    )


def _name(server: Server) -> str:
    return server.url.removeprefix("http://")
