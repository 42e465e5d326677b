"""What servers send beside pages: robots.txt, redirects of it, and cookies for other servers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.support.pages import article, html
from tests.support.serving import Answer, Server, serving

if TYPE_CHECKING:
    from email.message import Message

    from tests.support.crawls import Project

SPIDER = """
import scrapy

class Spider(scrapy.Spider):
    name = "spider"

    async def start(self):
        yield scrapy.Request(self.first)

    def parse(self, response):
        yield {"url": response.url}
        for href in response.css("a::attr(href)").getall():
            yield response.follow(href)
"""
STORIES = [f"/story?id={number}" for number in range(20)]
MENU = "".join(f'<a href="{path}">a story</a>' for path in STORIES)


class Victim(dict[str, Answer]):
    """Stories, each with a text of its own; `/go` redirects to any path; a long robots.txt."""

    def get(self, path: str, default: Any = None) -> Any:
        if path == "/robots.txt":
            return Answer(b"Disallow: /nothing\nSitemap: /story?id=1&map=1\n" * 1_000, "text/plain")
        if path.startswith("/go?"):
            return Answer(b"", headers={"Location": path.partition("?")[2]}, status=302)
        number = STORIES.index(path) if path in STORIES else sum(map(ord, path))
        return Answer(html(article(number), path, MENU).encode())


def test_robots_txt_is_never_skipped_and_teaches_nothing(project: Project) -> None:
    with serving(Victim()) as victim, serving({}) as neighbour:
        links = "".join(f'<a href="{victim.url}{path}">a</a>' for path in ("/", *STORIES))
        neighbour.answers = {
            "/": Answer(html(article(999), "Links", links).encode()),
            # It goes round, from the neighbour to a page of the victim and back.
            "/robots.txt": Answer(
                b"", headers={"Location": f"{victim.url}/go?{neighbour.url}/robots.txt"}, status=302
            ),
        }
        options = ("-s", "DEDUP_FETCH=skip", "-s", "ROBOTSTXT_OBEY=True")
        done = project.crawl("-a", f"first={neighbour.url}/", *options)
        assert {*STORIES} <= {*victim.asked}
        assert victim.asked.count("/robots.txt") == 1
        assert 1 < neighbour.asked.count("/robots.txt") <= 20
        # The pages of stories, and the two that lead there.
        assert done.stat("dedup/fetch/learned_from") == str(len(STORIES) + 2)
        assert done.stat("dedup/fetch/skipped") is None
        assert len(done.items) == (len(STORIES) + 2)
    assert project.dedup("rules", "--all")["rules"] == []


class Ending(Server):
    """Has the stories, and one page under all URLs for whoever has the cookie `ended`."""

    def answer(self, path: str, headers: Message) -> Answer:
        number = STORIES.index(path) if path in STORIES else 998
        if "ended=1" in (headers["Cookie"] or ""):
            number = 999
        return Answer(html(article(number), "Stories", MENU).encode())


def test_what_a_site_shows_under_the_cookie_of_a_neighbour_costs_none_of_its_pages(
    project: Project,
) -> None:
    with Ending({}) as victim, serving({}) as neighbour:
        link = f'<a href="{victim.url}/">a</a>'
        body = html(article(997), "Links", link).encode()
        neighbour.answers = {"/": Answer(body, headers={"Set-Cookie": "ended=1; Path=/"})}
        for first, items in ((neighbour.url, 2), (victim.url, 1 + len(STORIES))):
            victim.asked.clear()
            options = ("-s", "DEDUP_FETCH=skip", "-s", "ROBOTSTXT_OBEY=False")
            done = project.crawl("-a", f"first={first}/", *options)
            assert {*victim.asked} == {"/", *STORIES}
            assert len(done.items) == items
    assert not any(rule["agreed"] for rule in project.dedup("rules", "--all")["rules"])
