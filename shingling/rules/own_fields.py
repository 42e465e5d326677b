"""What an item says besides its URL, HTML and text, and what of it keeps the item.

`values` reads it. The store keeps the name of each field with a digest of its value, never the
value.
"""

from __future__ import annotations

import hashlib
from functools import cached_property, lru_cache
from io import BytesIO
from typing import TYPE_CHECKING, NamedTuple, Self

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

HASH_BYTES = 4
REST = "(other fields)"
TAKEN = "\3"  # stands for a time that was taken while the item was made
UNREADABLE = bytes(HASH_BYTES)

_MAX_NAME_BYTES = 100


class Digest(NamedTuple):
    """Digest of a value.

    Args:
        value: hash, `HASH_BYTES`; zeros if the value could not be read.
        number: hash of the numbers in it; empty if there are none, but for those of the item's URL.
        is_minute: whether it is a time that was taken while the item was made, at second 0.
        is_title: whether it is the title of the item.
    """

    value: bytes
    number: bytes = b""
    is_minute: bool = False
    is_title: bool = False

    def equals(self, other: Digest | None) -> bool:
        """Whether two values are the same.

        What could not be read is equal to nothing. Times that were taken while their items were
        made are equal, but for two at second 0: of departures, say.
        """
        if other is None or UNREADABLE in (self.value, other.value):
            return False
        if self.value == other.value:
            return True
        return (self.is_minute and other.value == _TAKEN_HASH) or (
            other.is_minute and self.value == _TAKEN_HASH
        )


class OwnFields(dict[str, Digest]):
    """Digests of an item's own fields, by name.

    Args:
        digests: the digests.
        is_document: whether the item has text of its own; otherwise it is a record of its page.

    Attributes:
        has_title: whether the item is a document that has brought the title of its page, which is
            then not among the fields.
    """

    def __init__(self, digests: Mapping[str, Digest], *, is_document: bool = False) -> None:
        super().__init__(digests)
        self.is_document = is_document
        self.has_title = False

    def as_document(self, texts: Collection[str]) -> OwnFields:
        """Fields of a document: without its texts, given by the names of their fields."""
        texts = {*map(short_name, texts)}
        kept = {name: digest for name, digest in self.items() if name not in texts}
        return OwnFields(kept, is_document=True)

    @cached_property
    def packed(self) -> bytes:
        """What the store keeps."""
        parts = [bytes([self.is_document])]
        for name, digest in sorted(self.items()):
            raw = name.encode()
            flags = digest.is_minute | digest.is_title << 1 | bool(digest.number) << 2
            parts += [bytes([len(raw)]), raw, bytes([flags]), digest.value, digest.number]
        return b"".join(parts)

    @classmethod
    def unpacked(cls, packed: bytes) -> Self:
        """Read what `packed` gave."""
        digests: dict[str, Digest] = {}
        raw = BytesIO(packed)
        is_document = raw.read(1) == b"\1"
        while length := raw.read(1):
            name, flags = raw.read(length[0]).decode(), raw.read(1)[0]
            value, number = raw.read(HASH_BYTES), raw.read(HASH_BYTES if flags & 4 else 0)
            digests[name] = Digest(value, number, bool(flags & 1), bool(flags & 2))
        return cls(digests, is_document=is_document)

    @property
    def has_data(self) -> bool:
        """Whether there is more than a title."""
        return any(not digest.is_title for digest in self.values())


_unpacked = lru_cache(1024)(OwnFields.unpacked)  # a page's fields are compared with many others


def differing(
    item: bytes | None,
    original: bytes | None,
    *,
    same_site: bool,
    names: Collection[str] = "auto",
    ignored: Collection[str] = (),
) -> tuple[str, ...]:
    """Names of the fields that keep an item from going as a duplicate, in alphabetical order.

    A document says on one site nothing that its original does not say, and on different sites no
    number. If one of the two is a record, both say the same on every site; a title counts if
    there is anything else.

    Args:
        item: packed fields; None says nothing.
        original: those of the original.
        same_site: whether both are of one site.
        names: fields that count instead, in both directions; "auto": by the rule above.
        ignored: fields that say nothing.
    """
    if names == "auto" and (item is None or (item == original and UNREADABLE not in item)):
        return ()
    mine, theirs = _unpacked(item or b"\0"), _unpacked(original or b"\0")
    if names != "auto":
        chosen = {*map(short_name, names)} & (mine.keys() | theirs.keys())
    elif not (mine.is_document and theirs.is_document):
        data = {name for name in mine.keys() | theirs.keys() if not _is_title(name, mine, theirs)}
        chosen = (
            (mine.keys() | theirs.keys()) if data.difference(map(short_name, ignored)) else set()
        )
    elif same_site:
        chosen = {*mine}
    else:
        chosen = {
            name
            for name, digest in mine.items()
            if digest.number
            and not digest.is_title
            and (name not in theirs or digest.number != theirs[name].number)
        }
    return _unequal(chosen, mine, theirs, ignored)


def changed_fields(
    item: bytes | None, original: bytes | None, ignored: Collection[str] = ()
) -> tuple[str, ...]:
    """Names of the fields in which an item says something else than its original, on any site."""
    if not item or item == original:
        return ()
    mine, theirs = _unpacked(item), _unpacked(original or b"\0")
    return _unequal(mine.keys(), mine, theirs, ignored)


def changed_since(
    item: bytes,
    before: bytes | None,
    *,
    names: Collection[str] = "auto",
    ignored: Collection[str] = (),
) -> tuple[str, ...]:
    """Names of the fields in which an item says something else than when its URL was met before.

    A field that has come or gone is one of them.

    Args:
        item: packed fields.
        before: those of then.
        names: fields that count; "auto": all.
        ignored: fields that say nothing.
    """
    if item == before and UNREADABLE not in item:
        return ()
    mine, theirs = _unpacked(item), _unpacked(before or b"\0")
    chosen = mine.keys() | theirs.keys()
    if names != "auto":
        chosen &= {*map(short_name, names)}
    return _unequal(chosen, mine, theirs, ignored)


def _unequal(
    names: Collection[str], mine: OwnFields, theirs: OwnFields, ignored: Collection[str]
) -> tuple[str, ...]:
    """Those of some fields that are not equal, in alphabetical order, but for ignored ones."""
    counted = {*names}.difference(map(short_name, ignored))
    return tuple(sorted(name for name in counted if not _are_equal(name, mine, theirs)))


def _are_equal(name: str, mine: OwnFields, theirs: OwnFields) -> bool:
    return name in mine and mine[name].equals(theirs.get(name))


def _is_title(name: str, *fields: OwnFields) -> bool:
    return any(name in own and own[name].is_title for own in fields)


def encoded(text: str) -> bytes:
    """Encode a string, whatever is in it."""
    return text.encode("utf-8", "backslashreplace")


def hashed(text: str) -> bytes:
    """Hash of a value, which is never that of an unreadable one."""
    made = hashlib.blake2b(encoded(text), digest_size=HASH_BYTES).digest()
    return made if made != UNREADABLE else b"\1" * HASH_BYTES


_TAKEN_HASH = hashed(TAKEN)


@lru_cache(4096)
def short_name(name: object) -> str:
    """Name of a field as the store keeps it: a hash stands for the end of a long one."""
    raw = encoded(str(name))
    if len(raw) <= _MAX_NAME_BYTES:
        return raw.decode()
    digest = hashlib.blake2b(raw, digest_size=8).hexdigest()
    return f"{raw[: _MAX_NAME_BYTES - len(digest)].decode(errors='ignore')}{digest}"
