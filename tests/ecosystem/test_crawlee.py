"""A crawl by Crawlee, as docs/howto/python.md describes it."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest

from shingling import Store, extract
from tests.support.pages import article, html
from tests.support.serving import serving

if TYPE_CHECKING:
    from pathlib import Path

    from shingling import Verdict

PAGES = {
    "/a": html(article(1)),
    "/copy": html(article(1), navigation="Home"),
    "/b": html(article(2)),
}


def test_a_request_handler_decides_pages_in_the_thread_of_the_store(tmp_path: Path) -> None:
    crawlers = pytest.importorskip("crawlee.crawlers")
    clients = pytest.importorskip("crawlee.storage_clients")
    statuses: list[str] = []

    async def crawl(urls: list[str]) -> None:
        loop = asyncio.get_running_loop()
        with Store.open(tmp_path / "dedup.db") as store, ThreadPoolExecutor(1) as thread:

            def decide(url: str, page: bytes) -> Verdict:
                return store.check_one(url, extract(page, url))

            async def handle(context: Any) -> None:
                page = await context.http_response.read()
                found = await loop.run_in_executor(thread, decide, context.request.url, page)
                statuses.append(found.status)

            crawler = crawlers.HttpCrawler(
                request_handler=handle,
                storage_client=clients.MemoryStorageClient(),
                configure_logging=False,
            )
            await crawler.run(urls)

    with serving(PAGES) as site:
        asyncio.run(crawl([f"{site.url}{path}" for path in PAGES]))
    assert sorted(statuses) == ["exact", "new", "new"]
