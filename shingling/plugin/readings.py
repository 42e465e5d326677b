"""Readings of contents, each body read once: what was read before is in the store."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from typing import TYPE_CHECKING

from shingling.errors import ExtractionError
from shingling.extraction.reader import Reading

if TYPE_CHECKING:
    from shingling.extraction.pool import ReadingPool
    from shingling.extraction.reader import Content, Reader
    from shingling.plugin.store_thread import StoreThread

_FAILED = 4096  # bodies without a main text that are remembered
_LARGE = 1 << 20  # bytes that are not hashed on the event loop


class Readings:
    """Reads contents, but not those bodies of which the store knows what is in them.

    The same extractor, in the same version, takes the same from the same bytes: nothing but the
    time that it takes depends on what is known.

    Args:
        reader: how contents are read.
        pool: where.
        store: what was read before; None where it keeps no texts.
    """

    def __init__(self, reader: Reader, pool: ReadingPool, store: StoreThread | None) -> None:
        self._reader = reader
        self._pool = pool
        self._store = store
        self._under_way: dict[bytes, asyncio.Task[Reading]] = {}
        self._failed: OrderedDict[bytes, Reading] = OrderedDict()
        self.known = 0  # contents that need not be read

    async def read(self, content: Content, url: str, scope: str) -> tuple[Reading, bytes | None]:
        """Return what is in a content, and the key of its body where the store should note it.

        Args:
            content: what was fetched.
            url: of the page that it is stored as.
            scope: of that page.
        """
        if self._store is None or not content.is_html:
            return await self._extract(content), None
        if len(content.body) < _LARGE:
            key = self._reader.body_key(content)
        else:
            key = await asyncio.to_thread(self._reader.body_key, content)
        if key is None:
            return await self._extract(content), None
        if key in self._failed:
            self.known += 1
            return self._failed[key], None
        if key in self._under_way:
            self.known += 1
            return await asyncio.shield(self._under_way[key]), key
        page = await self._store.by_body(key)
        if page is not None and page.signature is not None:
            self.known += 1
            reading = Reading(page.text, page.title, page.language, page.signature.to_bytes())
            return reading, None if (page.url, page.scope) == (url, scope) else key
        if key not in self._under_way:  # it may have come twice meanwhile
            self._under_way[key] = asyncio.create_task(self._extract_once(key, content))
        else:
            self.known += 1
        return await asyncio.shield(self._under_way[key]), key

    async def _extract_once(self, key: bytes, content: Content) -> Reading:
        try:
            reading = await self._extract(content)
        finally:
            del self._under_way[key]
        if reading.reason == "no_main_text":
            self._failed[key] = reading
            if len(self._failed) > _FAILED:
                self._failed.popitem(last=False)
        return reading

    async def _extract(self, content: Content) -> Reading:
        try:
            return await self._pool.read(content)
        except ExtractionError as error:
            return Reading(reason=error.reason)
