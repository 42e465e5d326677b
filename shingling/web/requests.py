"""What a request asks for: fields of queries and forms, read into values or refused."""

from __future__ import annotations

from argparse import ArgumentTypeError
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import parse_qsl

from shingling.console.options import number, whole_number
from shingling.errors import ShinglingError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from starlette.requests import Request

    Fields = Mapping[str, str]
    Values = dict[str, Any]

_T = TypeVar("_T")

count = whole_number(0)
share = number(1, with_zero=True)

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
        fields = parse_qsl(raw.decode("ascii"), errors="strict", max_num_fields=_MAX_FIELDS)
    except ValueError:
        raise RequestError("the address or form is not one that these pages make") from None
    if any("\x00" in value for _, value in fields):
        raise RequestError("a field has a character that no store can keep")
    return {name: value for name, value in fields if value.strip()}


def needed_field(fields: Fields, name: str, problem: str = "") -> str:
    """Value of a field that a request must have.

    Raises:
        RequestError: it is missing; `problem` says what to do.
    """
    if name not in fields:
        usual = f"the address lacks {name!r}: follow a link of the list of groups"
        raise RequestError(problem or usual)
    return fields[name]


def read_field(fields: Fields, name: str, kind: Callable[[str], _T]) -> _T | None:
    """Value of a field; None if it is not given.

    Args:
        fields: of a query or form.
        name: of the field.
        kind: reads it as the type of an option of a command does.

    Raises:
        RequestError: it is not accepted.
    """
    if name not in fields:
        return None
    given = fields[name]
    try:
        return kind(given)
    except ArgumentTypeError as error:
        raise RequestError(f"{name} {error}, not {given[:50]!r}") from None


def row_after(query: Fields) -> int:
    """Read behind which row a list is to go on: its number, or the id of what it shows."""
    return read_field(query, "after", count) or 0


def rows_asked(query: Fields) -> int:
    """Read how many rows a query asks for, at most `MAX_ROWS`."""
    return min(read_field(query, "size", count) or _ROWS_SHOWN, MAX_ROWS)


def rows_skipped(query: Fields) -> int:
    """Read how many rows of a list are left out, as its `first` row has another number than 1."""
    return (read_field(query, "first", count) or 1) - 1


def rows_before(query: Fields) -> int:
    """Read how many rows of a list come before those that are asked for, as its links tell."""
    return (read_field(query, "row", count) or 0) + rows_skipped(query)


def part_of(rows: Sequence[Any], query: Fields) -> Values:
    """Take the part of a list that a query asks for, and where the list goes on."""
    start = row_after(query) + rows_skipped(query)
    end = start + rows_asked(query)
    following = end if end < len(rows) else None
    return {"rows": rows[start:end], "next": following, "total": len(rows)}
