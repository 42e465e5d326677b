"""Pages of an old crawl, out of the items that it wrote to a feed."""

from __future__ import annotations

import asyncio
import math
from contextlib import suppress
from datetime import UTC, datetime
from itertools import islice
from math import isnan, nan
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from shingling.errors import ExtractionError
from shingling.extraction.extractors import find_extractor
from shingling.extraction.pages import Extraction, Fetched, PageExtractor
from shingling.extraction.pool import ExtractionPool
from shingling.store import Page, safe_url, site_of
from shingling.store.ids import BadRowError, id_of
from shingling.store.model import FIRST_SECOND, LAST_SECOND

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from shingling.extraction.lines import Line
    from shingling.plugin.settings import DedupSettings
    from shingling.sketch import Scheme

_PAGES_PER_BATCH = 256
_PROBLEMS_KEPT = 5


class Fields(NamedTuple):
    """The names of an item's fields.

    Args:
        url, text, html: of the page.
        time: when it was fetched; may be None.
        ids: fields by one of which an item without a URL is known.
    """

    url: str
    text: str
    html: str
    time: str | None
    ids: tuple[str, ...] = ()


class Problems:
    """Lines that no page could be made of: how many, and what is wrong with the first ones."""

    def __init__(self) -> None:
        self.number = 0
        self.first: list[tuple[str, str]] = []

    def add(self, where: str, problem: str) -> None:
        """Count a line, named by its place in the file."""
        self.number += 1
        if len(self.first) < _PROBLEMS_KEPT:
            self.first.append((where, problem))


class _Item(NamedTuple):
    """What an item says of its page."""

    url: str
    fetched_page: Fetched
    title: str | None
    language: str | None
    fetched: float | None


class FeedExtractor:
    """Extracts what a feed holds as a crawl does: HTML in worker processes, if there are any.

    Args:
        settings: how HTML is extracted.
        scheme: to sign with.
    """

    def __init__(self, settings: DedupSettings, scheme: Scheme) -> None:
        self._settings = settings
        self._extractor = PageExtractor(
            scheme,
            find_extractor(settings.extractor),
            settings.max_bytes,
            worker_memory=settings.worker_memory,
        )
        self._runner = asyncio.Runner()
        self._pool: ExtractionPool | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._pool is not None:
            self._pool.close()
        self._runner.close()

    def extract(self, pages: list[Fetched]) -> list[Extraction]:
        """Extract and sign the main text of each; those without one have a reason."""
        if not any(fetched.is_html for fetched in pages):
            return [self._extractor.extract(fetched) for fetched in pages]
        if self._pool is None:
            settings = self._settings
            # The whole batch is waited for: a slow page need not let others go first.
            self._pool = ExtractionPool(
                self._extractor, settings.workers, settings.timeout, slow_seconds=math.inf
            )
        return self._runner.run(self._extract_in(self._pool, pages))

    async def _extract_in(self, pool: ExtractionPool, pages: list[Fetched]) -> list[Extraction]:
        async def extract(fetched: Fetched) -> Extraction:
            try:
                return await pool.extract(fetched)
            except ExtractionError as error:
                return Extraction(reason=error.reason)

        return await asyncio.gather(*map(extract, pages))


def batches_of(
    lines: Iterable[Line],
    fields: Fields,
    extractor: FeedExtractor,
    scope_of: Callable[[str], str],
    problems: Problems,
) -> Iterator[list[Page]]:
    """Yield the pages of a feed in batches.

    Args:
        lines: of the feed.
        fields: names of an item's fields.
        extractor: extracts and signs what the items hold.
        scope_of: gives the scope of a URL.
        problems: where lines without a page are counted.
    """
    items = _items(lines, fields, problems)
    while batch := list(islice(items, _PAGES_PER_BATCH)):
        extracted = extractor.extract([item.fetched_page for item in batch])
        yield [_page(item, one, scope_of) for item, one in zip(batch, extracted, strict=True)]


def _items(lines: Iterable[Line], fields: Fields, problems: Problems) -> Iterator[_Item]:
    for line in lines:
        item = line.problem or _item(line.values, fields)
        if isinstance(item, str):
            problems.add(f"line {line.number:,}", item)
        else:
            yield item


def _item(values: dict[str, Any], fields: Fields) -> _Item | str:
    """Page of an item, or what is wrong with it."""
    url = values.get(fields.url)
    if not isinstance(url, str) or not url.strip():
        try:
            url = id_of(values, fields.ids)
        except BadRowError as error:
            return str(error)
        if url is None:
            return f"no {' or '.join((fields.url, *fields.ids))}"
    for name, is_html in ((fields.text, False), (fields.html, True)):
        body = values.get(name)
        if isinstance(body, str) and body.strip():
            page = Fetched(body, is_html=is_html, url=url)
            break
    else:
        return f"neither {fields.text} nor {fields.html}"
    fetched = values.get(fields.time) if fields.time else None
    if fetched in (None, ""):
        seconds = None
    else:
        seconds = _seconds(fetched)
        if seconds is None:
            return f"{fields.time} is no time in ISO 8601 or seconds since 1970"
    title, language = (_string(values.get(name)) for name in ("title", "language"))
    return _Item(url, page, title, language, seconds)


def _seconds(value: Any) -> float | None:
    """Seconds since 1970 of a time in the years 1 to 9999; None of anything else."""
    if isinstance(value, bool):
        return None
    seconds = nan
    with suppress(ValueError, TypeError, OverflowError):
        seconds = float(value)
    if isnan(seconds):
        with suppress(ValueError, TypeError, OverflowError):
            moment = datetime.fromisoformat(value)
            seconds = moment.replace(tzinfo=moment.tzinfo or UTC).timestamp()
    return seconds if FIRST_SECOND <= seconds <= LAST_SECOND else None


def _string(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


def _page(item: _Item, extraction: Extraction, scope_of: Callable[[str], str]) -> Page:
    return Page(
        url=item.url,
        text=extraction.text,
        signature=extraction.signature,
        title=item.title or extraction.title,
        language=item.language or extraction.language,
        scope=scope_of(item.url),
        fetched=item.fetched,
        reason=extraction.reason,
    )


def scope_by(settings: DedupSettings, spider: str | None) -> Callable[[str], str]:
    """Make the function that gives a URL's scope, by `DEDUP_SCOPE`."""
    if settings.scope == "site":
        return lambda url: site_of(safe_url(url))
    if settings.scope == "spider" and spider is not None:
        return lambda _: spider
    return lambda _: ""
