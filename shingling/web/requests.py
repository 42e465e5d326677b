"""What a request asks for: fields of queries and forms, read into values or refused."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import parse_qsl

from shingling.errors import ShinglingError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from starlette.requests import Request

_T = TypeVar("_T")

MAX_ROWS = 1000
"""Rows of a list that a query may ask for by `size`."""

_ROWS_SHOWN = 50
MAX_FORM_BYTES = 600_000  # URLs of 8,192 characters of two pairs, escaped twice, and a note
_MAX_FIELDS = 150  # a list of 100 rows, all of them ticked


class RequestError(ShinglingError):
    """A request cannot be answered as it is.

    Args:
        message: one line for people.
        status: of the answer.
        back: address of the page to look at again.
    """

    def __init__(self, message: str, status: int = 400, back: str = "/groups") -> None:
        super().__init__(message)
        self.status, self.back = status, back


async def form_of(request: Request) -> dict[str, str]:
    """Fields of the form that a request sends.

    Raises:
        RequestError: it is too large, or not a form.
    """
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/x-www-form-urlencoded":
        raise RequestError("a form is expected", 415)
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > MAX_FORM_BYTES:
            raise RequestError(f"the form has more than {MAX_FORM_BYTES:,} bytes", 413)
    return fields_of(body)


def fields_of(raw: bytes) -> dict[str, str]:
    """Fields of a query or form that say something.

    Raises:
        RequestError: it is not one that our pages make.
    """
    try:
        found = parse_qsl(raw.decode("ascii"), errors="strict", max_num_fields=_MAX_FIELDS)
    except ValueError:
        raise RequestError("the address or form is not one that these pages make") from None
    if any("\x00" in value for _, value in found):
        raise RequestError("a field has a character that no store can keep")
    return {name: value for name, value in found if value.strip()}


def needed(fields: Mapping[str, str], name: str, problem: str = "") -> str:
    """Value of a field that a request must have.

    Raises:
        RequestError: it is missing; `problem` says what to do.
    """
    if name not in fields:
        usual = f"the address lacks {name!r}: follow a link of the list of groups"
        raise RequestError(problem or usual)
    return fields[name]


def read(fields: Mapping[str, str], name: str, kind: Callable[[str], _T]) -> _T | None:
    """Value of a field; None if it is not given.

    Args:
        fields: of a query or form.
        name: of the field.
        kind: reads it, or raises a ValueError that says what it takes.

    Raises:
        RequestError: it is not accepted.
    """
    if name not in fields:
        return None
    given = fields[name]
    try:
        return kind(given)
    except ValueError as error:
        raise RequestError(f"{name} takes {error}, not {given[:50]!r}") from None


def whole_number(given: str) -> int:
    """Read a number from 0 to 2,147,483,647."""
    if not (given.isascii() and given.isdigit() and len(given) < 11 and int(given) < 2**31):
        raise ValueError("a whole number from 0 on")
    return int(given)


def share(given: str, lowest: float = 0.0) -> float:
    """Read a number that is at most 1."""
    try:
        number = float(given[:30])
    except ValueError:
        number = math.nan
    if not lowest <= number <= 1:
        raise ValueError(f"a number from {lowest:g} to 1")
    return number


def one_of(*accepted: str) -> Callable[[str], str]:
    """Make what reads one of these words."""

    def kind(given: str) -> str:
        if given not in accepted:
            raise ValueError(" or ".join(accepted))
        return given

    return kind


def day(given: str) -> int:
    """Read a date: its beginning in UTC, seconds since 1970."""
    try:
        return int(datetime.strptime(given[:30], "%Y-%m-%d").replace(tzinfo=UTC).timestamp())
    except ValueError:
        raise ValueError("a date such as 2026-11-21") from None


def row_after(query: Mapping[str, str]) -> int:
    """Read behind which row a list is to go on: its number, or the id of what it shows."""
    return read(query, "after", whole_number) or 0


def rows_asked(query: Mapping[str, str]) -> int:
    """Read how many rows a query asks for, at most `MAX_ROWS`."""
    return min(read(query, "size", whole_number) or _ROWS_SHOWN, MAX_ROWS)


def part_of(rows: Sequence[Any], query: Mapping[str, str]) -> dict[str, Any]:
    """Take the part of a list that a query asks for, and where the list goes on."""
    start = row_after(query)
    end = start + rows_asked(query)
    return {"rows": rows[start:end], "next": end if end < len(rows) else None}
