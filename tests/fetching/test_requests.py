"""Which requests may be skipped, and what costs nothing where all are made."""

from __future__ import annotations

import asyncio
import itertools
import json
import pickle
import random
import re
import subprocess
import sys
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

import pytest
from scrapy import Request, Spider
from scrapy.http import Response
from scrapy.http.request import NO_CALLBACK
from scrapy.settings import Settings

from shingling import Addon, RepeatedPage
from shingling.errors import SettingsError
from shingling.extraction.pages import Extraction
from shingling.fetching.counting import lost
from shingling.fetching.learning import MAX_LINKS, site_name
from shingling.fetching.learning.recent import Table
from shingling.fetching.middleware import _page
from shingling.fetching.requests import (
    Yielded,
    asked_for,
    is_from_elsewhere,
    mark,
    may_be_skipped,
)
from shingling.fetching.savings import read_savings, repeated_urls
from shingling.fetching.waiting import FormsUnderWay
from shingling.rules.reasons import KEEPING, Reason
from shingling.store.model import Verdict
from shingling.store.session import Session
from tests.support.crawls import Project, stats
from tests.support.pages import article, html
from tests.support.serving import Answer, serving

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.support.serving import Server

URL = "https://example.org/a?sid=1"
FOLDERS = Table(16)


class Methods(Spider):
    name = "methods"

    def _parse_sitemap(self, response: Any) -> None:
        """As SitemapSpider has it."""


def marked(url: str = URL, **given: Any) -> Request:
    request = Request(url, **given)
    mark(request, page(URL), FOLDERS)
    return request


def page(url: str, **given: Any) -> Response:
    return Response(url, request=Request(url, **given))


def test_a_request_knows_whether_another_site_has_made_up_its_url() -> None:
    request = Request(URL)
    mark(request, page("https://www.example.org/list"), FOLDERS)
    assert not is_from_elsewhere(request)
    mark(request, page("https://elsewhere.example/"), FOLDERS)
    assert is_from_elsewhere(request)
    assert may_be_skipped(request)
    assert is_from_elsewhere(request.replace(url="https://example.org/redirected"))
    mark(request, page(URL), FOLDERS)  # a callback that hands on all metadata
    assert not is_from_elsewhere(request)
    for url, is_own in (
        ("https://www.example.org/old", True),
        ("http://m.example.org/", True),
        ("https://elsewhere.example/r", False),
        ("https://example.org:8080/", False),
    ):
        assert is_from_elsewhere(Request(URL, meta={"redirect_urls": [url]})) is not is_own


def test_what_a_page_repeats_of_a_url_that_another_site_has_made_up_is_made_up() -> None:
    there = page("https://example.org/a?x=1&y=2", meta={"dedup_from_elsewhere": True})
    for query, is_made_up in (("y=2", True), ("y=3&x=1", True), ("y=3", False), ("", False)):
        request = Request(f"https://example.org/b?{query}")
        mark(request, there, FOLDERS)
        assert is_from_elsewhere(request) is is_made_up


def test_a_folder_that_another_site_has_made_up_is_made_up_until_the_site_links_to_it() -> None:
    there = page("https://wiki.example/wiki/made/a", meta={"dedup_from_elsewhere": True})

    def is_made_up(path: str, found_on: Response = there) -> bool:
        request = Request(f"https://wiki.example{path}")
        mark(request, found_on, FOLDERS)
        return is_from_elsewhere(request)

    assert is_made_up("/wiki/made/b")
    assert is_made_up("/wiki/c")
    assert not is_made_up("/blog/made/b")
    assert not is_made_up("/")
    assert not is_made_up("/wiki/d", page("https://wiki.example/"))
    assert not is_made_up("/wiki/c")
    assert is_made_up("/wiki/made/b")
    assert is_made_up("/wiki/made/a/b")


@pytest.mark.parametrize(
    "url",
    [
        "https://VICTIM.example/",
        "https://victim.example:443/",
        "https://www.victim.example/",
        "https://ｖictim.example/",
        "https://victim.example:/",
    ],
)
def test_a_host_is_one_site_however_it_is_written(url: str) -> None:
    assert site_name(Request(url).url) == "victim.example"


def test_what_is_before_a_backslash_is_a_host_or_the_name_of_a_user_who_has_no_site() -> None:
    url = Request(r"https://victim.example\@evil.example/").url  # w3lib reads a host since 2.5
    assert site_name(url) == ("" if "@" in url.split("/")[2] else "victim.example")


@pytest.mark.parametrize(
    "url",
    [
        "https://victim.example:8080/",
        "https://victim.example:80/",
        "https://victim.example@evil.example/",
        "https://victim.example.evil.example/",
        "https://xn--vctim-1va.example/",
        "https://[::1]/",
    ],
)
def test_another_host_or_port_is_another_site(url: str) -> None:
    request = Request("https://victim.example/a?sid=1")
    mark(request, page(url), FOLDERS)
    assert is_from_elsewhere(request)


def test_a_page_that_is_kept_for_what_it_says_is_learned_from_as_such() -> None:
    for reason in (*KEEPING, None, Reason.OTHER_TITLE):
        response = page(URL)
        seen, verdict = Yielded(response), Verdict("near", reason=reason)
        assert _page(response, seen, Extraction(), verdict).says_more is (reason in KEEPING)


def test_a_page_is_new_if_the_store_has_neither_met_its_url_nor_its_text() -> None:
    response = page(URL)
    seen = Yielded(response)
    new = Verdict("new"), Verdict("changed", previous=0.3)
    known = Verdict("changed"), Verdict("unchanged"), Verdict("exact"), Verdict("near")
    assert all(_page(response, seen, Extraction(), verdict).is_new for verdict in new)
    assert not any(_page(response, seen, Extraction(), verdict).is_new for verdict in known)
    assert not _page(response, seen, Extraction()).is_new  # nobody knows


def test_only_what_a_callback_has_asked_for_may_be_skipped() -> None:
    assert may_be_skipped(marked())
    assert may_be_skipped(marked(meta={"retry_times": 2, "redirect_urls": [URL]})), "of another"
    assert may_be_skipped(marked(meta={"category": "chairs", "splash": {"wait": 1}}))
    spider = Methods()
    never = [
        Request(URL),
        marked(method="POST"),
        marked(body=b"x"),
        marked(dont_filter=True),
        marked(callback=NO_CALLBACK),
        marked(callback=spider._parse_sitemap),
        marked(meta={"dedup": False}),
        marked(meta={"dedup_fetch": True}),
        marked(meta={"item": {"name": "A chair"}}),
        marked(cb_kwargs={"number": 3}),
        marked("https://example.org/Sitemap.XML?x=1"),
        marked("https://example.org/sitemap.xml.gz"),
        marked("ftp://example.org/a"),
        marked("data:,a"),
        marked().replace(url="https://example.org/target"),  # a redirect
        marked().replace(meta={**marked().meta, "retry_times": 1}),
    ]
    assert [request for request in never if may_be_skipped(request)] == []


def test_redirects_are_told_from_those_that_came_with_foreign_metadata() -> None:
    foreign = ["https://example.org/foreign"]
    request = marked(meta={"redirect_urls": foreign})
    assert asked_for(request) == (URL, ())
    there = request.replace(
        url="https://example.org/there", meta={**request.meta, "redirect_urls": [*foreign, URL]}
    )
    assert asked_for(there) == (URL, (URL,))
    start = Request("https://example.org/there", meta={"redirect_urls": [URL]})
    assert asked_for(start) == (URL, (URL,))
    assert asked_for(Request(URL)) == (URL, ())
    assert asked_for(Request(URL, meta={"dedup_followed": "nonsense"})) == (URL, ())


def test_the_exception_can_be_pickled_and_names_rule_and_page() -> None:
    error = RepeatedPage(URL, "https://example.org/a", ("drop-parameter sid",), 0.004)
    again = pickle.loads(pickle.dumps(error))  # noqa: S301 (our own)
    assert str(again) == str(error)
    assert (again.url, again.page, again.rules, again.risk) == (URL, error.page, error.rules, 0.004)
    assert "https://example.org/a by: drop-parameter sid (0.40%)" in str(again)


def test_what_would_be_lost_is_said_with_its_exact_interval() -> None:
    assert "no page was looked at" in lost(0, 0)
    assert "of 1,000 such pages that were looked at, 2 would have been lost (0.02% to 0.72%)" in (
        lost(2, 1000)
    )


async def test_a_request_waits_for_the_first_one_of_its_form_until_that_is_known() -> None:
    forms, happened = FormsUnderWay(), list[str]()

    async def second() -> None:
        assert await forms.wait(1, "second")
        happened.append("second")

    assert not await forms.wait(1, "first")
    assert not await forms.wait(2, "other")
    waiting = asyncio.create_task(second())
    await asyncio.sleep(0.01)
    forms.done("unknown")
    forms.done("other")
    happened.append("first")
    forms.done("first")
    forms.done("first")
    await waiting
    assert not await forms.wait(1, "third")
    assert happened == ["first", "second"]


def test_without_the_setting_nothing_of_it_is_imported_or_registered() -> None:
    code = (
        "import sys\n"
        "from scrapy.settings import Settings\n"
        "from shingling import Addon\n"
        "settings = Settings()\n"
        "Addon().update_settings(settings)\n"
        "print(len(settings['DOWNLOADER_MIDDLEWARES']), len(settings['SPIDER_MIDDLEWARES']),\n"
        "    sorted(name for name in sys.modules if name == 'numpy'\n"
        "        or name.startswith('shingling.fetching.') and not name.endswith('.room')))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "1 1 []\n"


def test_the_addon_registers_the_middlewares_where_fewer_pages_are_to_be_fetched() -> None:
    settings = Settings({"DEDUP_FETCH": "skip"})
    Addon().update_settings(settings)
    assert sorted(settings["DOWNLOADER_MIDDLEWARES"].values()) == [1, 120]
    assert sorted(settings["SPIDER_MIDDLEWARES"].values()) == [10, 950]
    refused = [("DEDUP_FETCH", "some"), ("DEDUP_SKIP_RISK", 0), ("DEDUP_SKIP_RISK", 2)]
    refused += [("DEDUP_FETCH_NEVER", one) for one in ("page", ["drop-parameter"], 5, [5])]
    for name, value in refused:
        with pytest.raises(SettingsError, match=name):
            Addon().update_settings(Settings({name: value}))


# Requests that are skipped, in real crawls of a site whose URLs have session ids


PAGES = 50
SPIDER = """
import scrapy
from shingling.fetching import middleware, sharing, waiting

# On a slow machine as well, everything waits for what it waits for.
for module in (middleware, sharing, waiting):
    module.MAX_WAIT_SECONDS = 3600

class Spider(scrapy.Spider):
    name = "spider"
    failures = 0
    pause = switch = ""
    custom_settings = {"CONCURRENT_REQUESTS": 4, "CLOSESPIDER_PAGECOUNT": 450}

    async def start(self):
        yield scrapy.Request(self.site + "/")
        if self.switch == "at start":
            yield scrapy.Request(self.site + "/switch", self.switched)

    def switched(self, response):
        for url in (f"{self.site}/post/{number}?sid=" for number in range(1, 5)):
            for sid in (10**8, 10**8 + 1):
                yield scrapy.Request(url + str(sid), self.nothing, meta={"dedup_fetch": True})

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
        if self.failures == 20 and self.pause:
            raise scrapy.exceptions.CloseSpider("paused")
        if self.failures == 20 and self.switch == "later":
            yield scrapy.Request(self.site + "/switch", self.switched)
        elif self.failures == 20:
            for number in range(3):
                yield from self.never_skipped(f"{self.site}/post/1?sid=never-{number}")
"""


# Where no request is skipped, there is no end of them.
FEWER = ("-s", "CLOSESPIDER_PAGECOUNT=260")


class Site(dict[str, Answer]):
    """Posts that link to others, each time under a new session id.

    From `/switch` on, session ids matter and pages have no links.

    Attributes:
        matters: whether the session id says which page is meant.
    """

    def __init__(self) -> None:
        super().__init__()
        self._ids = itertools.count()
        self.matters = self._has_links_no_more = False

    def get(self, path: str, default: Any = None) -> Any:
        parts = urlsplit(path)
        if parts.path == "/switch":
            self.matters = self._has_links_no_more = True
            return Answer(html("Session ids matter", "").encode())
        if not parts.path.startswith("/post/") and parts.path != "/":
            return default
        number = int(parts.path[6:] or 0)
        chosen = random.Random(number)
        linked = [2 * number + 1, 2 * number + 2, *(chosen.randrange(PAGES) for _ in range(3))]
        menu = "".join(f'<a href="/post/{n % PAGES}?sid={next(self._ids)}">x</a>' for n in linked)
        menu = "" if self._has_links_no_more else menu
        sid = parse_qs(parts.query).get("sid", ["0"])[0]
        other = 1000 * (int(sid) % 3) if self.matters and sid.isdigit() else 0
        return Answer(html(article(100 + number + other), f"{number} {other}", menu).encode())


@pytest.fixture
def site() -> Iterator[Server]:
    with serving(Site()) as server:
        yield server


def crawl(
    project: Project, site: Server, fetch: str, *options: str, items: int = 1
) -> tuple[dict[str, str], list[str], str]:
    """Stats of a crawl, the paths that it asked for, and its log."""
    before = len(site.asked)
    done = project.crawl(
        *("-a", f"site={site.url}", "-a", f"items={items or ''}", "-s", f"DEDUP_FETCH={fetch}"),
        *("-s", "DEDUP_DEBUG=True", "-s", "DEDUP_ACTION=tag", *options),
    )
    return stats(done.log), site.asked[before:], done.log


def stored(project: Project) -> Session:
    return Session.open(f"sqlite:///{project.folder / 'dedup.db'}", create=False)


def test_requests_that_would_repeat_a_page_are_skipped_until_they_would_not(
    project: Project, site: Server
) -> None:
    first, asked, log = crawl(project, site, "skip")
    posts = [path for path in asked if path.startswith("/post/") and "never" not in path]
    assert {path.partition("?")[0] for path in posts} == {f"/post/{n}" for n in range(PAGES)}
    skipped = int(first["dedup/fetch/skipped"])
    assert skipped > 50
    assert int(first["failed/RepeatedPage"]) == skipped
    assert first["failed/rules"] == "drop-parameter sid"
    assert "spider_exceptions/count" not in first
    assert log.count(" DEBUG: Skipped: ") == skipped
    assert f"Dedup: {skipped} requests were skipped by" in log
    assert int(first["dedup/fetch/learned_from"]) > PAGES
    assert "dedup/fetch/not_noted" not in first
    for never in ("forced", "out", "unfiltered"):
        assert sum(path.endswith(f"-{never}") for path in asked) == 3, never
    assert int(first["downloader/request_method_count/POST"]) >= 3
    assert first["dedup/known_bodies"] == "0", "an item and its page are extracted once"

    rules = project.dedup("rules", site.url.split("/")[2])
    [rule] = [one for one in rules["rules"] if one["node"] == "/"]
    assert (rule["change"], rule["active"], rule["saved"]) == ("drop-parameter sid", True, skipped)
    assert rules["lost"]["lost"] == 0
    status = project.dedup("status")
    assert status["last_runs"][0]["counts"]["fetch_skipped"] == skipped

    site.answers.matters = True  # type: ignore[attr-defined]
    # Each crawl draws anew which requests are checked: at times, all of those show the same page.
    crawls = (crawl(project, site, "skip")[0] for _ in range(6))
    assert any(int(again.get("dedup/fetch/unlearned", 0)) for again in crawls)
    after = project.dedup("rules")["rules"]
    assert not [one for one in after if one["node"] == "/" and one["active"]]


def skipped_in(log: str) -> set[str]:
    """Paths of the requests that were skipped."""
    urls = re.findall(r" DEBUG: Skipped: (\S+) would repeat ", log)
    return {url.partition("/post/")[2] for url in urls}


def made_of(asked: list[str]) -> set[str]:
    return {path.removeprefix("/post/") for path in asked}


def test_what_a_wrong_rule_has_skipped_is_fetched_in_the_same_crawl(
    project: Project, site: Server
) -> None:
    seen, asked, log = crawl(project, site, "skip", "-a", "switch=later")
    skipped = skipped_in(log)
    assert len(skipped) >= 20
    assert int(seen["dedup/fetch/refetched"]) >= 20
    assert skipped <= made_of(asked)
    assert "; " + seen["dedup/fetch/refetched"] + " were made after all" in log


def test_what_a_job_has_skipped_before_a_pause_is_fetched_when_its_rule_is_wrong(
    project: Project, site: Server
) -> None:
    # Scrapy 2.14.0 leaves a file of an empty queue of start requests open, and logs that.
    job = ("-s", "JOBDIR=job", "-s", "SCHEDULER_START_DISK_QUEUE=")
    _, asked, log = crawl(project, site, "skip", *job, "-a", "pause=1")
    skipped = skipped_in(log)
    assert len(skipped) >= 20
    assert not skipped & made_of(asked)
    second, asked, _ = crawl(project, site, "skip", *job, "-a", "switch=at start")
    assert int(second["dedup/fetch/refetched"]) >= 20
    assert skipped <= made_of(asked)


def test_a_change_that_is_never_to_be_made_skips_nothing(project: Project, site: Server) -> None:
    never = ("-s", "DEDUP_FETCH_NEVER=drop-parameter x, drop-parameter sid")
    seen, _, _ = crawl(project, site, "skip", *never, *FEWER)
    assert "dedup/fetch/skipped" not in seen
    assert int(seen["dedup/fetch/learned_from"]) > PAGES
    assert project.dedup("rules", "--all")["rules"] == []


def test_pages_whose_items_another_pipeline_drops_are_not_waited_for(
    project: Project, site: Server
) -> None:
    project.write(
        "shop/dropping.py",
        "from scrapy.exceptions import DropItem\n\n"
        "class Dropping:\n"
        "    def process_item(self, item):\n"
        "        raise DropItem('not wanted')\n",
    )
    pipelines = json.dumps({"shop.dropping.Dropping": 100})
    seen, _, _ = crawl(project, site, "skip", "-s", f"ITEM_PIPELINES={pipelines}")
    assert "dedup/checked" not in seen
    assert int(seen["dedup/fetch/skipped"]) > 50


def test_observe_skips_nothing_and_tells_how_often_that_would_have_lost_a_page(
    project: Project, site: Server
) -> None:
    seen, asked, log = crawl(project, site, "observe", *FEWER, items=0)
    assert "dedup/fetch/skipped" not in seen
    would = int(seen["dedup/fetch/would_skip"])
    assert would > 50
    assert f"Dedup: {would} requests would have been skipped by" in log
    assert "0 would have been lost (0.00% to " in log
    assert "dedup/checked" not in seen, "no item ever came"
    assert len(asked) > 240
    with stored(project) as session:
        found = read_savings(session, {"DEDUP_SKIP_RISK": 0.01, "DEDUP_FETCH_NEVER": ()})
    assert (found.skipped, found.would_skip) == (0, would)
    assert found.requests == int(seen["dedup/fetch/requests"]) <= len(asked)
    assert found.looked_at == int(seen["dedup/fetch/checked"])
    assert found.learned_from == int(seen["dedup/fetch/learned_from"])
    [of_site] = found.sites
    assert of_site.requests == found.requests
    assert of_site.repeats == would + int(seen.get("dedup/fetch/explored", 0))
    assert "drop-parameter sid" in {rule.change for rule in of_site.rules}
    site.answers.matters = True  # type: ignore[attr-defined]
    seen, _, log = crawl(project, site, "observe", *FEWER, items=0)
    lost = int(seen.get("dedup/fetch/would_lose", 0)) + int(seen["dedup/fetch/unlearned"])
    assert lost >= 1


START_REQUESTS = """
import scrapy

class Spider(scrapy.Spider):
    name = "spider"

    async def start(self):
        for sid in range(4):
            for number in range(20):
                yield scrapy.Request(f"{self.site}/post/{number}?sid={sid}")

    def parse(self, response):
        yield {"url": response.url}
"""


def test_a_crawl_of_start_requests_says_what_it_has_looked_at_and_would_skip(
    project: Project, site: Server
) -> None:
    project.write("shop/spiders/spider.py", START_REQUESTS)
    seen, _, log = crawl(project, site, "observe")
    assert "dedup/fetch/requests" not in seen
    assert "Dedup: 0 requests would have been skipped by" in log
    assert int(seen["dedup/fetch/rules"]) > 0
    of_rooms = {"DEDUP_SKIP_RISK": 0.01, "DEDUP_FETCH_NEVER": ()}
    with stored(project) as session:
        found = read_savings(session, of_rooms)
        listed = {one["url"] for one in repeated_urls(session, of_rooms)}
        with session.reading() as connection:
            pages = connection.exec_driver_sql(
                "SELECT url FROM pages WHERE id NOT IN"
                " (SELECT min(id) FROM pages GROUP BY substr(url, 1, instr(url, '?')))"
            ).scalars()
            assert listed == {*pages}
    assert len(listed) == 60
    assert (found.requests, found.would_skip) == (0, 0)
    assert found.learned_from == int(seen["dedup/fetch/learned_from"]) > 0
    assert "start requests, and those with data for an item, are always made" in found.why


def test_of_an_error_page_with_many_links_two_hundred_are_kept() -> None:
    address = "https://example.org/gone"
    seen = Yielded(Response(address, status=404, request=Request(address)), FOLDERS)
    for number in range(1000):
        seen.add_output(Request(f"https://example.org/{number}"))
    assert len(seen.links) == MAX_LINKS
