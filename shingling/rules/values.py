"""Values of an item's fields, read as strings that are equal if the values are.

What says nothing is left out: empty values, and those that repeat the item's own URL. A time that
was taken while the item was made stands for every such time. Numbers are read in one form, however
they are written.
"""

from __future__ import annotations

import hashlib
import re
import time
import unicodedata
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, date, datetime
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import unquote, urljoin, urlsplit

from shingling.rules.own_fields import (
    REST,
    TAKEN,
    UNREADABLE,
    Digest,
    OwnFields,
    encoded,
    hashed,
    short_name,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

MAX_FIELDS = 64  # of one item; the others count as one
_MAX_VALUES, _MAX_CHARACTERS, _MAX_DEPTH = 10_000, 2_000_000, 20  # of one item
_MAX_SPACED = 10_000  # characters of a string in which white space does not count
_MAX_URL, _MAX_TIME = 2_000, 40  # characters of a string that may be one
_HASHES = {32: "md5", 40: "sha1", 64: "sha256"}  # by the length of their digits
_MEDIA_RESULT = {"url", "path", "checksum", "status"}  # of Scrapy's own pipelines

_CLOCK_SECONDS = 2  # how exact the clocks of an item and of this process are
_START_SECONDS = 5  # around the start of a crawl, in which its spider may have taken the time
_EPOCHS = (range(1_000_000_000, 2_000_000_000), range(10**12, 2 * 10**12))  # in s and in ms

_FEWEST_OF_TIME = 8  # digits
_NO_DATE = datetime(1, 1, 1)  # noqa: DTZ001 (a string that names no zone has none)

_MAX_NUMBER = 60  # characters of a string that is a number
_DIGITS = re.compile(r"\d+")
_GROUPS = re.compile(r"[-+−]?\d[\d.,'’\s]*")
_LETTERS = re.compile(r"[^\W\d_]+")
_SIGNS = re.compile(r"[^\w\s.,'’+−–/()\[\]:;-]|_")  # but those within numbers and between them
_TIME = re.compile(r"\A(?:\d{4}|\d{1,2})([-/.])\s?\d{1,2}\1\s?(?:\d{4}|\d{1,2})\.?\Z|\d:\d\d")
# More letters than a unit or a currency has ("Euros"), or how the names of months begin if they are
# short, in the languages of Western Europe.
_NO_UNIT = re.compile(
    r"[^\W\d_]{6}|(?<![^\W\d_])"
    r"(?:jan|ene|gen|feb|fév|fev|mar|mär|mrt|apr|avr|abr|mai|may|maj|mag|mei|jun|jui|giu|jul|lug"
    r"|aug|aoû|ago|sep|set|oct|okt|out|ott|nov|dec|déc|dez|dic)"
)


def own_fields(
    values: Iterable[tuple[str, Any]],
    urls: Iterable[str],
    *,
    title: tuple[str, Any] | None = None,
    is_document: bool = False,
    began: float | None = None,
    arrived: float | None = None,
) -> OwnFields:
    """Digest what an item says.

    Args:
        values: of its own fields, by name.
        urls: of the item, of its response and of its request: a value that only repeats one of
            them says nothing.
        title: of the item, with the name of its field.
        is_document: whether the item has text of its own.
        began: when the crawl began, seconds since 1970; None: now.
        arrived: when its response came, likewise.
    """
    now = time.time()
    moment = Moment(now if began is None else began, now if arrived is None else arrived, now)
    reader = ValueReader([*dict.fromkeys(urls)], moment)
    digests: dict[str, Digest] = {}
    rest: list[Statement] = []
    if title is not None and (statement := reader.try_to_read(title[1])) is not None:
        digests[short_name(title[0])] = _digest(statement, is_title=True)
    for name, value in values:
        if (statement := reader.try_to_read(value)) is None:
            continue
        if len(digests) < MAX_FIELDS:
            digests[short_name(name)] = _digest(statement)
        elif statement.text is not None:
            rest.append(
                Statement(
                    f"{name}\0{statement.text}", statement.number and f"{name}\0{statement.number}"
                )
            )
        else:
            rest.append(statement)
    if rest:
        is_read = all(statement.text is not None for statement in rest)
        digests[REST] = _digest((is_read and _joined(sorted(rest))) or _UNREAD)
    return OwnFields(digests, is_document=is_document)


def _digest(statement: Statement, *, is_title: bool = False) -> Digest:
    if statement.text is None:
        return Digest(UNREADABLE, is_title=is_title)
    number = hashed(statement.number) if statement.number else b""
    return Digest(hashed(statement.text), number, statement.is_minute, is_title)


class Moment(NamedTuple):
    """When an item was made, in seconds since 1970.

    Args:
        began: when the crawl began.
        arrived: when the response of the item came.
        now: when the item is looked at.
    """

    began: float
    arrived: float
    now: float

    def includes(self, seconds: float) -> bool:
        """Whether a time was taken while the item was made, or when the crawl began."""
        if abs(seconds - self.began) <= _START_SECONDS:
            return True
        return self.arrived - _CLOCK_SECONDS <= seconds <= self.now + _CLOCK_SECONDS


class Statement(NamedTuple):
    """A value as a string, equal for equal values, and its numbers; None could not be read."""

    text: str | None
    number: str = ""
    is_minute: bool = False


_UNREAD = Statement(None)


class _TooLargeError(Exception):
    """An item says more than is looked at."""


class ValueReader:
    """Reads the values of one item."""

    def __init__(self, urls: list[str], moment: Moment) -> None:
        self._moment = moment
        self._values, self._characters = _MAX_VALUES, _MAX_CHARACTERS
        self._base = urls[0] if urls else ""
        self._urls = urls

    @cached_property
    def _own_urls(self) -> set[str]:
        return {_plain_url(url) for url in self._urls}

    @cached_property
    def _hashed_urls(self) -> set[str]:
        return {
            hashlib.new(name, encoded(url), usedforsecurity=False).hexdigest()
            for url in self._urls
            for name in _HASHES.values()
        }

    @cached_property
    def _numbers_of_urls(self) -> set[str]:
        return {number for url in self._urls for number in _DIGITS.findall(unquote(url[:_MAX_URL]))}

    def try_to_read(self, value: Any) -> Statement | None:
        """Read a value, whatever it is; None says nothing."""
        try:
            return self._read(value)
        except Exception:  # too large, or of an odd class: in doubt it is data
            return _UNREAD

    def _read(self, value: Any, depth: int = 0) -> Statement | None:
        """Read a value.

        Raises:
            _TooLargeError: the item has said too much.
            TypeError: the value has no words of its own.
        """
        self._values -= 1
        if self._values < 0 or depth > _MAX_DEPTH:
            raise _TooLargeError
        if value is None:
            return None
        if isinstance(value, str):
            return self._string(value)
        if isinstance(value, bool):
            return Statement(str(value))
        if isinstance(value, (int, float)):
            return self._number(value)
        if isinstance(value, date):
            return self._date(value)
        if isinstance(value, (bytes, bytearray, memoryview)):
            self._spend(len(value))
            return Statement(hashlib.blake2b(value).hexdigest()) if len(value) else None
        if isinstance(value, (list, tuple)):
            return _joined(self._each(value, depth))
        if isinstance(value, (set, frozenset)):
            return _joined(sorted(self._each(value, depth)))
        if isinstance(value, Mapping):
            return self._item(value, depth)
        from itemadapter import ItemAdapter  # it imports Scrapy, which workers have no room for

        if ItemAdapter.is_item(value):
            return self._item(ItemAdapter(value), depth)
        text = str(value)
        if text == object.__repr__(value):
            raise TypeError
        return self._string(text)

    def _each(self, values: Iterable[Any], depth: int) -> Iterator[Statement]:
        for value in values:
            if (statement := self._read(value, depth + 1)) is not None:
                yield statement

    def _item(self, adapter: Mapping[Any, Any], depth: int) -> Statement | None:
        # Of an image, say: whether it was downloaded now, or before.
        without = {"status"} if adapter.keys() >= _MEDIA_RESULT else set()
        parts = []
        for name in adapter:
            statement = None if name in without else self._read(adapter[name], depth + 1)
            if statement is not None:
                self._spend(len(str(name)))
                number = statement.number and f"{name}\2{statement.number}"
                parts.append(Statement(f"{name}\2{statement.text}", number))
        return _joined(sorted(parts))

    def _string(self, value: str) -> Statement | None:
        self._spend(len(value))
        text = " ".join(value.split()) if len(value) <= _MAX_SPACED else value
        if not text or self._repeats_url(text):
            return None
        time = self._time(text, _moments_in(text)) if len(text) <= _MAX_TIME else None
        return time or Statement(text, self._number_in(text))

    def _spend(self, characters: int) -> None:
        self._characters -= characters
        if self._characters < 0:
            raise _TooLargeError

    def _repeats_url(self, text: str) -> bool:
        if len(text) > _MAX_URL or not self._urls or " " in text:
            return False
        if text in self._urls:
            return True
        if text.isalnum():
            return len(text) in _HASHES and text.lower() in self._hashed_urls
        if "/" not in text:
            return False
        try:
            return _plain_url(urljoin(self._base, text)) in self._own_urls
        except ValueError:
            return False

    def _number(self, value: float) -> Statement:
        text = str(value)
        return self._time(text, _moments_since_1970(value)) or Statement(
            text, self._number_in(text)
        )

    def _number_in(self, text: str) -> str:
        number = number_in(text)
        return "" if number and number in self._numbers_of_urls else number

    def _date(self, value: date) -> Statement:
        """Read a date or a time, as Scrapy writes it in a feed."""
        if not isinstance(value, datetime):
            return Statement(value.isoformat())
        text = value.strftime("%Y-%m-%d %H:%M:%S")
        return self._time(text, [value]) or Statement(text)

    def _time(self, text: str, moments: Iterable[datetime]) -> Statement | None:
        """Read a time that was taken while the item was made; None if it was not.

        Args:
            text: the time as a string.
            moments: that it may mean; without a zone, one is local or UTC.
        """
        for moment in moments:
            zones = [moment.tzinfo] if moment.tzinfo else [None, UTC]
            with suppress(ValueError, OverflowError, OSError):
                meant = (moment.replace(tzinfo=zone).timestamp() for zone in zones)
                if any(map(self._moment.includes, meant)):
                    is_minute = not moment.second and not moment.microsecond
                    return Statement(text, is_minute=True) if is_minute else Statement(TAKEN)
        return None


def _joined(parts: Iterable[Statement]) -> Statement | None:
    """Join the values of a list or an item; None if there are none."""
    statements = [*parts]
    if not statements:
        return None
    numbers = (statement.number for statement in statements if statement.number)
    return Statement(
        "\1".join(statement.text or "" for statement in statements), "\1".join(numbers)
    )


def _moments_since_1970(value: float) -> list[datetime]:
    """Time that a number means, in seconds or milliseconds since 1970; empty if it means none."""
    for unit, epoch in zip((1, 1000), _EPOCHS, strict=True):
        if epoch.start <= value < epoch.stop:
            return [datetime.fromtimestamp(value / unit, UTC)]
    return []


def _moments_in(text: str) -> Iterator[datetime]:
    """Read a string that may be a date with a time of day, or a time since 1970."""
    if _is_plain_number(text):
        yield from _moments_since_1970(float(text))
        return
    if sum(map(str.isdecimal, text)) < _FEWEST_OF_TIME or not (":" in text or "T" in text):
        return
    with suppress(ValueError):
        yield datetime.fromisoformat(text)
        return
    from dateutil import parser  # a tenth of a second, which most crawls do not spend

    for day_first in (False, True):
        with suppress(Exception):  # whatever a string makes it raise
            moment = parser.parse(text, default=_NO_DATE, dayfirst=day_first, tzinfos=_offset_alone)
            if moment.year > _NO_DATE.year:
                yield moment


def _is_plain_number(text: str) -> bool:
    return text.replace(".", "", 1).isdecimal()


def _offset_alone(_name: str | None, offset: int | None) -> int | None:
    """Zone by its offset in seconds; one that has only a name is not known."""
    return offset


@lru_cache(1024)
def number_in(text: str) -> str:
    """Read a string that is a number: a price, a phone, coordinates, with a currency or a unit.

    Returns:
        The number in one form: "49.9 €" for "from € 49,90". Empty if there is none, or a date.
    """
    if len(text) > _MAX_NUMBER or not _DIGITS.search(text) or _TIME.search(text):
        return ""
    signs = sorted(_SIGNS.findall(text))
    # With the sign of a currency it is a price, whatever words stand around it.
    is_price = any(unicodedata.category(sign) == "Sc" for sign in signs)
    words = [] if is_price else sorted(map(str.casefold, _LETTERS.findall(text)))
    if sum(len(word) > 1 for word in words) > 1 or _NO_UNIT.search(" ".join(words)):
        return ""
    if _is_plain_number(text) and _moments_since_1970(float(text)):
        return ""
    numbers = [*map(_plain_number, _GROUPS.findall(text))]
    if len(numbers) > 1 and not (
        words or signs or set(".,;") & {*text}
    ):  # a phone, however its digits are grouped
        return re.sub(r"\D", "", text)
    return " ".join([*numbers, *words, *signs])


def _plain_number(group: str) -> str:
    """Write a number without separators of thousands, and without zeros behind its decimals."""
    sign = "-" if group[0] in "-−" else ""
    *head, last = re.split(r"[.,]", re.sub(r"[-+−'’\s]", "", group).rstrip(".,"))
    whole = "".join(head)
    if head and (len(last) != 3 or len(head[-1]) > 3):
        return f"{sign}{whole}.{last}".rstrip("0").rstrip(".")
    return f"{sign}{whole}{last}"


def plain_parts(url: str) -> tuple[str, str, str]:
    """Cut a URL into host with port, path and query.

    What does not tell pages apart is left out: scheme, `www.`, slash at the end, fragment.

    Raises:
        ValueError: it is no URL.
    """
    parts = urlsplit(url)
    host = (parts.hostname or "").removeprefix("www.")
    port = {None: "", 80: "", 443: ""}.get(parts.port, f":{parts.port}")
    return host + port, unquote(parts.path).rstrip("/"), parts.query


def _plain_url(url: str) -> str:
    try:
        host, path, query = plain_parts(url[:_MAX_URL])
    except ValueError:
        return url
    return f"{host}{path}?{unquote(query)}" if query else host + path
