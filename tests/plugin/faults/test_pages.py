"""Pages of every bad kind, all in one crawl, and odd items and extractors."""

from __future__ import annotations

import gzip
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from shingling import Store
from tests.hostile.bombs import BOMBS
from tests.support.crawls import LIST_SPIDER, Crawling, Project, items, listed, stats
from tests.support.invariants import is_whole
from tests.support.pages import article, html
from tests.support.processes import PATIENCE, so_within
from tests.support.serving import Answer, page, serving
from tests.support.stores import rows_of

if TYPE_CHECKING:
    from pathlib import Path

MB = 1_000_000
PDF = b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n1 0 obj <</Type /Catalog>> endobj\n" + bytes(range(256)) * 40
PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x06\0\0\0" + bytes(range(256)) * 40
FRENCH = " ".join(
    f"{first}{second}"
    for first in ("é", "à", "ç", "ê", "î", "ü")
    for second in ("tat", "mer", "col", "pice", "garon", "té", "bloui", "cole", "t", "prouve")
)
LONG = "/long/" + "x" * 8000


def bomb(size: int) -> Answer:
    return Answer(gzip.compress(bytes(size), 9), "text/html", {"Content-Encoding": "gzip"})


UNDECLARED = f"<html><title>T</title><body><article><p>{FRENCH}</p></article></body></html>"


def answers() -> dict[str, Answer]:
    """Return what is served, by path."""
    memory_bomb = Answer(BOMBS["misnested b of other classes"](250_000))  # 6 GB without a limit
    return {
        "/good": page(article(1)),
        "/near": page(article(1) + " and more"),
        "/empty": Answer(b""),
        "/spaces": Answer(b" \n\t\r\n " * 100),
        "/tags-only": Answer(b"<html><body><div><br></div></body></html>"),
        "/three-words": page("only three words", ""),
        "/three-words-again": page("only three words", ""),
        "/pdf": Answer(PDF, "application/pdf"),
        "/pdf-as-html": Answer(PDF, "text/html"),
        "/png": Answer(PNG, "image/png"),
        "/png-as-html": Answer(PNG, "text/html; charset=utf-8"),
        "/json": Answer(b'{"html": "<p>not a page</p>"}', "application/json"),
        "/nothing-declared": Answer(PNG, None),
        "/bomb": bomb(200 * MB),
        "/small-bomb": bomb(40 * MB),
        "/broken-gzip": Answer(b"\x1f\x8b\x08 no more", "text/html", {"Content-Encoding": "gzip"}),
        "/huge": Answer(b"<html><body>" + b"<p>word after word</p>" * (50 * MB // 22)),
        "/nested": Answer(
            b"<html><body>" + b"<div>" * 100_000 + article(2).encode() + b"</div>" * 100_000
        ),
        "/memory-bomb": memory_bomb,
        "/memory-bomb-again": memory_bomb,
        "/nul": Answer(html(article(3)).replace(" ", "\0 ").encode()),
        "/utf-8-as-latin-1": Answer(UNDECLARED.encode(), "text/html; charset=iso-8859-1"),
        "/no-such-charset": Answer(html(article(4)).encode(), "text/html; charset=no-such; x=\xff"),
        "/surrogate": Answer(article(5).encode(), "text/plain"),
        "/references": page(f"{article(6)} &#xD800; &#0; &#x110000; &nosuch;"),
        "/title": page(article(7), "\x1b[31mred\x1b[0m\r\nsecond line\u202e\x07"),
        LONG: page(article(8)),
        "/%D0%BF%D1%83%D1%82%D1%8C?%E2%82%AC=%C3%A9": page(article(9)),
        "/credentials": page(article(10)),
        "/credentials-copy": page(article(10)),
    }


SIGNED = [
    *("nul", "utf-8-as-latin-1", "no-such-charset", "credentials"),
    *("surrogate field", "references", "title", "long", "non-ascii"),
]
SKIPPED = {
    "empty": {"no_main_text"},
    "spaces": {"no_main_text"},
    "tags-only": {"no_main_text"},
    "three-words": {"short"},
    "three-words-again": {"short"},
    "pdf": {"not_html"},
    "pdf-as-html": {"not_html"},
    "png": {"not_html"},
    "png-as-html": {"not_html"},
    "json": {"not_html"},
    "nothing-declared": {"not_html"},
    "small-bomb": {"too_large"},
    "huge": {"too_large"},
    "nested": {"no_main_text", "extraction_failed"},
    "memory-bomb": {"too_much_memory"},
    "memory-bomb-again": {"too_much_memory"},
}
FAILED = {"bomb", "broken-gzip", "refused"}
MOST_MEMORY = 800 * MB


@dataclass
class Done:
    """What the crawl left."""

    log: str
    status: int
    memory: int
    items: dict[str, dict[str, Any]]
    names: set[str]
    folder: Path
    credentials: str


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Done:
    folder = tmp_path_factory.mktemp("pages")
    Project(folder, LIST_SPIDER)
    served = answers()
    with serving(served) as server:
        urls = {path[1:]: server.url + path for path in served}
        urls["long"] = urls.pop(LONG[1:])
        urls["surrogate field"] = urls.pop("surrogate")
        urls["non-ascii"] = f"{server.url}/путь?€=é"
        urls.pop("%D0%BF%D1%83%D1%82%D1%8C?%E2%82%AC=%C3%A9")
        credentials = urls["credentials"]
        # Scrapy itself asks for no such address; an item may have one nevertheless.
        urls["refused"] = credentials.replace("//", "//user:secret@")
        crawling = Crawling(
            folder,
            *listed(folder, urls),
            # One at a time, so that it is known which page of a pair is the original.
            *("-s", "CONCURRENT_REQUESTS=1", "-s", "DOWNLOAD_MAXSIZE=60000000"),
            *("-s", "DEDUP_ACTION=tag", "-s", "DEDUP_WORKERS=1", "-s", "LOG_LEVEL=INFO"),
            *("-s", "DOWNLOAD_WARNSIZE=0", "-s", "RETRY_ENABLED=False"),
            *("-s", "URLLENGTH_LIMIT=0", "-s", "DEDUP_WORKER_MEMORY=300"),
            *("-s", f"DEDUP_TIMEOUT={PATIENCE}"),
        )
        memory = 0

        def has_ended() -> bool:
            nonlocal memory
            memory = max(memory, crawling.memory())
            return crawling.process.poll() is not None

        so_within(PATIENCE, has_ended)
        status = crawling.wait(1)
    assert crawling.all_gone()
    return Done(crawling.log, status, memory, items(folder), set(urls), folder, credentials)


def test_every_bad_page_gives_one_item_and_the_crawl_ends_well(done: Done) -> None:
    assert done.status == 0, done.log
    assert set(done.items) == done.names
    assert {name for name, item in done.items.items() if "failure" in item} == FAILED
    assert stats(done.log)["finish_reason"] == "finished"
    assert "Traceback" not in done.log
    assert " ERROR: " not in done.log
    assert is_whole(done.folder / "dedup.db")
    assert 50 * MB < done.memory < MOST_MEMORY


def test_a_page_that_cannot_be_compared_is_skipped_with_the_reason(done: Done) -> None:
    for name, reasons in SKIPPED.items():
        result = done.items[name]["dedup"]
        assert result["status"] == "skipped", name
        assert result["reason"] in reasons, name


def test_a_page_that_is_only_strange_is_decided(done: Done) -> None:
    statuses = {name: done.items[name]["dedup"]["status"] for name in ["good", *SIGNED]}
    assert statuses == dict.fromkeys(["good", *SIGNED], "new")


def test_only_copies_have_an_original(done: Done) -> None:
    originals = {
        name: item["dedup"]["original"]
        for name, item in done.items.items()
        if item["dedup"]["original"]
    }
    assert originals == {"near": done.items["good"]["url"], "credentials-copy": done.credentials}


def test_a_password_in_a_url_is_nowhere(done: Done) -> None:
    assert "secret" not in done.log
    assert all("secret" not in str(item["dedup"]) for item in done.items.values())
    files = list(done.folder.glob("dedup.db*"))
    assert files
    assert all(b"secret" not in file.read_bytes() for file in files)
    found = rows_of(
        done.folder / "dedup.db", "SELECT url FROM pages WHERE url LIKE '%/credentials'"
    )
    assert found == [(done.credentials,)]


def test_utf_8_declared_as_something_else_is_read_as_utf_8(done: Done) -> None:
    with Store.open(f"sqlite:///{done.folder / 'dedup.db'}", create=False) as store:
        (stored,) = store.find(done.items["utf-8-as-latin-1"]["url"])
        read = store.text(stored)
    assert read is not None
    assert read.split() == FRENCH.split()


def test_a_stored_title_is_one_line_without_control_characters(done: Done) -> None:
    titles = [title for (title,) in rows_of(done.folder / "dedup.db", "SELECT title FROM pages")]
    assert any("red" in title and "second line" in title for title in titles if title)
    assert all(title.isprintable() for title in titles if title)


# Odd items and extractors, and what is logged of them


MEDDLING = """
import gc

from scrapy import signals
from scrapy.http import Response
from scrapy.exceptions import DropItem

class Meddling:
    @classmethod
    def from_crawler(cls, crawler):
        meddling = cls()
        crawler.signals.connect(meddling.closed, signal=signals.spider_closed)
        return meddling

    def process_item(self, item):
        turn = int(item["name"].rpartition(" ")[2]) % 4
        if turn == 0:
            raise DropItem("not wanted", log_level="DEBUG")
        if turn == 1:
            return dict(item)
        if turn == 2:
            raise LookupError("a bug of somebody else")
        return item

    def closed(self):
        gc.collect()
        alive = sum(isinstance(one, Response) for one in gc.get_objects())
        print("RESPONSES ALIVE:", alive, flush=True)
"""
MANY = """
from shop.spiders.spider import Spider as Plain

class Many(Plain):
    name = "many"

    def parse(self, response, name):
        for number in range(30):
            yield {"name": f"{name} {number}", "url": response.url}
"""


def test_no_response_is_held_for_items_that_an_earlier_pipeline_drops_or_replaces(
    tmp_path: Path,
) -> None:
    made = Project(tmp_path, LIST_SPIDER)
    made.write("shop/meddling.py", MEDDLING)
    made.write("shop/spiders/many.py", MANY)
    with serving({f"/{number}": page(article(number)) for number in range(6)}) as server:
        crawling = Crawling(
            tmp_path,
            *listed(tmp_path, {f"{number}": f"{server.url}/{number}" for number in range(6)}),
            *("-s", "DEDUP_ACTION=tag"),
            *("-s", 'ITEM_PIPELINES={"shop.meddling.Meddling": 100}'),
            command=("-m", "scrapy", "crawl", "many"),
        )
        assert crawling.wait() == 0, crawling.log
    counted = stats(crawling.log)
    assert counted["item_dropped_count"] == str(6 * 8)
    assert counted["item_scraped_count"] == str(6 * 15)
    assert int(crawling.log.partition("RESPONSES ALIVE: ")[2].split()[0]) <= 1
    # A new object in the place of an item is known to come from its response.
    results = [item["dedup"] for item in items(tmp_path).values()]
    assert {(result["status"], result["reason"]) for result in results} == {("new", "list")}


ODD = "\x1b]0;owned\x07\x1b[31m\u202e\u200b\x9b"
SPIDER = """
import scrapy

class Item(dict):
    pass

class Refusing(scrapy.Item):
    url = scrapy.Field()
    title = scrapy.Field()

    def __setitem__(self, name, value):
        if name == "dedup":
            raise ValueError("no " + self["title"])
        super().__setitem__(name, value)

Refusing.__qualname__ = "Refus\\x1b[31ming"

class Spider(scrapy.Spider):
    name = "spider"

    async def start(self):
        for number in range(4):
            yield scrapy.Request(f"{self.site}/{number}%1b%5b31m")

    def parse(self, response):
        title = response.css("title::text").get()
        odd = "\\x1b[31m\\u202e"
        yield Refusing(url=response.url, title=title)
        yield {"url": response.url + odd, "text": "some words " * 40 + odd}
        yield {"url": response.url + odd + "2", "text": "some words " * 40 + odd}
"""


@pytest.mark.parametrize("action", ["tag", "drop"])
def test_the_log_of_a_crawl_has_no_escapes_of_its_pages(tmp_path: Path, action: str) -> None:
    body = (
        f"<html><head><title>A title {ODD}</title><link rel=canonical href='/c{ODD}'></head>"
        f"<body><article><p>{article(1)} {ODD}</p></article></body></html>"
    )
    answers = {f"/{number}%1b%5b31m": Answer(body.encode()) for number in range(4)}
    answers |= {path.replace("%1b%5b", "%1B%5B"): answer for path, answer in answers.items()}
    Project(tmp_path, SPIDER)
    with serving(answers) as server:
        crawling = Crawling(
            tmp_path,
            *("-a", f"site={server.url}", "-s", f"DEDUP_ACTION={action}", "-s", "DEDUP_DEBUG=1"),
            *("-s", "DEDUP_URL_FIELD=url", "-s", "LOG_LEVEL=DEBUG"),
        )
        assert crawling.wait() == 0, crawling.log
    lines = [line for line in crawling.log.split("\n") if "[shingling" in line or "dedup/" in line]
    assert len(lines) > 3
    assert action == "drop" or "does not take the field" in crawling.log
    assert [line for line in lines if not line.isprintable()] == []
    assert "owned\x07" not in crawling.log
