"""An item is dropped only if its text is a duplicate, and its original's item says all it says.

A text in which the title of the page does not stand is not that of the page.
"""

from __future__ import annotations

import json
from collections import Counter
from contextlib import ExitStack
from datetime import datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest

from tests.support.crawls import Crawl, Project
from tests.support.pages import WORDS, article, edited, html
from tests.support.serving import serving

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from tests.support.serving import Server

SPIDER = '''
import datetime
import hashlib
import json
import time
from dataclasses import dataclass, field
from typing import Any

import attrs
import scrapy


class Offer(scrapy.Item):
    url = scrapy.Field()
    title = scrapy.Field()
    seller = scrapy.Field()
    price = scrapy.Field()


@dataclass
class Event:
    url: str
    title: str
    begins: datetime.date
    scraped: float = field(default_factory=time.time)


@attrs.define
class Variant:
    url: str
    title: str
    details: dict[str, Any]


class Hours:
    """A value without words of its own, which a later pipeline writes out."""

    def __init__(self, hours):
        self.hours = hours


class WriteHours:
    def process_item(self, item):
        if "hours" in item:
            item["hours"] = item["hours"].hours
        return item


class Spider(scrapy.Spider):
    """Yields an item of each page, of the class and with the data of its kind."""

    name = "spider"

    async def start(self):
        for number, url in enumerate(self.urls.split()):
            yield scrapy.Request(url, priority=-number)

    def parse(self, response):
        kind = response.url.split("/")[3]
        common = {"url": response.url, "title": response.css("title::text").get()}
        data = json.loads(response.css("data::attr(value)").get() or "{}")
        item = common | data
        if kind in ("stories", "shops"):
            item["body"] = response.css("article p::text").getall()
        if kind == "hours":
            item["hours"] = Hours(response.css("i::text").get())
        if kind == "offers":
            item = Offer(**item)
        if kind == "events":
            item = Event(**common, begins=datetime.date.fromisoformat(data["begins"]))
        if kind == "variants":
            item = Variant(**common, details=data)
        if kind == "full":
            now = datetime.datetime.now(datetime.timezone.utc)
            item |= {
                "link": response.url,
                "id": hashlib.sha1(response.url.encode()).hexdigest(),
                "scraped": now.isoformat(),
                "crawled": int(time.time()),
                "when": now.strftime("%Y-%m-%d %H:%M:%S"),
                "meta": {"source": response.url, "at": now},
                "empty": "",
            }
        yield item
'''

SITES = [f"127.0.0.{n}" for n in range(1, 13)]


def page(data: Mapping[str, Any], text: str, title: str = "A title of all pages") -> str:
    """Return a page that shows a text and holds data for its item."""
    value = json.dumps(data).replace("&", "&amp;").replace('"', "&quot;")
    return html(text, title).replace("</article>", f'</article><data value="{value}"></data>')


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path, SPIDER)


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


def crawl(project: Project, urls: Sequence[str], *settings: str) -> Crawl:
    return project.crawl("-a", f"urls={' '.join(urls)}", "-s", "CONCURRENT_REQUESTS=1", *settings)


def sites(stack: ExitStack, *pages_of: Mapping[str, str]) -> list[str]:
    """Serve pages, each mapping on a site of its own, and return their URLs: path by path."""
    servers = [
        stack.enter_context(serving(pages, host))
        for pages, host in zip(pages_of, SITES, strict=False)
    ]
    return [server.url + path for path in pages_of[0] for server in servers]


def one_site(data: Sequence[Mapping[str, Any]], text: str, kind: str = "items") -> dict[str, str]:
    return {f"/{kind}/{n}": page(one, text) for n, one in enumerate(data)}


def jobs(number: int) -> dict[str, str]:
    """Return adverts of 260 words, each in two towns that only the title names."""
    return {
        f"/items/{n}": page(
            {"pay": "20 EUR"}, article(number + n // 2, 260), f"Clerk {n // 2} in {town}"
        )
        for n, town in enumerate(["Berlin", "Hamburg"] * 4)
    }


def editions(number: int) -> dict[str, str]:
    """Return books in three editions that only the item's title names."""
    return {
        f"/items/{n}": page(
            {"title": f"Book {n // 3}, edition {n % 3}", "price": "9.90"},
            article(number + n // 3, 150),
        )
        for n in range(9)
    }


def departures(format: str, number: int) -> dict[str, str]:  # noqa: A002 (of strftime)
    """Return trips that differ in a time around now, as the sites of the place write it."""
    times = [datetime.now() + timedelta(minutes=5 * n - 15) for n in range(8)]  # noqa: DTZ005
    return one_site([{"departs": time.strftime(format)} for time in times], article(number, 150))


def told_by(*data: Mapping[str, Any]) -> Callable[[int], dict[str, str]]:
    """Return what makes pages of one text, whose items have different data."""
    return lambda number: one_site(data, article(number, 150))


TEXT = article(77, 150)
# Each makes the pages of a site, from articles of this number on.
ON_ONE_SITE: dict[str, Callable[[int], dict[str, str]]] = {
    "adverts in two towns": jobs,
    "editions": editions,
    "one seller's equal pages before another's": lambda number: {
        **one_site([{"price": f"{n}9.99"} for n in range(3)], article(number, 60), "mallory"),
        **one_site([{"price": f"{n}.50"} for n in range(6)], article(number + 1, 150), "victim"),
    },
    "opening hours of a class of its own": lambda number: {
        f"/hours/{n}": page({}, article(number, 150)).replace(
            "</article>", f"</article><i>{n + 8}-18</i>"
        )
        for n in range(4)
    },
    "departures around now": partial(departures, "%Y-%m-%dT%H:%M:%S.%f"),
    "departures at whole minutes": partial(departures, "%Y-%m-%d %H:%M:00"),
    "opening times": told_by(*({"opens": f"{n + 8}:00"} for n in range(3))),
    "yes and no": told_by({"in_stock": True}, {"in_stock": False}),
    "swapped": told_by({"a": 1, "b": 2}, {"a": 2, "b": 1}),
}


def count(done: Crawl) -> Counter[str]:
    """Count the items of each site."""
    return Counter(urlsplit(item["url"]).netloc for item in done.items)


def test_what_an_item_alone_says_keeps_it(project: Project, stack: ExitStack) -> None:
    urls, expected = list[str](), Counter[str]()
    for number, make in enumerate(ON_ONE_SITE.values(), 1):
        pages = make(100 + 10 * number)
        server = stack.enter_context(serving(pages, f"127.0.1.{number}"))
        urls += [server.url + path for path in pages]
        expected[urlsplit(server.url).netloc] = len(pages)
    later = ("-s", 'ITEM_PIPELINES={"shop.spiders.spider.WriteHours": 750}')
    for day in range(2):
        assert count(crawl(project, urls, *later)) == expected, (day, [*ON_ONE_SITE])


def test_prices_of_every_day_come_out(project: Project, stack: ExitStack) -> None:
    pages: dict[str, str] = {}
    for day in range(4):
        number = 6 if day < 2 else 8
        text = TEXT if day < 3 else edited(TEXT)
        prices = [{"price": 10 + n + day} for n in range(number)]
        pages.update(one_site(prices, text))
        urls = sites(stack, pages)
        got = [item["price"] for item in crawl(project, urls).items]
        assert sorted(got) == [10 + n + day for n in range(number)], day
        stack.pop_all().close()


# On three sites, or two; each of articles of its own.
ON_DIFFERENT_SITES: dict[str, list[dict[str, str]]] = {
    **{
        name: [
            {
                f"/{kind}/{n}": page({"price": f"{n + extra}.90 EUR"}, article(first + n, 150))
                for n in range(4)
            }
            for extra in (10, 12)
        ]
        for name, kind, first in (
            ("prices", "items", 300),
            ("prices beside the description in a field", "shops", 310),
        )
    },
    "branches": [
        {"/items/1": page({"addr": f"{n} High Street", "phone": f"030 {n}"}, article(320, 150))}
        for n in range(3)
    ],
    "places": [{"/shops/1": page({"geo": [52.5 + n, 13.4]}, article(321, 150))} for n in range(3)],
    "sizes": [{"/shops/1": page({"size": f"{n}50 MB"}, article(322, 150))} for n in range(3)],
}


def test_numbers_of_items_count_on_different_sites(project: Project, stack: ExitStack) -> None:
    urls = list[str]()
    for number, pages_of in enumerate(ON_DIFFERENT_SITES.values(), 2):
        servers = [
            stack.enter_context(serving(pages, f"127.0.{number}.{site}"))
            for site, pages in enumerate(pages_of, 1)
        ]
        urls += [server.url + path for path in pages_of[0] for server in servers]
    for day in range(2):
        found = {item["url"] for item in crawl(project, urls).items}
        assert {*urls} - found == set(), day


def story(number: int, site: int) -> str:
    dates = ("2026-11-25T10:00:00Z", "November 25, 2026", "25.11.2026")
    data = {
        "author": ("By John Smith", "SMITH, John (Agency)", "js")[site],
        "date": dates[site],
        "section": ("World", "News", "Top stories")[site],
        "id": 9100 + 100 * site + number,
    }
    return page(data, article(number, 250), f"Story {number} about a harbour")


def test_syndicated_stories_go_whatever_form_their_dates_and_authors_have(
    project: Project, stack: ExitStack
) -> None:
    pages_of = [
        {f"/stories/{9100 + 100 * site + n}": story(n, site) for n in range(12)}
        for site in range(3)
    ]
    servers = [
        stack.enter_context(serving(pages, host))
        for pages, host in zip(pages_of, SITES, strict=False)
    ]
    urls = [
        server.url + path for server, pages in zip(servers, pages_of, strict=True) for path in pages
    ]
    done = crawl(project, urls)
    assert len(done.items) == 12
    assert "on other sites, although these fields differ: author (24), date (24)" in done.log
    assert '. To keep items that differ in author: DEDUP_FIELDS = ["author"]' in done.log
    again = crawl(
        project, urls, "-s", "DEDUP_FIELDS=author", "-s", "DEDUP_STORE_URL=sqlite:///b.db"
    )
    assert len(again.items) == 36


def test_items_of_url_and_title_go_on_three_sites(project: Project, stack: ExitStack) -> None:
    pages = {f"/items/{n}": html(article(n), f"Page {n}") for n in range(3)}
    assert len(crawl(project, sites(stack, pages, pages, pages)).items) == 3


def test_fields_that_say_nothing_are_named_by_the_user(project: Project, stack: ExitStack) -> None:
    views = {f"/items/1?copy={n}": page({"views": n, "sku": "A"}, TEXT) for n in range(5)}
    urls = sites(stack, views)
    first = crawl(project, urls)
    assert len(first.items) == 5
    assert (
        "Dedup: 4 items kept because the fields differ: views (4). If views says"
        ' nothing: DEDUP_IGNORE_FIELDS = ["views"]' in first.log
    )
    assert len(crawl(project, urls, "-s", "DEDUP_IGNORE_FIELDS=views").items) == 1
    assert len(crawl(project, urls, "-s", "DEDUP_IGNORE_FIELDS=views,sku").items) == 1
    assert len(crawl(project, urls).items) == 5, "a setting acts in the next crawl"


def test_several_fields_may_be_named_for_text(project: Project, stack: ExitStack) -> None:
    pages = {
        "/items/1": page({"summary": article(1), "n": 1}, "short"),
        "/items/2": page({"story": article(1), "n": 1}, "other"),
    }
    urls = sites(stack, pages)
    assert len(crawl(project, urls).items) == 2
    named = crawl(project, urls, "-s", "DEDUP_TEXT_FIELD=story,summary")
    assert len(named.items) == 1


NOTICE = article(88, 130)  # of consent, or of a subscription


def name(number: int) -> str:
    """Return a word that stands in no made text."""
    return f"{WORDS[number]}{WORDS[number + 1]}".capitalize()


def story_behind_a_notice(site: int, number: int, layout: str) -> str:
    """Return a page whose main text is the notice of all sites; its story stands elsewhere."""
    title = f"{name(12 * number + site)} and {name(99 + site)}"
    story = f"<h1>{title}</h1><p>{article(100 + 12 * number + site, 45)}</p>"
    body = {
        "beside": f"<article><p>{NOTICE}</p></article><aside>{story}</aside>",
        "above": f"<article>{story}<div><p>{NOTICE}</p></div></article>",
    }[layout]
    return f"<html><head><title>{title} | Site {site}</title></head><body>{body}</body></html>"


@pytest.mark.parametrize("layout", ["beside", "above"])
def test_stories_behind_the_notice_of_twelve_sites_come_out(
    project: Project, stack: ExitStack, layout: str
) -> None:
    urls = sites(
        stack,
        *(
            {f"/items/{n}": story_behind_a_notice(site, n, layout) for n in range(2)}
            for site in range(12)
        ),
    )
    for day in range(2):
        assert len(crawl(project, urls).items) == 24, day


def test_pages_of_applications_that_ask_for_scripts_come_out(
    project: Project, stack: ExitStack
) -> None:
    notices = {
        "short": "<noscript>You need to enable JavaScript to run this app.</noscript>",
        "long": f"<noscript>{article(1, 70)}</noscript>",
        "in paragraphs": f"<noscript><p>{article(2, 40)}</p><p>{article(2, 40)}</p></noscript>",
    }
    shell = "<html><head><title>Shop</title></head><body>{}<div id=root></div></body></html>"
    pages = {
        f"/items/{kind.replace(' ', '-')}/{n}": shell.format(notice)
        for kind, notice in notices.items()
        for n in range(4)
    }
    urls = sites(stack, pages, pages)
    assert len(crawl(project, urls).items) == 24


def test_articles_beside_one_sidebar_on_three_sites_come_out(
    project: Project, stack: ExitStack
) -> None:
    def beside(site: int, number: int) -> str:
        title = f"{name(7 * site + number)} and {name(99 + site)}"
        paragraphs = "".join(
            f"<div>{title}. {article(200 + 10 * site + number + part, 40)}.</div>"
            for part in range(0, 400, 100)
        )
        return (
            f"<html><head><title>{title}</title></head><body>"
            f"<div class=layout><h1>{title}</h1><div class=story>{paragraphs}</div></div>"
            f"<article><p>{NOTICE}</p><p>{article(89, 115)}</p></article></body></html>"
        )

    pages_of = [{f"/items/{n}": beside(site, n) for n in range(2)} for site in range(3)]
    assert len(crawl(project, sites(stack, *pages_of)).items) == 6


def test_the_whole_article_is_kept_after_its_beginning_where_that_is_asked_for(
    project: Project, stack: ExitStack
) -> None:
    whole = article(5, 400)
    beginnings = [" ".join(whole.split()[:length]) for length in (210, 300)]
    pages_of = [
        {"/items/story": html(text, "The harbour of the river")} for text in (*beginnings, whole)
    ]
    urls = sites(stack, *pages_of)
    of_default = crawl(project, urls)
    assert urls[2] not in [item["url"] for item in of_default.items]
    asked = ("-s", "DEDUP_CONTAINMENT=0.9", "-s", "DEDUP_STORE_URL=sqlite:///whole.db")
    assert urls[2] in [item["url"] for item in crawl(project, urls, *asked).items]
    copy = stack.enter_context(serving({"/items/story": pages_of[2]["/items/story"]}, SITES[5]))
    later = crawl(project, [f"{copy.url}/items/story"], *asked)
    assert later.items == [], "the whole one is the original of those that come later"


# Items with data of their own, of all shapes


BRANCH = article(1)
NUMBER = 8


def shown(data: dict[str, Any], text: str = BRANCH, title: str = "Our branch") -> str:
    """Return a page that shows data, of which its text has the first value."""
    first = json.dumps(next(iter(data.values()), ""))
    whole = html(f"{text} {first}", title)
    value = json.dumps(data).replace('"', "&quot;")
    return whole.replace("</article>", f'<data value="{value}"></data></article>')


SHAPES: dict[str, list[dict[str, Any]]] = {
    "branches": [{"address": f"{n} High Street"} for n in range(NUMBER)],
    "events": [{"begins": f"2027-05-{n + 1:02}"} for n in range(NUMBER)],
    "variants": [{"sku": f"A-{n}", "colour": "red", "price": 9.5} for n in range(NUMBER)],
    "offers": [{"seller": "one", "price": 10 + n} for n in range(NUMBER)],
    "pictures": [{"images": [{"url": f"/{n}.jpg", "path": "p"}]} for n in range(NUMBER)],
    "nested": [{"offers": [{"price": 5, "sizes": ["S", str(n)]}]} for n in range(NUMBER)],
    "more": [{"a": 1, "b": 2, "c": [{"d": False}]}, {"a": 1, "b": 2}, {"a": 1}],
    "less": [{"x": 1}, {"x": 1, "y": 2}],
}
# Each is a copy of the page behind it: another URL, an edited text, an empty field.
TEN = {f"field{n}": f"value {n}" for n in range(10)}
DOWNLOADED = {"url": "/a.jpg", "path": "full/a.jpg", "checksum": "1"}
COPIES: dict[str, list[str]] = {
    "full": [shown(TEN), shown(TEN), shown(TEN, edited(BRANCH))],
    "files": [
        shown({"a": 1, "files": [{**DOWNLOADED, "status": status}]})
        for status in ("downloaded", "uptodate")
    ],
    "empty": [shown({"a": 1}), shown({"a": 1, "b": None}), shown({"a": 1, "b": ""})],
    "order": [shown({"a": {"b": 1, "c": "x"}}), shown({"a": {"c": "x", "b": 1}})],
}


@pytest.fixture(scope="module")
def site() -> Iterator[Server]:
    answers: dict[str, str] = {}
    for kind, items in SHAPES.items():
        for n, data in enumerate(items):
            answers |= {f"/{kind}/{n}?session={n}{end}": shown(data) for end in ("", "abc")}
    for kind, copies in COPIES.items():
        answers |= {f"/{kind}/1?session={n}": copy for n, copy in enumerate(copies)}
    with serving(answers) as server:
        yield server


def urls_of(server: Server, *kinds: str) -> list[str]:
    return [server.url + path for path in server.answers if path.split("/")[1] in kinds]


def by_kind(done: Crawl) -> Counter[str]:
    return Counter(item["url"].split("/")[3] for item in done.items)


def test_items_with_data_of_their_own_come_out_and_their_copies_do_not(
    project: Project, site: Server
) -> None:
    done = crawl(project, urls_of(site, *SHAPES))
    assert by_kind(done) == {kind: len(items) for kind, items in SHAPES.items()}
    number = sum(map(len, SHAPES.values()))  # of all but the first, the texts are nearly the same
    assert done.stat("dedup/other_fields") == str(number - 1)
    assert done.stat("dedup/dropped") == str(number)
    assert f"Dedup: {number - 1} items kept because the fields differ: " in done.log
    assert " says nothing: DEDUP_IGNORE_FIELDS = [" in done.log
    again = crawl(project, urls_of(site, *SHAPES))
    assert by_kind(again) == by_kind(done)
    tagged = crawl(project, urls_of(site, "branches"), "-s", "DEDUP_ACTION=tag")
    kept = [item["dedup"] for item in tagged.items if item["dedup"]["reason"] == "other_fields"]
    assert len(kept) == NUMBER - 1
    assert all("address" in result["fields"] for result in kept)


def test_true_copies_go_whatever_says_nothing(project: Project, site: Server) -> None:
    done = crawl(project, urls_of(site, *COPIES))
    assert by_kind(done) == dict.fromkeys(COPIES, 1)


def test_named_fields_count_alone_and_none_leave_it_to_the_text_from_the_next_crawl_on(
    project: Project, site: Server
) -> None:
    numbers = [
        len(crawl(project, urls_of(site, "offers"), "-s", f"DEDUP_FIELDS={value}").items)
        for value in ("auto", "seller", "", "price,seller")
    ]
    assert numbers == [NUMBER, 1, 1, NUMBER]


def test_named_fields_must_be_equal_on_other_sites_too(project: Project) -> None:
    one = {"/a/1": shown({"isbn": "1", "author": "A. Uthor"})}
    two = {"/a/1": shown({"isbn": "2", "author": "Author, A."})}
    with serving(one) as first, serving(two) as second:
        # The same server under another name is another site.
        urls = [f"{first.url}/a/1", f"{second.url}/a/1".replace("127.0.0.1", "localhost")]

        def number(store: str, *settings: str) -> int:
            own = ("-s", f"DEDUP_STORE_URL=sqlite:///{store}.db")
            return len(crawl(project, urls, *own, *settings).items)

        assert number("auto") == 2
        assert number("text", "-s", "DEDUP_FIELDS=") == 1
        assert number("publisher", "-s", "DEDUP_FIELDS=publisher") == 1
        assert number("isbn", "-s", "DEDUP_FIELDS=isbn") == 2


TALES = {n: shown({"tale": n}, article(10 + n), f"Tale {n}") for n in range(10)}


def numbers(done: Crawl) -> list[int]:
    return sorted(item["tale"] for item in done.items)


@pytest.mark.parametrize("linked", [False, True], ids=["no longer linked", "404"])
def test_every_tale_comes_out_once_when_its_original_is_gone(
    project: Project, linked: bool
) -> None:
    copies = {f"/copies/{n}": tale for n, tale in TALES.items()}
    answers = {f"/tales/{n}": tale for n, tale in TALES.items()} | copies
    every = [*TALES]
    with serving(answers) as server:
        urls = urls_of(server, "tales", "copies")
        assert numbers(crawl(project, urls)) == every
        server.answers = copies
        later = urls if linked else urls_of(server, "copies")
        days = [crawl(project, later) for _ in range(2)]
        came = [numbers(day) for day in days]
        assert came[1] == every
        if linked:
            assert came[0] == every, "a page that answers 404 is gone at once"
        gone = days[0 if linked else 1]
        assert gone.stat("dedup/original_missing") == "10"
        assert "10 known duplicates kept because the original was not seen" in gone.log
        server.answers = answers
        assert numbers(crawl(project, urls)) == every, "the originals are back"


def test_a_new_copy_of_what_an_earlier_crawl_brought_is_dropped(project: Project) -> None:
    with serving({f"/tales/{n}": tale for n, tale in TALES.items()}) as server:
        assert len(crawl(project, urls_of(server, "tales")).items) == 10
        for day in range(2):  # crawls that ask for nothing that is known
            server.answers = {f"/new/{day}/{n}": TALES[n] for n in range(4)}
            assert crawl(project, urls_of(server, "new")).items == []


def test_the_end_of_a_crawl_warns_where_most_items_were_dropped(
    project: Project, site: Server
) -> None:
    kinds = ("branches", "events", "variants")
    ignoring = ("-s", "DEDUP_FIELDS=", "-s", "DEDUP_OWN_TEXT=ignore")
    done = crawl(project, urls_of(site, *kinds), *ignoring)
    warning = done.log.partition("WARNING: Dedup dropped ")[2]
    assert warning.startswith("47 items of 127.0.0.1 as duplicates of one page, ")
    assert 'DEDUP_ACTION = "tag"' in warning
    assert warning.count("; fields that differ: ") == 3
