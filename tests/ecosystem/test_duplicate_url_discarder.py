"""What was learned of URLs, used by duplicate-url-discarder."""

from __future__ import annotations

import json
from itertools import product
from typing import TYPE_CHECKING

import pytest

from shingling import Store
from shingling.fetching.learning import UrlLearner
from shingling.fetching.stored_rules import save
from tests.fetching.test_discarder import LEARNED, SHOP
from tests.support.commands import dedup_command
from tests.support.crawls import Project
from tests.support.pages import article, html
from tests.support.serving import serving
from tests.support.stores import session_of, url_of

if TYPE_CHECKING:
    from pathlib import Path

discarder = pytest.importorskip("duplicate_url_discarder.url_canonicalizer")

UNIQUE = 8
LINKS = "".join(f'<a href="/articles/{n}?sid={sid}">x</a>' for n in range(UNIQUE) for sid in "123")
PAGES = {"/": html("Articles", "Articles", LINKS)} | {
    f"/articles/{n}?sid={sid}": html(article(n), f"Article {n}")
    for n in range(UNIQUE)
    for sid in "123"
}
SPIDER = """
import scrapy

class Spider(scrapy.Spider):
    name = "spider"

    async def start(self):
        yield scrapy.Request(self.site + "/")

    def parse(self, response):
        yield from response.follow_all(css="a", callback=self.parse_page)

    def parse_page(self, response):
        yield {"url": response.url, "title": response.css("h1::text").get()}
"""


def test_it_takes_two_urls_for_one_only_if_the_rules_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url, file = url_of(tmp_path / "dedup.db"), tmp_path / "rules.json"
    learner = UrlLearner()
    with Store.open(url) as store:
        save(session_of(store), LEARNED)
    for site in {one.site for one in LEARNED}:
        learner.load_rules(site, [one for one in LEARNED if one.site == site])
    file.write_text(dedup_command(monkeypatch, "rules", "--format", "dud", "--store", url).out)
    changed = discarder.UrlCanonicalizer([file]).process_url

    hosts = (SHOP, f"www.{SHOP}", f"a.{SHOP}", "other.example", "[::1]:8080")
    names = ("a", "aa", "b", "show", "more", "products")
    folders = ["", *("/".join(("", *one)) for n in (1, 2) for one in product(names, repeat=n))]
    queries = ("sid=1", "SID=1&x=2", "ref=1&id=2", "_pos=1&_sid=2&x=3", "_pos=1", "page=1", "few=1")
    urls = [
        f"https://{host}{folder}{end}?{query}"
        for host, folder, end, query in product(hosts, folders, ("", "/", ";v=1"), queries)
    ]
    for url in urls:
        assert learner.form(changed(url)) == learner.form(url), f"{url} is {changed(url)}"
    assert sum(changed(url) != url for url in urls) > 200
    for url, same in (
        ("/a/b?x=1&sid=2", "/a/b?x=1"),
        ("/a?ref=1", "/a"),
        ("/show/b?ref=1", "/show/b?ref=1"),
        ("/products/b?_sid=2&_pos=1", "/products/b"),
        ("/products/b?_pos=1", "/products/b?_pos=1"),
    ):
        assert changed(f"https://{SHOP}{url}") == f"https://{SHOP}{same}"


def test_a_spider_uses_what_was_learned_with_the_add_on_and_without_it(tmp_path: Path) -> None:
    project = Project(tmp_path, SPIDER)
    observe = ("-s", "DEDUP_FETCH=observe")
    with serving(PAGES) as server:
        site = ("-a", f"site={server.url}")
        learning = project.crawl(*site, *observe)
        assert learning.status == 0, learning.log
        assert len(learning.items) == UNIQUE
        assert len(server.asked) > 3 * UNIQUE
        done = project.run("dedup", "rules", "--format", "dud")
        assert done.returncode == 0, done.stderr
        [*_, rule] = json.loads(done.stdout)
        assert rule["args"] == ["sid"]
        (tmp_path / "rules.json").write_text(done.stdout)
        rules = ("-s", f"DUD_LOAD_RULE_PATHS={tmp_path / 'rules.json'}")
        store = ("-s", "DEDUP_STORE_URL=sqlite:///other.db")
        for addons in ({}, {"shingling.Addon": 500}):
            server.asked.clear()
            both = {**addons, "duplicate_url_discarder.Addon": 600}
            crawl = project.crawl(*site, *rules, *store, "-s", f"ADDONS={json.dumps(both)}")
            assert crawl.status == 0, crawl.log
            assert "Traceback" not in crawl.log, crawl.log
            assert len(crawl.items) == len(server.asked) - 1 == UNIQUE
            assert crawl.stat("duplicate_url_discarder/request/url_modified") == str(3 * UNIQUE)
