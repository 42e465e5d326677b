"""What a request asks for: fields of queries and forms, read into values or refused."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl

from shingling.errors import ShinglingError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from starlette.requests import Request

MAX_FORM_BYTES = 600_000  # URLs of 8,192 characters of two pairs, escaped twice, and a note
_MAX_FIELDS = 40
_LARGEST_NUMBER = 2**31 - 1


class RequestError(ShinglingError):
    """A request cannot be answered as it is.

    Args:
        message: one line for people.
        status: of the answer.
    """

    def __init__(self, message: str, status: int = 400) -> None:
        super().__init__(message)
        self.status = status


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


def needed(fields: Mapping[str, str], name: str) -> str:
    """Value of a field that a request must have.

    Raises:
        RequestError: it is missing.
    """
    if name not in fields:
        raise RequestError(f"the address lacks {name!r}: follow a link of the list of groups")
    return fields[name]


def whole_number(fields: Mapping[str, str], name: str) -> int | None:
    """Whole number of a field; None where it is not given.

    Raises:
        RequestError: it is no number from 0 to 2,147,483,647.
    """
    given = fields.get(name)
    if given is None:
        return None
    if given.isascii() and given.isdigit() and len(given) < 11 and int(given) <= _LARGEST_NUMBER:
        return int(given)
    raise RequestError(f"{name} takes a whole number from 0 on, not {given[:50]!r}")


def share(fields: Mapping[str, str], name: str, lowest: float = 0.0) -> float | None:
    """Share that a field has, up to 1; None where it is not given.

    Args:
        fields: of a query or form.
        name: of the field.
        lowest: number that is accepted.

    Raises:
        RequestError: it is not accepted.
    """
    given = fields.get(name)
    if given is None:
        return None
    try:
        number = float(given[:30])
    except ValueError:
        number = math.nan
    if lowest <= number <= 1:
        return number
    raise RequestError(f"{name} takes a number from {lowest:g} to 1, not {given[:50]!r}")


def one_of(fields: Mapping[str, str], name: str, accepted: tuple[str, ...]) -> str | None:
    """Word of a field; None where it is not given.

    Raises:
        RequestError: it is none of those that are accepted.
    """
    given = fields.get(name)
    if given is None or given in accepted:
        return given
    raise RequestError(f"{name} is {' or '.join(accepted)}, not {given[:50]!r}")


def day(fields: Mapping[str, str], name: str) -> int | None:
    """Beginning of the day of a field in UTC, seconds since 1970; None where it is not given.

    Raises:
        RequestError: it is no date.
    """
    given = fields.get(name)
    if given is None:
        return None
    try:
        found = datetime.strptime(given[:30], "%Y-%m-%d").replace(tzinfo=UTC)
    except ValueError:
        raise RequestError(f"{name} takes a date such as 2026-11-21, not {given[:50]!r}") from None
    return int(found.timestamp())
