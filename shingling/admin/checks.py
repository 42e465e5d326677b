"""What the values of an exported record must be."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from sqlalchemy import BigInteger, Float, Integer, LargeBinary, Text

from shingling.store.model import FIRST_SECOND, LAST_SECOND, MAX_SCOPE_CHARACTERS
from shingling.text import clean

if TYPE_CHECKING:
    from sqlalchemy.types import TypeEngine

    from shingling.store.schema.rows import PageField

Check = tuple[Callable[[Any], bool], str]
"""A test of a value, and what it expects, as an error message says it."""


def whole_number(low: int, high: int) -> Check:
    """Accept a whole number from `low` to `high`."""
    return lambda value: type(value) is int and low <= value <= high, "a whole number in its range"


def one_of(*accepted: str) -> Check:
    """Accept one of some strings."""
    return lambda value: value in accepted, f"one of {', '.join(accepted)}"


def or_none(check: Check) -> Check:
    """Accept None as well."""
    fits, expected = check
    return lambda value: value is None or fits(value), expected


def of_type(kind: type) -> Check:
    """Accept a value of exactly this type."""
    return lambda value: type(value) is kind, f"a {kind.__name__}"


def values_of(kind: type[dict[Any, Any] | list[Any]], check: Check) -> Check:
    """Accept a dict or a list whose values pass a check."""
    fits, expected = check

    def all_fit(value: Any) -> bool:
        values = value.values() if type(value) is dict else value
        return type(value) is kind and all(map(fits, values))

    return all_fit, f"a {kind.__name__}, each value {expected}"


def of_column(field: PageField) -> Check:
    """Accept what the column of a page takes."""
    length = getattr(field.sql, "length", None)
    check = _OF_TYPES[type(field.sql)]
    if length:
        check = lambda value: type(value) is bytes and len(value) == length, f"{length} bytes"
    return or_none(check) if field.nullable else check


def _is_storable(value: Any) -> bool:
    return type(value) is str and clean(value) == value


def _is_text(value: Any) -> bool:
    try:
        value.encode()
    except (AttributeError, UnicodeEncodeError):
        return False
    return True


ANYTHING: Check = lambda _: True, "anything"
STRING: Check = _is_storable, "a string without NUL and lone surrogates"
URL: Check = lambda value: bool(value) and _is_storable(value), "a URL"
MAIN_TEXT: Check = _is_text, "a string without lone surrogates"
SHARE: Check = (
    lambda value: type(value) in (float, int) and 0 <= value <= 1,
    "a number from 0 to 1",
)
SCOPE: Check = (
    lambda value: _is_storable(value) and len(value) <= MAX_SCOPE_CHARACTERS,
    f"a string of {MAX_SCOPE_CHARACTERS} characters at most",
)
TIME = whole_number(FIRST_SECOND, LAST_SECOND)
ID = whole_number(1, 1 << 53)  # new ones follow the largest; exact in every reader of JSON
COUNT = whole_number(0, (1 << 63) - 1)
NUMBER = whole_number(-(1 << 63), (1 << 63) - 1)

_OF_TYPES: dict[type[TypeEngine[Any]], Check] = {
    Text: STRING,
    Integer: whole_number(-(1 << 31), (1 << 31) - 1),
    BigInteger: NUMBER,
    Float: SHARE,
    LargeBinary: of_type(bytes),
}
