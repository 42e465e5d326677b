"""Kinds of values that a stored page has: in SQL, in Python, and in an export."""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

import numpy as np
from sqlalchemy import BigInteger, Float, Integer, LargeBinary, Text

from shingling.sketch import FUNCTIONS
from shingling.store.model import STATUSES
from shingling.store.schema import checks

if TYPE_CHECKING:
    from collections.abc import Callable

    from sqlalchemy.types import TypeEngine

    from shingling.store.schema.checks import Check

MINIMA_BYTES = 4 * FUNCTIONS
HASH_BYTES = 16

ROW_ID: TypeEngine[Any] = BigInteger().with_variant(Integer, "sqlite")
"""SQL type of ids; SQLite counts up only an INTEGER PRIMARY KEY."""

Origin: TypeAlias = Literal["extracted", "signature", "decision", ""]
"""Where a value comes from: the body of a page, its signature, or deciding it."""


class Letters(NamedTuple):
    """A value that JSON has as letters.

    Args:
        encode: makes letters of a value.
        decode: makes a value of letters; it raises TypeError or ValueError if it cannot.
        expected: what letters it takes, as an error message says it.
    """

    encode: Callable[[Any], str]
    decode: Callable[[str], Any]
    expected: str


class Stored(NamedTuple):
    """A value that the database has in another form than `Row`."""

    write: Callable[[Any], Any]
    read: Callable[[Any], Any]


@dataclass(frozen=True)
class Kind:
    """A kind of values.

    Args:
        sql: type of its column.
        check: what a value of an exported record must be.
        letters: how JSON has it, if not as it is.
        stored: how the database has it, if not as it is.
    """

    sql: TypeEngine[Any]
    check: Check
    letters: Letters | None = None
    stored: Stored | None = None


@dataclass(frozen=True)
class PageField:
    """What becomes of one field of a page besides its column.

    Args:
        kind: of its values.
        origin: where its value comes from.
        nullable: whether it may be None.
    """

    kind: Kind
    origin: Origin = ""
    nullable: bool = False

    @property
    def check(self) -> Check:
        """What a value of an exported record must be."""
        return checks.or_none(self.kind.check) if self.nullable else self.kind.check


def column(kind: Kind, origin: Origin = "", *, nullable: bool = False) -> Any:
    """Field of a dataclass that has a column of its own; the arguments are those of `PageField`."""
    return field(metadata={"page": PageField(kind, origin, nullable)})


def _unsigned(digits: str) -> int:
    raw = bytes.fromhex(digits)
    if len(raw) != 8:
        raise ValueError
    return int.from_bytes(raw, "big")


BASE64 = Letters(
    lambda raw: binascii.b2a_base64(raw, newline=False).decode(),
    lambda letters: base64.b64decode(letters, validate=True),
    "in base64",
)
_HEXADECIMAL = Letters(bytes.hex, bytes.fromhex, "32 hexadecimal digits")
_HEXADECIMAL_NUMBER = Letters(lambda value: f"{value:016x}", _unsigned, "16 hexadecimal digits")
# Databases have no unsigned numbers.
SIGNED = Stored(
    lambda value: value - (1 << 64) if value >= 1 << 63 else value, lambda value: value % (1 << 64)
)
LITTLE_ENDIAN = Stored(
    lambda minima: minima.astype("<u4", copy=False).tobytes(),
    lambda raw: np.frombuffer(raw, dtype="<u4"),
)

FIELDS = Kind(LargeBinary(), checks.OWN_FIELDS, letters=BASE64)
ID = Kind(ROW_ID, checks.ID)
RUN = Kind(ROW_ID, checks.COUNT)
STRING = Kind(Text(), checks.STRING)
SCOPE = Kind(Text(), checks.SCOPE)
URL = Kind(Text(), checks.URL)
MAIN_TEXT = Kind(Text(), checks.MAIN_TEXT)
WORDS = Kind(Integer(), checks.whole_number(1, (1 << 31) - 1))
STATUS = Kind(Text(), checks.one_of("new", "exact", "near", "skipped"))
VERDICT = Kind(Text(), checks.one_of(*STATUSES))
SHARE = Kind(Float(), checks.SHARE)
TIME = Kind(BigInteger(), checks.TIME)
HASH = Kind(LargeBinary(16), checks.number_of_bytes(16), letters=_HEXADECIMAL)
SIMHASH = Kind(
    BigInteger(),
    checks.whole_number(-(1 << 63), (1 << 64) - 1),  # with a sign in the database only
    letters=_HEXADECIMAL_NUMBER,
    stored=SIGNED,
)
MINIMA = Kind(
    LargeBinary(MINIMA_BYTES),
    checks.number_of_bytes(MINIMA_BYTES),
    letters=BASE64,
    stored=LITTLE_ENDIAN,
)
