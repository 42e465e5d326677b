"""The spiders of the project that `scrapy.cfg` points to."""

from __future__ import annotations

import gzip
import io
import json
import tarfile
from typing import TYPE_CHECKING, Any

import pytest

from crawler.demo import SAMPLE, serve
from shingling.bulk.files.archives import read_archive
from shingling.bulk.files.pages import ArchiveError, SavedPage
from tests.hostile.files.archives import warc_record
from tests.support.crawls import run_scrapy
from tests.support.installed import ROOT
from tests.support.pages import article, html
from tests.support.serving import serving

if TYPE_CHECKING:
    from pathlib import Path

MAX = 1_000_000


def crawl(tmp_path: Path, *arguments: str, status: int = 0) -> tuple[list[dict[str, Any]], str]:
    feed = tmp_path / "items.jsonl"
    done = run_scrapy(
        ROOT,
        *("crawl", *arguments, "-O", str(feed)),
        *("-s", f"DEDUP_STORE_URL=sqlite:///{tmp_path / 'dedup.db'}", "-s", "DEDUP_WORKERS=0"),
        *("-s", "DEDUP_ACTION=tag", "-s", "DOWNLOAD_DELAY=0"),
    )
    assert done.returncode == status, done.stderr
    if not feed.exists():
        return [], done.stderr
    return [json.loads(line) for line in feed.read_bytes().splitlines()], done.stderr


def test_site_follows_links_on_its_own_host_up_to_the_limit(tmp_path: Path) -> None:
    with serve(SAMPLE) as address:
        items, _ = crawl(tmp_path, "site", "-a", f"url={address}", "-a", "limit=7")
    assert len(items) == 7
    assert all(item["url"].startswith(address) for item in items)
    item = next(item for item in items if item["url"] != address)
    assert set(item) == {"url", "title", "text", "language", "fetched", "dedup"}
    assert item["title"]
    assert len(item["text"]) > 100
    assert item["fetched"].endswith("+00:00")
    assert item["dedup"]["status"] in ("new", "near", "exact")


def test_sitemap_reads_the_sitemaps_that_robots_txt_names(tmp_path: Path) -> None:
    pages = {f"/{n}": html(article(n), f"Page {n}") for n in range(4)}
    with serving(pages) as server:
        namespace = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'
        pages["/robots.txt"] = f"Sitemap: {server.url}/index.xml\n"
        pages["/index.xml"] = (
            f"<sitemapindex {namespace}>"
            f"<sitemap><loc>{server.url}/map.xml</loc></sitemap></sitemapindex>"
        )
        urls = "".join(f"<url><loc>{server.url}/{n}</loc></url>" for n in range(4))
        pages["/map.xml"] = f"<urlset {namespace}>{urls}</urlset>"
        items, _ = crawl(tmp_path, "sitemap", "-a", f"url={server.url}", "-a", "limit=3")
    assert sorted(item["title"] for item in items) == ["Page 0", "Page 1", "Page 2"]


def test_archive_reads_chosen_pages_of_a_folder_in_sorted_order(tmp_path: Path) -> None:
    items, log = crawl(
        tmp_path,
        *("archive", "-a", f"path={SAMPLE}", "-a", "only=amd64/*,i386/en/ch02*"),
        *("-a", "base=https://mirror.example/guide/"),
    )
    urls = [item["url"].removeprefix("https://mirror.example/guide/") for item in items]
    assert urls == sorted(urls)
    assert len(urls) == 15 + 6
    assert items[-1]["dedup"]["status"] in ("exact", "near")
    assert "Traceback" not in log


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["site"], "spider site: -a url=https://... is needed"),
        (["site", "-a", "url=ftp://a.example/"], "is no http(s) address"),
        (["site", "-a", "url=https://a.example/", "-a", "limit=many"], "limit='many'"),
        (["archive"], "spider archive: -a path=FILE_OR_FOLDER is needed"),
        (["archive", "-a", "path=nowhere.tar"], "path='nowhere.tar' does not exist"),
    ],
)
def test_wrong_arguments_end_the_crawl_before_it_starts(
    tmp_path: Path, arguments: list[str], message: str
) -> None:
    _, log = crawl(tmp_path, *arguments, status=1)
    assert message in log


def made_tar(path: Path, names: list[str], mode: str) -> None:
    with tarfile.open(path, mode) as archive:  # type: ignore[call-overload]  # mode is a str
        for name in names:
            body = html(article(len(name)), name).encode() if "bin" not in name else b"\x89PNG"
            info = tarfile.TarInfo(name)
            info.size, info.mtime = len(body), 1_000_000_000
            archive.addfile(info, io.BytesIO(body))


@pytest.mark.parametrize(
    ("suffix", "mode"),
    [
        (".tar", "w"),
        (".tar.gz", "w:gz"),
        (".tgz", "w:gz"),
        (".tar.bz2", "w:bz2"),
        (".tar.xz", "w:xz"),
    ],
)
def test_a_tar_file_gives_its_html_in_sorted_order(tmp_path: Path, suffix: str, mode: str) -> None:
    path = tmp_path / f"pages{suffix}"
    made_tar(path, ["d/e.htm", "c.bin", "b.php", "a"], mode)
    pages = saved(path)
    assert [page.url.removeprefix(f"{path.as_uri()}/") for page in pages] == [
        "a",
        "b.php",
        "d/e.htm",
    ]
    assert pages[0].fetched.isoformat() == "2001-09-09T01:46:40+00:00"


def made_warc(path: Path) -> None:
    kind, date = b"Content-Type: text/html; charset=utf-8", b"2020-01-02T03:04:05Z"
    pages = [html(article(number), f"Page {number}").encode() for number in range(3)]
    answers = [
        (b"200 OK\r\n" + kind, pages[0]),
        (b"404 No\r\n" + kind, pages[1]),
        (b"200 OK\r\nContent-Encoding: gzip\r\n" + kind, gzip.compress(pages[2])),
        (b"200 OK\r\nContent-Type: image/png", b"\x89PNG" * MAX),  # a page would be too large
    ]
    records = []
    for number, (head, body) in enumerate(answers):
        url, head = b"https://news.example/%d" % number, b"HTTP/1.1 %s\r\n\r\n" % head
        records.append(warc_record(url, body, http=head, date=date))
    path.write_bytes(b"".join(gzip.compress(record) for record in records))


def test_a_warc_file_gives_its_successful_html_responses(tmp_path: Path) -> None:
    path = tmp_path / "pages.warc.gz"
    made_warc(path)
    pages = saved(path)
    assert [page.url for page in pages] == [f"https://news.example/{number}" for number in (0, 2)]
    assert b"Page 2" in pages[1].body
    assert pages[0].fetched.isoformat().startswith("2020-01-02T03:04:05")
    assert pages[0].content_type == "text/html; charset=utf-8"
    chosen = saved(path, only=["*/2"])
    assert [page.url for page in chosen] == ["https://news.example/2"]


def saved(path: Path, **options: Any) -> list[SavedPage]:
    """Return the pages of an archive, of which nothing is left out."""
    pages = []
    for page in read_archive(path, max_bytes=MAX, **options):
        assert isinstance(page, SavedPage)
        pages.append(page)
    return pages


def test_a_file_of_another_kind_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "pages.zip"
    path.write_bytes(b"PK")
    with pytest.raises(ArchiveError, match=r"no folder and no .*\.warc"):
        list(read_archive(path, max_bytes=MAX))
