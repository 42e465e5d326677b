"""What a request carries in `meta` and `cb_kwargs`: data that an item may have been begun with.

A spider hands an item from page to page until it is complete. The last page may be one that all
items share, and then says nothing of whether they are the same. What is carried is looked at
before the callback runs, which may add to it or take it out. Only numbers and texts are kept of
it, and none of its objects is ever compared with `==`.
"""

from __future__ import annotations

import sys
from datetime import date, time, timedelta
from decimal import Decimal
from enum import Enum
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeAlias
from uuid import UUID

from itemadapter import ItemAdapter
from scrapy.http import Response
from scrapy.selector import Selector, SelectorList

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from scrapy import Request
    from scrapy.crawler import Crawler

_MAX_VALUES = 500  # that are looked at, of all that is carried, or of an item
_MAX_DEPTH = 8
_MAX_CHARS = 1000  # of a value
_MIN_CHARS = 3  # of a value that is the same under whatever name

# Identity of an object that is carried, and keys of what it says; None where it may say anything.
_Object: TypeAlias = "tuple[int, set[str | int] | None]"

_PLAIN = (
    *(str, bytes, int, float, complex, Decimal, Enum, UUID),
    *(date, time, timedelta, type(None)),
)
_LISTS = (list, tuple, set, frozenset)
_PAGES = (Response, Selector, SelectorList)  # carried for nothing but data out of them

# Keys of `meta` with more than plain values, for Scrapy, downloaders and this plugin.
_NOT_DATA = {"cached_response", "cookiejar", "handle_httpstatus_list", "inject"}
_PREFIXES_NOT_DATA = (
    *("camoufox", "crawlera", "curl_cffi", "dedup", "frontera", "frontier", "impersonate"),
    *("nodriver", "playwright", "puppeteer", "pyppeteer", "scrapingbee", "selenium", "splash"),
    *("wayback_machine", "zyte_api"),
)


def carries_data(request: Request) -> bool:
    """Whether a request carries data for the items of its callback.

    Everything in `cb_kwargs` is data, in `meta` only what is more than plain values.
    """
    try:
        return bool(request.cb_kwargs) or any(True for _ in _objects_of(request))
    except Exception:  # an odd class; in doubt a request is made
        return True


class Carried:
    """Objects that a request carries, with the objects in them, before the callback runs."""

    def __init__(self, objects: list[_Object]) -> None:
        self._objects = objects

    @classmethod
    def by(cls, request: Request, crawler: Crawler | None = None) -> Carried | None:
        """Look at what a request carries; None where that says nothing."""
        look = _Look()
        try:
            carried = [*_objects_of(request)]
            made = _made_of_response(crawler, request) if crawler and carried else ()
            for argument, value in carried:
                if argument not in made:
                    look.is_cut = False
                    look.at(value)
        except Exception:  # an odd class; in doubt items are kept
            look.objects.append((0, None))
        return cls(look.objects) if look.objects else None

    def has_begun(self, item: Any) -> bool:
        """Whether an item was begun with what is carried.

        It is one of the objects, or says at least half of what one of them says: a copy may have
        left some of it out, or changed it.
        """
        look = _Look()
        try:
            said = look.at(item)
        except Exception:  # an odd class; in doubt the item is kept
            return True
        return look.is_cut or any(
            values is None or identity == id(item) or 2 * len(values & said) >= len(values)
            for identity, values in self._objects
        )


def _made_of_response(crawler: Crawler, request: Request) -> Collection[str]:
    """Names of a callback's arguments that scrapy-poet made of the response."""
    poet = sys.modules.get("scrapy_poet")
    middleware = poet and crawler.get_downloader_middleware(poet.InjectionMiddleware)
    return [*middleware.injector.build_plan(request)[-1][1]] if middleware else []


def _objects_of(request: Request) -> Iterator[tuple[str, Any]]:
    """Find what a request carries but for plain values: name of the argument, and value."""
    for name, value in request.meta.items():
        if not _is_plain(value) and not _is_for_others(name):
            yield "", value
    for name, value in request.cb_kwargs.items():
        if not _is_plain(value):
            yield name, value


def _is_plain(value: Any) -> bool:
    if isinstance(value, _PLAIN):
        return True
    return type(value) in _LISTS and all(
        isinstance(one, _PLAIN) for one in islice(value, _MAX_VALUES)
    )


def _is_for_others(name: Any) -> bool:
    """Whether a key of `meta` is for Scrapy, a downloader or this plugin."""
    if not isinstance(name, str):
        return False
    return name in _NOT_DATA or name.lstrip("_").startswith(_PREFIXES_NOT_DATA)


class _Look:
    """A look at what objects say, and at no more than a number of values.

    Attributes:
        objects: that were seen, and say something.
        is_cut: there is more than was looked at.
    """

    def __init__(self) -> None:
        self.objects: list[_Object] = []
        self.is_cut = False
        self._left = _MAX_VALUES

    def at(self, value: Any, name: Any = "", depth: int = _MAX_DEPTH) -> set[str | int]:
        """Keys of what a value says.

        Args:
            value: of any class.
            name: of the field that it is in.
            depth: of the values in it that are looked at.
        """
        values: set[str | int] = set()
        if not depth or isinstance(value, _PAGES):
            self._cut(value)
            return values
        whole, parts = _parts(value, name)
        if parts is None:
            return {id(value)}
        for part_name, part in parts:
            self._left -= 1
            if self._left < 0:
                self._cut(value)
            elif not isinstance(part, _PLAIN):
                values |= self.at(part, part_name, depth - 1)
            elif key := _key(part, part_name):
                values.add(key)
            if self.is_cut:
                break
        if values and type(value) not in _LISTS:
            self.objects.append((id(whole), values))
        return values

    def _cut(self, value: Any) -> None:
        self.is_cut = True
        self.objects.append((id(value), None))


def _key(value: Any, name: Any) -> str | None:
    """Key of a plain value; None where it says nothing: empty, zero, True or False."""
    if not value or value is True:
        return None
    if isinstance(value, bytes):
        value = value[:_MAX_CHARS].decode("utf-8", "replace")
    text = str(value[:_MAX_CHARS] if isinstance(value, str) else value).strip()
    if len(text) >= _MIN_CHARS:
        return text
    return f"{name[:_MAX_CHARS]}={text}" if text and isinstance(name, str) else None


def _parts(value: Any, name: Any) -> tuple[Any, Iterable[tuple[Any, Any]] | None]:
    """Object that a value stands for, and the named values in it; None where they cannot be seen.

    Only an item's own methods are called: others may read a file or ask a server.
    """
    if isinstance(value, dict):
        return value, dict.items(value)
    if isinstance(value, _LISTS):
        return value, ((name, one) for one in value)
    if hasattr(type(value), "load_item"):  # an item loader: what it has collected is not yet there
        _, parts = _parts(value.item, name)
        return value.item, [*(parts or ()), *value._values.items()]
    if ItemAdapter.is_item(value):
        return value, ItemAdapter(value).items()
    fields = getattr(value, "__dict__", None)
    if not fields or not isinstance(fields, dict) or callable(value):
        return value, None
    return value, fields.items()
