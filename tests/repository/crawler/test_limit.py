"""The argument `limit` of the spiders: how much is asked for, and how the crawl ends."""

from __future__ import annotations

import json
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.crawls import Crawl, run_scrapy
from tests.support.installed import ROOT
from tests.support.pages import article, html
from tests.support.serving import Answer, serving

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.support.serving import Server

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


def asked_of(manual: Server, *kinds: str) -> list[str]:
    """Return the paths of its pages that were asked for, or of those of some kinds."""
    paths = [path for path in manual.asked if path[1:].isdigit()]
    return [path for path in paths if not kinds or kind(int(path[1:])) in kinds]


def answer(number: int, what: str) -> Answer:
    """Return what is answered under a number."""
    if what == "moved":
        return Answer(b"", status=302, headers={"Location": f"/{(number * 2) % PAGES}"})
    if what == "missing":
        return Answer(b"<html>", status=404)
    if what == "picture":
        return Answer(b"\x89PNG", "image/png")
    links = "".join(f"<a href=/{(number * 3 + n) % PAGES}>{n}</a>" for n in range(1, LINKS + 1))
    return Answer(html(article(number), f"{number}", links).encode())


@contextmanager
def manual(*, faults: bool = False) -> Iterator[Server]:
    """Serve a manual of many pages, or one with pictures, missing and moved pages."""
    kinds = [kind(number) if faults else "page" for number in range(PAGES)]
    answers = {f"/{number}": answer(number, what) for number, what in enumerate(kinds)}
    refused = [f"Disallow: /{number}$\n" for number, what in enumerate(kinds) if what == "refused"]
    answers["/robots.txt"] = Answer(f"User-agent: *\n{''.join(refused)}".encode(), "text/plain")
    with serving(answers) as server:
        urls = "".join(f"<url><loc>{server.url}/{number}</loc></url>" for number in range(PAGES))
        answers["/map.xml"] = Answer(f"<urlset {NAMESPACE}>{urls}</urlset>".encode(), "text/xml")
        yield server


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


@pytest.mark.parametrize("spider", ["site", "sitemap"])
def test_what_is_no_page_gives_its_place_to_another_one(tmp_path: Path, spider: str) -> None:
    with manual(faults=True) as site:
        start = f"url={site.url}/0" if spider == "site" else f"url={site.url}/map.xml"
        found = crawl(tmp_path, spider, "-a", start, "-a", "limit=100")
    assert len(found.items) == 100
    assert found.stat("finish_reason") == "limit"
    assert len(asked_of(site, "page")) == 100, "no page was fetched for nothing"
    assert len(asked_of(site)) > 100
    assert asked_of(site, "refused") == []


def test_with_a_jobdir_each_crawl_goes_on_for_as_many_pages_again(tmp_path: Path) -> None:
    job = ("-s", f"JOBDIR={tmp_path / 'job'}")
    with manual() as site:
        crawls = [
            crawl(tmp_path, "site", "-a", f"url={site.url}/0", "-a", f"limit={limit}", *job)
            for limit in (40, 60, PAGES)
        ]
    assert [len(found.items) for found in crawls] == [40, 60, PAGES - 100]
    asked = asked_of(site)
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
