"""The argument `limit` of the spiders: how much is asked for, and how the crawl ends."""

from __future__ import annotations

import json
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock, Thread
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.crawls import Crawl, run_scrapy
from tests.support.installed import ROOT
from tests.support.pages import article, html

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PAGES = 300
LINKS = 12  # of every page: far more is known than is asked for
NAMESPACE = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'


def kind(number: int) -> str:
    """Return what a manual with faults answers under a number; the first page is one."""
    if number == 0:
        return "page"
    for divisor, name in ((5, "picture"), (7, "missing"), (11, "moved"), (13, "refused")):
        if number % divisor == 0:
            return name
    return "page"


class Asked(list[str]):
    """The paths of the pages that were asked for."""

    @property
    def pages(self) -> list[str]:
        """Those of pages that are there."""
        return [path for path in self if kind(int(path[1:])) == "page"]


@contextmanager
def manual(*, faults: bool = False) -> Iterator[tuple[str, Asked]]:
    """Serve a manual of many pages, or one with pictures, missing and moved pages."""
    asked, lock = Asked(), Lock()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if self.path == "/robots.txt":
                refused = [n for n in range(PAGES) if faults and kind(n) == "refused"]
                rules = "".join(f"Disallow: /{n}$\n" for n in refused)
                return self.answer(200, "text/plain", f"User-agent: *\n{rules}")
            if self.path == "/map.xml":
                urls = "".join(f"<url><loc>{self.site}/{n}</loc></url>" for n in range(PAGES))
                return self.answer(200, "text/xml", f"<urlset {NAMESPACE}>{urls}</urlset>")
            with lock:
                asked.append(self.path)
            number = int(self.path[1:])
            what = kind(number) if faults else "page"
            if what == "moved":
                return self.answer(302, "text/html", "", Location=f"/{(number * 2) % PAGES}")
            if what == "missing":
                return self.answer(404, "text/html", "<html>")
            if what == "picture":
                return self.answer(200, "image/png", "\x89PNG")
            links = "".join(
                f"<a href=/{(number * 3 + n) % PAGES}>{n}</a>" for n in range(1, LINKS + 1)
            )
            return self.answer(200, "text/html", html(article(number), f"{number}", links))

        @property
        def site(self) -> str:
            return f"http://{self.headers['Host']}"

        def answer(self, status: int, kind: str, body: str, **headers: str) -> None:
            self.send_response(status)
            for name, value in {"Content-Type": kind, **headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body.encode())

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 (as inherited)
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", asked
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def crawl(folder: Path, *arguments: str) -> Crawl:
    """Crawl as fast as it goes, with the number of concurrent requests that Scrapy has."""
    feed = folder / "items.jsonl"
    done = run_scrapy(
        ROOT,
        *("crawl", *arguments, "-O", str(feed)),
        *("-s", f"DEDUP_STORE_URL=sqlite:///{folder / 'dedup.db'}", "-s", "DEDUP_WORKERS=0"),
        *("-s", "DEDUP_ACTION=tag", "-s", "DOWNLOAD_DELAY=0"),
        *("-s", "CONCURRENT_REQUESTS_PER_DOMAIN=16"),
    )
    assert done.returncode == 0, done.stderr
    items: list[dict[str, Any]] = [json.loads(line) for line in feed.read_bytes().splitlines()]
    assert len({item["url"] for item in items}) == len(items)
    found = Crawl(done.returncode, done.stderr, items)
    assert found.stat("log_count/ERROR") is None, found.log
    return found


@pytest.mark.parametrize(("spider", "limit"), [("site", 1), ("sitemap", 100)])
def test_as_many_pages_are_asked_for_as_the_limit_says_and_it_is_the_reason_of_the_end(
    tmp_path: Path, spider: str, limit: int
) -> None:
    with manual() as (site, asked):
        start = f"url={site}/0" if spider == "site" else f"url={site}/map.xml"
        found = crawl(tmp_path, spider, "-a", start, "-a", f"limit={limit}")
    assert len(found.items) == len(asked) == limit
    assert found.stat("finish_reason") == "limit"


@pytest.mark.parametrize("spider", ["site", "sitemap"])
def test_what_is_no_page_gives_its_place_to_another_one(tmp_path: Path, spider: str) -> None:
    with manual(faults=True) as (site, asked):
        start = f"url={site}/0" if spider == "site" else f"url={site}/map.xml"
        found = crawl(tmp_path, spider, "-a", start, "-a", "limit=100")
    assert len(found.items) == 100
    assert found.stat("finish_reason") == "limit"
    assert len(asked.pages) == 100, "no page was fetched for nothing"
    assert len(asked) > 100
    assert not [path for path in asked if kind(int(path[1:])) == "refused"]


def test_a_site_with_fewer_pages_is_crawled_to_its_end(tmp_path: Path) -> None:
    with manual(faults=True) as (site, asked):
        found = crawl(tmp_path, "site", "-a", f"url={site}/0", "-a", f"limit={PAGES}")
    assert PAGES / 2 < len(found.items) == len(asked.pages) < PAGES
    assert found.stat("finish_reason") == "finished"


def test_a_sitemap_is_followed_in_its_order(tmp_path: Path) -> None:
    with manual() as (site, asked):
        crawl(tmp_path, "sitemap", "-a", f"url={site}/map.xml", "-a", "limit=30")
    assert {f"/{number}" for number in range(30)} == set(asked)


def test_with_a_jobdir_each_crawl_goes_on_for_as_many_pages_again(tmp_path: Path) -> None:
    job = ("-s", f"JOBDIR={tmp_path / 'job'}")
    with manual() as (site, asked):
        crawls = [
            crawl(tmp_path, "site", "-a", f"url={site}/0", "-a", f"limit={limit}", *job)
            for limit in (40, 60, PAGES)
        ]
    assert [len(found.items) for found in crawls] == [40, 60, PAGES - 100]
    assert len(asked) == len(set(asked)) == PAGES
    reasons = [found.stat("finish_reason") for found in crawls]
    assert reasons == ["limit", "limit", "finished"]


def test_no_more_of_an_archive_is_read_than_the_limit_says(tmp_path: Path) -> None:
    folder = tmp_path / "pages"
    folder.mkdir()
    for number in range(10):
        (folder / f"{number}.html").write_text(html(article(number), f"{number}"))
    archive = ("archive", "-a", f"path={folder}")
    found = crawl(tmp_path, *archive, "-a", "limit=4")
    assert [item["title"] for item in found.items] == ["0", "1", "2", "3"]
    assert found.stat("finish_reason") == "limit"
    assert found.stat("downloader/request_count") is None
