"""Pages of every bad kind, all in one crawl."""

from __future__ import annotations

import gzip
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from shingling import Store
from tests.hostile.bombs import BOMBS
from tests.support.crawls import LIST_SPIDER, Crawling, Project, items, listed, stats
from tests.support.invariants import is_whole
from tests.support.pages import article, html
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


MEMORY_BOMB = Answer(BOMBS["misnested b of other classes"](250_000))  # takes 6 GB without a limit
UNDECLARED = f"<html><title>T</title><body><article><p>{FRENCH}</p></article></body></html>"
ANSWERS = {
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
    "/memory-bomb": MEMORY_BOMB,
    "/memory-bomb-again": MEMORY_BOMB,
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
"""What is served, by path."""

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
    "nested": {"no_main_text", "extraction_failed", "timeout"},
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
    with serving(ANSWERS) as server:
        urls = {path[1:]: server.url + path for path in ANSWERS}
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
        )
        memory, end = 0, time.monotonic() + 90
        while crawling.process.poll() is None and time.monotonic() < end:
            memory = max(memory, crawling.memory())
            time.sleep(0.02)
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
    assert stats(done.log)["dedup/not_tried_again"] == "1", "the second of the same bombs"


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
