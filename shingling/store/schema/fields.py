"""Kinds of values that a stored page has: in SQL, in Python, and in each format of an export."""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

import numpy as np
from sqlalchemy import BigInteger, Float, Integer, LargeBinary, Text

from shingling.sketch import FUNCTIONS
from shingling.store.model import STATUSES, from_seconds
from shingling.store.schema import checks

if TYPE_CHECKING:
    from collections.abc import Callable

    from sqlalchemy.types import TypeEngine

    from shingling.store.schema.checks import Check

ROW_ID: TypeEngine[Any] = BigInteger().with_variant(Integer, "sqlite")
"""SQL type of ids; SQLite counts up only an INTEGER PRIMARY KEY."""

Origin: TypeAlias = Literal["extracted", "signature", "decision", ""]
"""Where a value comes from: the body of a page, its signature, or deciding it."""


class Letters(NamedTuple):
    """A value that JSON and CSV have as letters.

    Args:
        encode: makes letters of a value.
        decode: makes a value of letters; it raises TypeError or ValueError where it cannot.
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
        arrow: its type in a Parquet file, made by the module pyarrow.
        cell: makes a value of a cell of CSV; None for a string, which may begin with a backslash.
        letters: how JSON and CSV have it, if not as it is.
        stored: how the database has it, if not as it is.
        shown: how `StoredPage` has it, if not as the database does.
    """

    sql: TypeEngine[Any]
    check: Check
    arrow: Callable[[Any], Any]
    cell: Callable[[str], Any] | None = None
    letters: Letters | None = None
    stored: Stored | None = None
    shown: Callable[[Any], Any] | None = None


@dataclass(frozen=True)
class PageField:
    """What becomes of one field of a page besides its column.

    Args:
        kind: of its values.
        nullable: whether it may be None.
        origin: where its value comes from.
    """

    kind: Kind
    nullable: bool = False
    origin: Origin = ""

    @property
    def check(self) -> Check:
        """What a value of an exported record must be."""
        return checks.or_none(self.kind.check) if self.nullable else self.kind.check


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

FIELDS = Kind(
    LargeBinary(),
    checks.OWN_FIELDS,
    lambda pa: pa.binary(),
    cell=str,
    letters=BASE64,
)
ID = Kind(ROW_ID, checks.ID, lambda pa: pa.int64(), cell=int)
RUN = Kind(ROW_ID, checks.COUNT, lambda pa: pa.int64(), cell=int)
STRING = Kind(Text(), checks.STRING, lambda pa: pa.string())
SCOPE = Kind(Text(), checks.SCOPE, lambda pa: pa.string())
URL = Kind(Text(), checks.URL, lambda pa: pa.string())
MAIN_TEXT = Kind(Text(), checks.MAIN_TEXT, lambda pa: pa.string())
WORDS = Kind(Integer(), checks.whole_number(1, (1 << 31) - 1), lambda pa: pa.int32(), cell=int)
STATUS = Kind(Text(), checks.one_of("new", "exact", "near", "skipped"), lambda pa: pa.string())
VERDICT = Kind(Text(), checks.one_of(*STATUSES), lambda pa: pa.string())
SHARE = Kind(Float(), checks.SHARE, lambda pa: pa.float64(), cell=float)
TIME = Kind(
    BigInteger(),
    checks.TIME,
    lambda pa: pa.timestamp("ms", "UTC"),
    cell=int,
    shown=from_seconds,
)
HASH = Kind(
    LargeBinary(16),
    checks.number_of_bytes(16),
    lambda pa: pa.binary(16),
    cell=str,
    letters=_HEXADECIMAL,
)
SIMHASH = Kind(
    BigInteger(),
    checks.whole_number(0, (1 << 64) - 1),
    lambda pa: pa.uint64(),
    cell=str,
    letters=_HEXADECIMAL_NUMBER,
    stored=SIGNED,
)
MINIMA = Kind(
    LargeBinary(4 * FUNCTIONS),
    checks.number_of_bytes(4 * FUNCTIONS),
    lambda pa: pa.binary(4 * FUNCTIONS),
    cell=str,
    letters=BASE64,
    stored=LITTLE_ENDIAN,
)
