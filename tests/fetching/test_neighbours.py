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

    handle_httpstatus_list = [404, 500]

    def parse(self, response):
        for header in response.headers.getlist("Link"):
            yield response.follow(header.decode().strip("<>"))
        for name in ("a::attr(href)", "link::attr(href)", "iframe::attr(src)", "item > link::text"):
            for href in response.css(name).getall():
                yield response.follow(href)
        for form in response.css("form"):
            yield scrapy.FormRequest.from_response(response)
"""

WAYS = (
    *("link", "redirect", "refresh", "open", "echo", "canonical", "sitemap", "folder", "missing"),
    *("broken", "header", "base", "frame", "feed", "scheme", "port", "back", "form"),
)
ARTICLES, STORIES = range(3), range(2)


def _moved(url: str) -> Answer:
    return Answer(b"", headers={"Location": url}, status=302)


class Victim(dict[str, Answer]):
    """Articles, each under its own path; the parameter `story` says nothing there.

    `/go` redirects to any of its pages. Pages that are called `echo` write the query of their URL
    into a link. The folder of `folder` may have any name; its pages have relative links. `/own`
    links to all of it.
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
        if name.startswith("folder/"):
            name = name.rpartition("/")[2]
        number = sum(map(ord, name))
        if name.startswith("list"):
            return Answer(html(article(number), name, f'<a href="more-{name}">more</a>').encode())
        menu = f'<a href="/more-{name}?{parts.query}">more</a>' if name.startswith("echo") else ""
        return Answer(html(article(number), name, menu).encode())


def target(way: str, one: int, two: int) -> str:
    """Path of a page of the victim."""
    if way == "folder":
        return f"/folder/story{two}/list{one}"
    return f"/{way}-{one}?story={two}"


class Neighbour(dict[str, Answer]):
    """Leads to pages of the victim in each of the ways."""

    def __init__(self, victim: str) -> None:
        super().__init__()
        numbers = count()
        items: list[str] = []
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
            elif way in ("missing", "broken"):
                body = f'<html><body><a href="{url}">a</a></body></html>'
                self[own] = Answer(body.encode(), status=404 if way == "missing" else 500)
            elif way == "header":
                self[own] = Answer(b"<p>a</p>", headers={"Link": f"<{url}>"})
            elif way == "base":
                head = f'<base href="{victim}/">'
                body = f'<a href="{target(way, one, two)[1:]}">a</a>'
                self[own] = Answer(f"<html><head>{head}</head><body>{body}</body></html>".encode())
            elif way == "frame":
                self[own] = Answer(
                    f'<html><body><iframe src="{url}"></iframe></body></html>'.encode()
                )
            elif way == "feed":
                items.append(f"<item><link>{url}</link></item>")
                continue
            elif way == "scheme":
                own = url.removeprefix("http:")
            elif way == "port":
                own = url.replace("http://127.0.0.1:", "HTTP://127.0.0.1:0")
            elif way == "back":  # it leaves the victim's site, and comes back
                self[own] = _moved(f"{victim}/go?to={quote(url, safe='/:?=')}")
            elif way == "form":
                form = f'<form action="{url.partition("?")[0]}"><input name="story" value="{two}">'
                self[own] = Answer(f"<html><body>{form}</form></body></html>".encode())
            elif way == "open":
                own = f"{victim}/go?to={quote(target(way, one, two), safe='/?=')}"
            else:
                own = url
            menu.append(f'<a href="{own}">a</a>')
        self["/feed"] = Answer(f"<rss>{''.join(items)}</rss>".encode(), "text/xml")
        menu.append('<a href="/feed">a</a>')
        self["/"] = Answer(html(article(2), "Links", "".join(menu)).encode())
        self["/sitemap.xml"] = Answer(f"<urlset>{''.join(sitemap)}</urlset>".encode(), "text/xml")


@pytest.mark.parametrize("is_own", [True, False])
def test_what_another_server_of_the_host_leads_to_teaches_nothing(
    project: Project, is_own: bool
) -> None:
    with serving(Victim()) as victim, serving(Neighbour(victim.url)) as neighbour:
        start = ("-a", f"first={neighbour.url}/", "-a", f"sitemap={neighbour.url}/sitemap.xml")
        if is_own:
            start = ("-a", f"first={victim.url}/own", "-a", "sitemap=")
        project.crawl(*start, "-s", "DEDUP_FETCH=observe", "-s", "ROBOTSTXT_OBEY=False")
    fetched = {target(way, one, two) for way, one, two in product(WAYS, ARTICLES, STORIES)}
    assert fetched <= {*victim.asked}
    store = str(project.folder / "dedup.db")
    found = project.dedup("rules", _name(victim), "--all", "--store", store)["rules"]
    assert {rule["change"] for rule in found if rule["agreed"]} == (
        {"drop-parameter story", "exchange-segment story1 story0"} if is_own else set()
    )


def _name(server: Server) -> str:
    return server.url.removeprefix("http://")
