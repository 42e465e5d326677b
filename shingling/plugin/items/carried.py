"""What a request carries in `meta` and `cb_kwargs`: data with which an item may have been begun.

A spider may hand an item from page to page until it is complete. If all items share the last page,
this page does not tell whether they are the same. What a request carries is looked at before the
callback runs, because the callback may add to it or take something out. Only numbers and texts are
kept, and no carried object is ever compared with `==`.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from datetime import date, time, timedelta
from decimal import Decimal
from enum import Enum
from itertools import islice
from typing import TYPE_CHECKING, Any
from uuid import UUID

from itemadapter import ItemAdapter
from scrapy.http import Response
from scrapy.selector import Selector, SelectorList

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from scrapy import Request
    from scrapy.crawler import Crawler

_MAX_VALUES = 500  # that are looked at, of an object that is carried, or of an item
_MAX_CHARS = 1000  # of a value

_PLAIN = (
    *(str, bytes, int, float, complex, Decimal, Enum, UUID),
    *(date, time, timedelta, type(None), type),
)
_LISTS = (list, tuple, set, frozenset)
_PAGES = (Response, Selector, SelectorList)  # carried for nothing but data out of them

# Beginnings of keys of `meta` with more than plain values that are options of downloaders.
_OPTIONS = ("cached_response", "playwright", "splash", "zyte_api")


def carries_data(request: Request) -> bool:
    """Whether a request carries data for the items of its callback.

    Everything in `cb_kwargs` is data, in `meta` only what is more than plain values.
    """
    try:
        return bool(request.cb_kwargs) or any(True for _ in _objects_of(request))
    except Exception:  # an odd class; in doubt a request is made
        return True


@dataclass(frozen=True)
class Carried:
    """Values that the objects have which a request carries, before the callback runs.

    Args:
        values: as texts, and identities of the objects; None: they may have any.
    """

    values: set[str | int] | None

    @classmethod
    def by(cls, request: Request, crawler: Crawler | None = None) -> Carried | None:
        """Look at what a request carries; None if it carries no object with a value."""
        values = set[str | int]()
        try:
            carried = [*_objects_of(request)]
            made = _made_of_response(crawler, request) if crawler and carried else ()
            for _, value in (argument for argument in carried if argument[0] not in made):
                of_value = _values_of(value)
                if of_value is None:
                    return cls(None)
                if len(of_value) > 1:  # more than its own identity
                    values |= of_value
        except Exception:  # an odd class; in doubt items are kept
            return cls(None)
        return cls(values) if values else None

    def has_begun(self, item: Any) -> bool:
        """Whether an item was begun with what is carried: it is it, or repeats a value of it."""
        try:
            of_item = _values_of(item)
        except Exception:  # an odd class; in doubt the item is kept
            return True
        return of_item is None or self.values is None or not of_item.isdisjoint(self.values)


def _made_of_response(crawler: Crawler, request: Request) -> Collection[str]:
    """Names of a callback's arguments that scrapy-poet made of the response."""
    poet = sys.modules.get("scrapy_poet")
    middleware = poet and crawler.get_downloader_middleware(poet.InjectionMiddleware)
    return [*middleware.injector.build_plan(request)[-1][1]] if middleware else []


def _objects_of(request: Request) -> Iterator[tuple[str, Any]]:
    """Find what a request carries but for plain values: name of the argument, and value."""
    for name, value in request.meta.items():
        is_option = isinstance(name, str) and name.lstrip("_").startswith(_OPTIONS)
        if not is_option and not _is_plain(value):
            yield "", value
    for name, value in request.cb_kwargs.items():
        if not _is_plain(value):
            yield name, value


def _is_plain(value: Any) -> bool:
    if isinstance(value, _PLAIN):
        return True
    return type(value) in _LISTS and all(
        isinstance(part, _PLAIN) for part in islice(value, _MAX_VALUES)
    )


def _values_of(value: Any) -> set[str | int] | None:
    """Values in an object as texts, and identities of it and of the objects in it.

    None if it has more than are looked at, or is a piece of a page.
    """
    values: set[str | int] = set()
    left = [value]
    for _ in range(_MAX_VALUES):
        if not left:
            return values
        part = left.pop()
        if isinstance(part, _PAGES):
            return None
        if isinstance(part, _PLAIN):
            if part and part is not True:  # an empty one, zero, True and False tell nothing
                values.add(str(part)[:_MAX_CHARS].strip())
        elif isinstance(part, _LISTS):
            left += islice(part, _MAX_VALUES)
        elif id(part) not in values:
            values.add(id(part))
            left += islice(_fields_of(part), _MAX_VALUES)
    return None


def _fields_of(value: Any) -> Iterable[Any]:
    """Values in an object that can be seen without a call of its methods, if it is no item."""
    if ItemAdapter.is_item(value):
        return ItemAdapter(value).values()
    fields = getattr(value, "__dict__", None)
    return fields.values() if isinstance(fields, dict) else ()
