"""Pages extracted, but each body once: the store has the text of those it knows."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from typing import TYPE_CHECKING, NamedTuple

from shingling.errors import ExtractionError
from shingling.extraction.pages import Extraction

if TYPE_CHECKING:
    from shingling.extraction.pages import Fetched, PageExtractor
    from shingling.extraction.pool import ExtractionPool
    from shingling.plugin.items.store_thread import StoreThread
    from shingling.store import Page

_MAX_EMPTY_BODIES = 4096  # without a main text, that are remembered
_MAX_BYTES_HASHED_ON_LOOP = 1 << 20


class Body(NamedTuple):
    """What is in a body.

    Args:
        extraction: what was extracted from it.
        key: hash of the body, and of how it is extracted; None where texts are not kept.
        is_new: whether the store should keep the key with the page.
    """

    extraction: Extraction
    key: bytes | None = None
    is_new: bool = False

    @property
    def new_key(self) -> bytes | None:
        """Key that the store should keep with the page."""
        return self.key if self.is_new else None


class KnownBodies:
    """Extracts pages, but not those of which the store has the same body.

    An extractor of one version extracts the same from the same bytes: verdicts do not depend on
    what is known, only time does.

    Args:
        extractor: tells what is the same.
        pool: extracts.
        store: of the texts extracted before; None if it keeps no texts.
    """

    def __init__(
        self, extractor: PageExtractor, pool: ExtractionPool, store: StoreThread | None
    ) -> None:
        self._extractor = extractor
        self._pool = pool
        self._store = store
        self._under_way: dict[bytes, asyncio.Task[Extraction]] = {}
        self._empty: OrderedDict[bytes, Extraction] = OrderedDict()
        self.known = 0  # pages that did not have to be extracted

    async def extract(self, fetched: Fetched, url: str, scope: str) -> Body:
        """Extract a page, or take what was extracted before.

        Args:
            fetched: what was fetched.
            url: that it is stored under.
            scope: that it is stored in.
        """
        if self._store is None or not fetched.is_html:
            return Body(await self._extract(fetched))
        if len(fetched.body) < _MAX_BYTES_HASHED_ON_LOOP:
            key = self._extractor.body_key(fetched)
        else:
            key = await asyncio.to_thread(self._extractor.body_key, fetched)
        if key is None:
            return Body(await self._extract(fetched))
        if key in self._empty:
            self.known += 1
            return Body(self._empty[key])
        if key not in self._under_way:
            page = await self._store.by_body(key)
            if page is not None and page.signature is not None:
                self.known += 1
                is_kept = (page.url, page.scope) == (url, scope)
                return Body(extraction_of(page), key, not is_kept)
        if key in self._under_way:  # since before, or since the store was asked
            self.known += 1
        else:
            self._under_way[key] = asyncio.create_task(self._extract_once(key, fetched))
        return Body(await asyncio.shield(self._under_way[key]), key, is_new=True)

    async def _extract_once(self, key: bytes, fetched: Fetched) -> Extraction:
        try:
            extraction = await self._extract(fetched)
        finally:
            del self._under_way[key]
        if extraction.reason == "no_main_text":
            self._empty[key] = extraction
            if len(self._empty) > _MAX_EMPTY_BODIES:
                self._empty.popitem(last=False)
        return extraction

    async def _extract(self, fetched: Fetched) -> Extraction:
        try:
            return await self._pool.extract(fetched)
        except ExtractionError as error:
            return Extraction(reason=error.reason)


def extraction_of(page: Page) -> Extraction:
    """Take from a stored page what was extracted from it then."""
    return Extraction(page.prepared, page.title, page.language, page.signature)
