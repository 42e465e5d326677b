"""What a user would write without a plugin: trafilatura and datasketch in the pipeline itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import trafilatura
from datasketch import MinHash, MinHashLSH
from scrapy.exceptions import DropItem

from crawler.spiders.archive import ArchiveSpider

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy.http import Response


class InlinePipeline:
    """Near-duplicates by `MinHashLSH(threshold=0.8)` over 5-word shingles, in memory."""

    def __init__(self) -> None:
        self._index = MinHashLSH(threshold=0.8, num_perm=128)

    async def process_item(self, item: dict[str, Any]) -> dict[str, Any]:
        """Drop the item if its text is like one before."""
        words = (trafilatura.extract(item.pop("html")) or "").lower().split()
        if not words:
            return item
        minhash = MinHash(num_perm=128)
        minhash.update_batch(
            [" ".join(words[i : i + 5]).encode() for i in range(max(len(words) - 4, 1))]
        )
        if self._index.query(minhash):
            raise DropItem("near-duplicate", log_level="DEBUG")
        self._index.insert(item["url"], minhash)
        return item


class InlineSpider(ArchiveSpider):
    """The spider `archive`, with the HTML in its items."""

    name = "archive-inline"

    def parse(self, response: Response) -> Iterator[Any]:
        """Yield the page."""
        yield {"url": response.url, "html": response.body}
