"""Pages with one title and nearly the same text, whose items have data of their own."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.crawls import Crawl, Project
from tests.support.pages import article, edited, html, links
from tests.support.serving import serving

if TYPE_CHECKING:
    from collections.abc import Iterator
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


class Spider(scrapy.Spider):
    """Yields an item of the class that the path names, with the data that the page holds."""

    name = "spider"

    async def start(self):
        for path in self.paths.split(","):
            yield scrapy.Request(self.site + path, self.parse_list, dont_filter=True)

    def parse_list(self, response):
        # Scrapy makes the last request first.
        yield from response.follow_all(css="a", callback=self.parse)

    def parse(self, response):
        data = json.loads(response.css("data::attr(value)").get() or "{}")
        common = {"url": response.url, "title": response.css("title::text").get()}
        kind = response.url.split("/")[3]
        now = datetime.datetime.now(datetime.timezone.utc)
        if kind == "offers":
            yield Offer(**common, **data)
        elif kind == "events":
            yield Event(**common, begins=datetime.date.fromisoformat(data["begins"]))
        elif kind == "variants":
            yield Variant(**common, details=data)
        elif kind == "full":
            yield {
                **common, **data,
                "link": response.url,
                "id": hashlib.sha1(response.url.encode()).hexdigest(),
                "scraped": now.isoformat(),
                "crawled": int(time.time()),
                "when": now.strftime("%Y-%m-%d %H:%M:%S"),
                "meta": {"source": response.url, "at": now},
                "empty": "",
            }
        else:
            yield {**common, **data}
'''

TEXT = article(1)
NUMBER = 8


def page(data: dict[str, Any], text: str = TEXT, title: str = "Our branch") -> str:
    """Return a page that shows data, of which its text has the first value."""
    first = json.dumps(next(iter(data.values()), ""))
    shown = html(f"{text} {first}", title)
    value = json.dumps(data).replace('"', "&quot;")
    return shown.replace("</article>", f'<data value="{value}"></data></article>')


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
    "full": [page(TEN), page(TEN), page(TEN, edited(TEXT))],
    "files": [
        page({"a": 1, "files": [{**DOWNLOADED, "status": status}]})
        for status in ("downloaded", "uptodate")
    ],
    "empty": [page({"a": 1}), page({"a": 1, "b": None}), page({"a": 1, "b": ""})],
    "order": [page({"a": {"b": 1, "c": "x"}}), page({"a": {"c": "x", "b": 1}})],
}


@pytest.fixture(scope="module")
def site() -> Iterator[Server]:
    answers = {}
    for kind, items in SHAPES.items():
        paths = [
            f"/{kind}/{n}?session={n}{'abc' * again}" for n in range(len(items)) for again in (0, 1)
        ]
        pages = [page(data) for data in items for _ in (0, 1)]
        answers.update({f"/list/{kind}": links(paths), **dict(zip(paths, pages, strict=True))})
    for kind, copies in COPIES.items():
        paths = [f"/{kind}/1?session={n}" for n in range(len(copies))]
        answers.update({f"/list/{kind}": links(paths), **dict(zip(paths, copies, strict=True))})
    with serving(answers) as server:
        yield server


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path, SPIDER)


def crawl(project: Project, site: Server, *kinds: str, settings: tuple[str, ...] = ()) -> Crawl:
    paths = ",".join(f"/list/{kind}" for kind in kinds)
    arguments = ("-a", f"site={site.url}", "-a", f"paths={paths}", "-s", "CONCURRENT_REQUESTS=1")
    done = project.crawl(*arguments, *settings)
    assert done.status == 0, done.log
    assert "Traceback" not in done.log
    return done


def by_kind(done: Crawl) -> Counter[str]:
    return Counter(item["url"].split("/")[3] for item in done.items)


def test_items_with_data_of_their_own_come_out_and_their_copies_do_not(
    project: Project, site: Server
) -> None:
    done = crawl(project, site, *SHAPES)
    assert by_kind(done) == {kind: len(items) for kind, items in SHAPES.items()}
    number = sum(map(len, SHAPES.values()))  # of all but the first, the texts are nearly the same
    assert done.stat("dedup/other_fields") == str(number - 1)
    assert done.stat("dedup/dropped") == str(number)
    assert f"Dedup: {number - 1} items kept because the fields differ: " in done.log
    assert " says nothing: DEDUP_IGNORE_FIELDS = [" in done.log
    again = crawl(project, site, *SHAPES)
    assert by_kind(again) == by_kind(done)
    tagged = crawl(project, site, "branches", settings=("-s", "DEDUP_ACTION=tag"))
    kept = [item["dedup"] for item in tagged.items if item["dedup"]["reason"] == "other_fields"]
    assert len(kept) == NUMBER - 1
    assert all("address" in result["fields"] for result in kept)


def test_true_copies_go_whatever_says_nothing(project: Project, site: Server) -> None:
    done = crawl(project, site, *COPIES)
    assert by_kind(done) == dict.fromkeys(COPIES, 1)


def test_named_fields_count_alone_and_none_leave_it_to_the_text_from_the_next_crawl_on(
    project: Project, site: Server
) -> None:
    numbers = [
        len(crawl(project, site, "offers", settings=("-s", f"DEDUP_FIELDS={value}")).items)
        for value in ("auto", "seller", "", "price,seller")
    ]
    assert numbers == [NUMBER, 1, 1, NUMBER]


def test_named_fields_must_be_equal_on_other_sites_too(project: Project) -> None:
    one = {"/list/a": links(["/a/1"]), "/a/1": page({"isbn": "1", "author": "A. Uthor"})}
    two = {"/list/a": links(["/a/1"]), "/a/1": page({"isbn": "2", "author": "Author, A."})}
    with serving(one) as first, serving(two) as second:
        # The same server under another name is another site.
        urls = first.url, second.url.replace("127.0.0.1", "localhost")
        paths = ",".join(f"{url}/list/a" for url in urls)

        def number(store: str, *settings: str) -> int:
            own = ("-s", f"DEDUP_STORE_URL=sqlite:///{store}.db")
            return len(project.crawl("-a", "site=", "-a", f"paths={paths}", *own, *settings).items)

        assert number("auto") == 2
        assert number("text", "-s", "DEDUP_FIELDS=") == 1
        assert number("publisher", "-s", "DEDUP_FIELDS=publisher") == 1
        assert number("isbn", "-s", "DEDUP_FIELDS=isbn") == 2


def stories(gone: bool) -> dict[str, str]:
    """Return ten stories with a copy of each, or with the copies alone."""
    texts = [page({"story": n}, article(10 + n), f"Story {n}") for n in range(10)]
    pages = {f"/copies/{n}": text for n, text in enumerate(texts)}
    if not gone:
        pages |= {f"/stories/{n}": text for n, text in enumerate(texts)}
    return {"/list/stories": links(pages), **pages}


def numbers(done: Crawl) -> list[int]:
    return sorted(item["story"] for item in done.items)


@pytest.mark.parametrize("linked", [False, True], ids=["no longer linked", "404"])
def test_every_story_comes_out_once_when_its_original_is_gone(
    project: Project, linked: bool
) -> None:
    answers = stories(gone=False)
    every = [*range(10)]
    with serving(answers) as server:
        assert numbers(crawl(project, server, "stories")) == every
        answers.clear()
        answers.update(stories(gone=True))
        if linked:
            answers["/list/stories"] = stories(gone=False)["/list/stories"]
        days = [crawl(project, server, "stories") for _ in range(2)]
        came = [numbers(day) for day in days]
        assert came[1] == every
        if linked:
            assert came[0] == every, "a page that answers 404 is gone at once"
        gone = days[0 if linked else 1]
        assert gone.stat("dedup/original_missing") == "10"
        assert "10 known duplicates kept because the original was not seen" in gone.log
        answers.update(stories(gone=False))
        assert numbers(crawl(project, server, "stories")) == every, "the originals are back"


def test_a_new_copy_of_what_an_earlier_crawl_brought_is_dropped(project: Project) -> None:
    answers = stories(gone=False)
    answers["/list/stories"] = links([path for path in answers if path.startswith("/stories")])
    with serving(answers) as server:
        assert len(crawl(project, server, "stories").items) == 10
        for day in range(2):  # crawls that ask for nothing that is known
            fresh = [f"/new/{day}/{n}" for n in range(4)]
            answers.update({path: answers[f"/stories/{n}"] for n, path in enumerate(fresh)})
            answers["/list/stories"] = links(fresh)
            assert crawl(project, server, "stories").items == []


def test_the_end_of_a_crawl_warns_where_most_items_were_dropped(
    project: Project, site: Server
) -> None:
    kinds = ("branches", "events", "variants")
    done = crawl(
        project, site, *kinds, settings=("-s", "DEDUP_FIELDS=", "-s", "DEDUP_OWN_TEXT=ignore")
    )
    warning = done.log.partition("WARNING: Dedup dropped ")[2]
    assert warning.startswith("47 items of 127.0.0.1 as duplicates of one page, ")
    assert 'DEDUP_ACTION = "tag"' in warning
    assert warning.count("; fields that differ: ") == 3
