"""What an item says besides its URL, HTML, text and title, as a small digest for each field.

Copies of a page on one site give the same data. What says nothing has no digest: empty values, the
item's own URL, and the time of the crawl.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, date, datetime
from email.utils import parsedate_to_datetime
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import unquote, urljoin, urlsplit

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

BODY_BYTES, NAME_BYTES, HASH_BYTES = 8, 4, 4
FIELD_BYTES = NAME_BYTES + HASH_BYTES + 1  # the last one: whether the value is in the item's URL
_UNREADABLE = bytes(HASH_BYTES)

MAX_FIELDS = 64  # of one item; the others count as one
REST = "(other fields)"

_MAX_VALUES, _MAX_CHARACTERS, _MAX_DEPTH = 10_000, 2_000_000, 20  # of one item
_MAX_SPACED = 10_000  # characters of a string in which white space does not count
_MAX_URL, _MAX_TIME = 2_000, 40  # characters of a string that may be one
_FIRST_EPOCH = 1_000_000_000  # a smaller number is no time
_AROUND, _BEFORE = 60, 3_600  # seconds: how exact a clock is, and how long an item takes
_HASHES = {32: "md5", 40: "sha1", 64: "sha256"}  # by the length of their digits
_MEDIA_RESULT = {"url", "path", "checksum", "status"}  # of Scrapy's own pipelines


class Moment(NamedTuple):
    """When an item was made: seconds since 1970 at which the crawl began, and now."""

    began: float
    now: float

    def is_now(self, seconds: float) -> bool:
        """Whether a time is that of the crawl."""
        if abs(seconds - self.began) <= _AROUND:
            return True
        return max(self.began, self.now - _BEFORE) - _AROUND <= seconds <= self.now + _AROUND


class Digest(NamedTuple):
    """Digest of a value.

    Args:
        hash: `HASH_BYTES` of it; zeros where the value is too large to be looked at.
        in_url: whether the value is a part of the item's URL.
    """

    hash: bytes
    in_url: bool = False

    @property
    def is_readable(self) -> bool:
        """Whether the value was looked at; else it is equal to no value, nor to itself."""
        return self.hash != _UNREADABLE

    def equals(self, other: Digest | None) -> bool:
        """Whether two values are the same; None is no value."""
        return other is not None and self.is_readable and self.hash == other.hash


class OwnFields(dict[str, Digest]):
    """Digests of an item's own fields, by name.

    Args:
        digests: the digests.
        body: hash of the bytes that the item was made of, `BODY_BYTES`; None where not known.
    """

    def __init__(self, digests: Mapping[str, Digest], body: bytes | None = None) -> None:
        super().__init__(digests)
        self._body = body

    def made_of(self, body: bytes) -> OwnFields:
        """Digests of an item that was made of a body, given by a hash."""
        return OwnFields(self, body[:BODY_BYTES])

    @cached_property
    def packed(self) -> bytes:
        """What the store keeps: the hash of the body, then a key and a digest for each field."""
        entries = sorted(
            name_key(name) + digest.hash + bytes([digest.in_url]) for name, digest in self.items()
        )
        return b"".join([(self._body or b"").ljust(BODY_BYTES, b"\0"), *entries])


def unpack(packed: bytes | None) -> dict[bytes, Digest]:
    """Digests by the keys of their names."""
    raw = (packed or b"")[BODY_BYTES:]
    return {
        raw[at : at + NAME_BYTES]: Digest(
            raw[at + NAME_BYTES : at + FIELD_BYTES - 1], raw[at + FIELD_BYTES - 1] != 0
        )
        for at in range(0, len(raw) - FIELD_BYTES + 1, FIELD_BYTES)
    }


def body_of(packed: bytes | None) -> bytes | None:
    """Hash of the bytes that an item was made of; None where it is not known."""
    body = (packed or b"")[:BODY_BYTES]
    return body if any(body) else None


@lru_cache(4096)
def name_key(name: str) -> bytes:
    """Key of the name of a field."""
    return hashlib.blake2b(_encoded(name), digest_size=NAME_BYTES).digest()


def own_fields(
    values: Iterable[tuple[str, Any]],
    urls: Iterable[str],
    *,
    began: float | None = None,
) -> OwnFields:
    """Digest what an item says.

    Args:
        values: of its own fields, by name.
        urls: of the item, of its response and of its request: a value that only repeats one of
            them says nothing.
        began: when the crawl began, seconds since 1970; None: now.
    """
    now = time.time()
    reader = _Reader([*urls], Moment(now if began is None else began, now))
    digests: dict[str, Digest] = {}
    rest: list[str] = []
    for name, value in values:
        try:
            said = reader.read(value)
        except Exception:  # too large, or of an odd class: in doubt it is data
            digests[str(name)] = Digest(_UNREADABLE)
            continue
        if said is None:
            continue
        if len(digests) < MAX_FIELDS:
            digests[str(name)] = Digest(_hash(said), reader.is_in_url(said))
        else:
            rest.append(f"{name}\0{said}")
    if rest:
        digests[REST] = Digest(_hash("\0".join(sorted(rest))))
    return OwnFields(digests)


def _hash(said: str) -> bytes:
    made = hashlib.blake2b(_encoded(said), digest_size=HASH_BYTES).digest()
    return made if made != _UNREADABLE else b"\1" * HASH_BYTES


def _encoded(said: str) -> bytes:
    return said.encode("utf-8", "backslashreplace")


class _TooLargeError(Exception):
    """An item says more than is looked at."""


class _Reader:
    """Reads the values of one item as strings, which are equal where the values are."""

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
            hashlib.new(name, _encoded(url), usedforsecurity=False).hexdigest()
            for url in self._urls
            for name in _HASHES.values()
        }

    @cached_property
    def _written_urls(self) -> str:
        return "\n".join(unquote(url) for url in self._urls).casefold()

    def is_in_url(self, said: str) -> bool:
        """Whether a value is a part of one of the item's URLs."""
        return len(said) <= _MAX_URL and said.casefold() in self._written_urls

    def read(self, value: Any, depth: int = 0) -> str | None:
        """Read a value; None says nothing.

        Raises:
            _TooLargeError: the item has said too much.
        """
        self._values -= 1
        if self._values < 0 or depth > _MAX_DEPTH:
            raise _TooLargeError
        if value is None:
            return None
        if isinstance(value, str):
            return self._string(value)
        if isinstance(value, bool):
            return str(value)
        if isinstance(value, (int, float)):
            return None if self._is_epoch(value) else str(value)
        if isinstance(value, date):
            return self._date(value)
        if isinstance(value, (bytes, bytearray, memoryview)):
            self._spend(len(value))
            return hashlib.blake2b(value).hexdigest() if len(value) else None
        if isinstance(value, (list, tuple)):
            return _joined(self._each(value, depth))
        if isinstance(value, (set, frozenset)):
            return _joined(sorted(self._each(value, depth)))
        if isinstance(value, Mapping):
            return self._item(value, depth)
        from itemadapter import ItemAdapter  # it imports Scrapy, which workers have no room for

        if ItemAdapter.is_item(value):
            return self._item(ItemAdapter(value), depth)
        return self._other(value)

    def _each(self, values: Iterable[Any], depth: int) -> Iterator[str]:
        for value in values:
            if (said := self.read(value, depth + 1)) is not None:
                yield said

    def _item(self, adapter: Mapping[Any, Any], depth: int) -> str | None:
        # Of an image, say: whether it was downloaded now, or before.
        without = {"status"} if adapter.keys() >= _MEDIA_RESULT else set()
        parts = []
        for name in adapter:
            said = None if name in without else self.read(adapter[name], depth + 1)
            if said is not None:
                self._spend(len(str(name)))
                parts.append(f"{name}\2{said}")
        return _joined(sorted(parts))

    def _other(self, value: Any) -> str | None:
        """Read a value of another class; one that has no words of its own says nothing."""
        said = str(value)
        return None if said == object.__repr__(value) else self._string(said)

    def _string(self, value: str) -> str | None:
        self._spend(len(value))
        said = " ".join(value.split()) if len(value) <= _MAX_SPACED else value
        if not said or self._repeats_url(said) or self._is_time(said):
            return None
        return said

    def _spend(self, characters: int) -> None:
        self._characters -= characters
        if self._characters < 0:
            raise _TooLargeError

    def _repeats_url(self, said: str) -> bool:
        if len(said) > _MAX_URL or not self._urls or " " in said:
            return False
        if said in self._urls or (len(said) in _HASHES and said.lower() in self._hashed_urls):
            return True
        if "/" not in said:
            return False
        try:
            return _plain_url(urljoin(self._base, said)) in self._own_urls
        except ValueError:
            return False

    def _is_epoch(self, value: float) -> bool:
        """Whether a number is the time of the crawl, in seconds or milliseconds since 1970."""
        if not _FIRST_EPOCH < value < _FIRST_EPOCH * 10_000:
            return False
        return self._moment.is_now(value) or self._moment.is_now(value / 1000)

    def _is_time(self, said: str) -> bool:
        """Whether a string is the time of the crawl; a date without a time of day is not."""
        if len(said) > _MAX_TIME or not said[-1:].isalnum():
            return False
        if said.replace(".", "", 1).isdecimal():
            return self._is_epoch(float(said))
        if ":" not in said:
            return False
        for parse in (datetime.fromisoformat, parsedate_to_datetime):
            with suppress(ValueError, TypeError, IndexError):
                return self._is_moment(parse(said))
        return False

    def _is_moment(self, value: datetime) -> bool:
        """Whether a time is that of the crawl; without a zone it may be local or UTC."""
        meant = [value] if value.tzinfo is not None else [value, value.replace(tzinfo=UTC)]
        try:
            return any(self._moment.is_now(one.timestamp()) for one in meant)
        except (ValueError, OverflowError, OSError):
            return False

    def _date(self, value: date) -> str | None:
        """Read a date or a time, as Scrapy writes it in a feed."""
        if not isinstance(value, datetime):
            return value.isoformat()
        return None if self._is_moment(value) else value.strftime("%Y-%m-%d %H:%M:%S")


def _joined(parts: Iterable[str]) -> str | None:
    return "\1".join(parts) or None


def _plain_url(url: str) -> str:
    """URL without what does not tell pages apart: scheme, `www.`, slash at the end, fragment."""
    try:
        parts = urlsplit(url[:_MAX_URL])
        host = (parts.hostname or "").removeprefix("www.")
        port = {None: "", 80: "", 443: ""}.get(parts.port, f":{parts.port}")
    except ValueError:
        return url
    query = f"?{unquote(parts.query)}" if parts.query else ""
    return f"{host}{port}{unquote(parts.path).rstrip('/')}{query}"
