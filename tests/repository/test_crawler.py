"""The spiders of the project that `scrapy.cfg` points to."""

from __future__ import annotations

import gzip
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from crawler.serve import SAMPLE, serve, view
from shingling.files.archives import Archive
from shingling.files.pages import SavedPage
from tests.hostile.files.archives import http, page, warc_record
from tests.support.crawls import Crawl, read_feed, run_scrapy
from tests.support.installed import ROOT
from tests.support.pages import article, html
from tests.support.serving import Answer, serving

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.support.serving import Server

MAX_BYTES = 1_000_000
NAMESPACE = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'
PAGES = 120
LINKS = 12  # of every page: far more is known than is asked for


def crawl(folder: Path, *arguments: str, status: int = 0) -> Crawl:
    """Crawl as fast as it goes, with the number of concurrent requests that Scrapy has."""
    feed = folder / "items.jsonl"
    done = run_scrapy(
        ROOT,
        *("crawl", *arguments, "-O", str(feed)),
        *("-s", f"DEDUP_STORE_URL=sqlite:///{folder / 'dedup.db'}", "-s", "DEDUP_WORKERS=0"),
        *("-s", "DEDUP_ACTION=tag", "-s", "DOWNLOAD_DELAY=0"),
        *("-s", "CONCURRENT_REQUESTS_PER_DOMAIN=16"),
    )
    assert done.returncode == status, done.stderr
    found = Crawl(done.returncode, done.stderr, read_feed(feed))
    assert len({item["url"] for item in found.items}) == len(found.items)
    assert status or found.stat("log_count/ERROR") is None, found.log
    return found


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
    with serving(answers) as server:
        robots = f"User-agent: *\n{''.join(refused)}Sitemap: {server.url}/index.xml\n"
        answers["/robots.txt"] = Answer(robots.encode(), "text/plain")
        index = f"<sitemap><loc>{server.url}/map.xml</loc></sitemap>"
        index = f"<sitemapindex {NAMESPACE}>{index}</sitemapindex>"
        answers["/index.xml"] = Answer(index.encode(), "text/xml")
        urls = "".join(f"<url><loc>{server.url}/{number}</loc></url>" for number in range(PAGES))
        answers["/map.xml"] = Answer(f"<urlset {NAMESPACE}>{urls}</urlset>".encode(), "text/xml")
        yield server


def test_items_of_a_site_have_all_fields_and_are_of_its_own_host(tmp_path: Path) -> None:
    with serve() as address:
        items = crawl(tmp_path, "site", "-a", f"url={address}", "-a", "limit=7").items
    assert len(items) == 7
    assert all(item["url"].startswith(address) for item in items)
    item = next(item for item in items if item["url"] != address)
    assert set(item) == {"url", "title", "text", "language", "fetched", "dedup"}
    assert item["title"]
    assert len(item["text"]) > 100
    assert item["fetched"].endswith("+00:00")
    assert item["dedup"]["status"] in ("new", "near", "exact")


def test_the_sample_site_has_print_views_a_session_and_a_mirror() -> None:
    front = (SAMPLE / "index.html").read_text(encoding="utf-8")
    section = (SAMPLE / "amd64" / "en" / "ch02s05.html").read_text(encoding="utf-8")
    assert 'href="amd64/en/ch02s05.html?sid=4f2a"' in view(front, "sid=4f2a", is_mirror=False)
    shown = {query: view(section, query, is_mirror=False) for query in ("", "print=1", "sid=4f2a")}
    shown["mirror"] = view(section, "", is_mirror=True)
    own = {
        "": "Print this page",
        "print=1": "Printed on",
        "sid=4f2a": "Guest",
        "mirror": "A mirror",
    }
    for query, text in shown.items():
        assert [name for name, words in own.items() if words in text] == [query]
        assert ("navheader" in text) == (query in ("", "sid=4f2a"))
        assert "780MB" in text


@pytest.mark.parametrize(
    ("spider", "start"), [("site", "/0"), ("sitemap", "/map.xml"), ("sitemap", "")]
)
def test_what_is_no_page_gives_its_place_to_another_one(
    tmp_path: Path, spider: str, start: str
) -> None:
    """A sitemap is the one that is named, or those that robots.txt names."""
    with manual(faults=True) as site:
        found = crawl(tmp_path, spider, "-a", f"url={site.url}{start}", "-a", "limit=40")
    assert len(found.items) == 40
    assert found.stat("finish_reason") == "limit"
    assert len(asked_of(site, "page")) == 40, "no page was fetched for nothing"
    assert len(asked_of(site)) > 40
    assert asked_of(site, "refused") == []


def test_with_a_jobdir_each_crawl_goes_on_for_as_many_pages_again(tmp_path: Path) -> None:
    job = ("-s", f"JOBDIR={tmp_path / 'job'}")
    with manual() as site:
        crawls = [
            crawl(tmp_path, "site", "-a", f"url={site.url}/0", "-a", f"limit={limit}", *job)
            for limit in (20, 30, PAGES)
        ]
    assert [len(found.items) for found in crawls] == [20, 30, PAGES - 50]
    asked = asked_of(site)
    assert len(asked) == len(set(asked)) == PAGES
    reasons = [found.stat("finish_reason") for found in crawls]
    assert reasons == ["limit", "limit", "finished"]


@pytest.mark.parametrize(("limit", "number"), [((), 15 + 2), (("-a", "limit=4"), 4)])
def test_chosen_pages_of_a_folder_are_read_in_sorted_order_up_to_the_limit(
    tmp_path: Path, limit: tuple[str, ...], number: int
) -> None:
    found = crawl(
        tmp_path,
        *("archive", "-a", f"path={SAMPLE}", "-a", "only=amd64/*,i386/en/ch02*", *limit),
        *("-a", "base=https://mirror.example/guide/"),
        *("-s", "DEDUP_WORKERS=0"),  # a worker on a busy machine may lose its turn
    )
    urls = [item["url"].removeprefix("https://mirror.example/guide/") for item in found.items]
    assert urls == sorted(urls)
    assert len(urls) == number
    assert found.stat("finish_reason") == ("limit" if limit else "finished")
    assert found.stat("downloader/request_count") is None
    assert limit or found.items[-1]["dedup"]["status"] in ("exact", "near")
    assert "Traceback" not in found.log


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["site"], "spider site: -a url=https://... is needed"),
        (["site", "-a", "url=ftp://a.example/"], "is no http(s) address"),
        (["site", "-a", "url=https://a.example/", "-a", "limit=many"], "limit='many'"),
        (["archive"], "spider archive: -a path=FILE_OR_FOLDER is needed"),
        (["archive", "-a", "path=nowhere"], "path='nowhere' does not exist"),
    ],
)
def test_wrong_arguments_end_the_crawl_before_it_starts(
    tmp_path: Path, arguments: list[str], message: str
) -> None:
    assert message in crawl(tmp_path, *arguments, status=1).log


def saved(path: Path, content: bytes, **options: Any) -> list[SavedPage]:
    """Return the pages of an archive, of which nothing is left out."""
    path.write_bytes(content)
    pages = []
    for found in Archive(path, MAX_BYTES, **options).entries():
        assert isinstance(found, SavedPage)
        pages.append(found)
    return pages


def test_a_warc_file_gives_its_successful_html_responses(tmp_path: Path) -> None:
    missing = http().replace(b"200 OK", b"404 No")
    picture = http().replace(b"text/html", b"image/png")
    responses = [
        (http(), page(0)),
        (missing, page(1)),
        (http(b"Content-Encoding: gzip"), gzip.compress(page(2))),
        (picture, b"\x89PNG" * MAX_BYTES),  # a page would be too large
    ]
    records = [
        warc_record(b"https://news.example/%d" % number, body, http=head)
        for number, (head, body) in enumerate(responses)
    ]
    path, content = tmp_path / "pages.warc.gz", b"".join(map(gzip.compress, records))
    pages = saved(path, content)
    assert [one.url for one in pages] == [f"https://news.example/{number}" for number in (0, 2)]
    assert pages[1].body == page(2)
    assert pages[0].fetched.isoformat().startswith("2026-01-02T03:04:05")
    assert pages[0].content_type == "text/html"
    assert [one.url for one in saved(path, content, only=["*/2"])] == ["https://news.example/2"]
