"""What a request asks for: queries and forms, read into values or refused."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl

from shingling.errors import ShinglingError
from shingling.web.lists import ORDERS, GroupFilter

if TYPE_CHECKING:
    from collections.abc import Mapping

    from starlette.requests import Request

MAX_FORM_BYTES = 600_000  # URLs of 8,192 characters of two pairs, escaped twice, and a note
_MAX_FIELDS = 40
MAX_NOTE_CHARACTERS = 2000
_LARGEST_NUMBER = 2**31 - 1
FILTER_FIELDS = (
    "site", "status", "low", "high", "run", "since", "until", "reviewed", "words", "order",
)  # fmt: skip
GUIDED_FIELDS = ("sample", "threshold")
"""Fields that a sample of pairs goes on by, and where it ends."""


class RequestError(ShinglingError):
    """A request cannot be answered as it is.

    Args:
        message: one line for people.
        status: of the answer.
    """

    def __init__(self, message: str, status: int = 400) -> None:
        super().__init__(message)
        self.status = status


@dataclass(frozen=True)
class Asked:
    """Which groups are asked for.

    Args:
        filter: the groups.
        values: of the fields of the form, as they were given; those that say nothing are left out.
        guided: fields of a sample of pairs, as they were given.
    """

    filter: GroupFilter
    values: dict[str, str]
    guided: dict[str, str] = field(default_factory=dict)

    def value(self, name: str) -> str:
        """Value of a field of the form."""
        return self.values.get(name, "")

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """Fields and values, for a link that keeps the filter and the sample of pairs."""
        return [*self.values.items(), *self.guided.items()]


def query_of(request: Request) -> dict[str, str]:
    """Fields of the query of a request.

    Raises:
        RequestError: it is not one that our pages make.
    """
    return _fields(request.scope["query_string"])


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
    return _fields(body)


def asked_of(values: Mapping[str, str]) -> Asked:
    """Filter of groups that a query or form asks for.

    Raises:
        RequestError: a field has a value that is not accepted.
    """
    given = _given(values, FILTER_FIELDS)
    until = _date(given, "until")
    order = _one_of(given, "order", ORDERS) or "size"
    reviewed = _one_of(given, "reviewed", ("yes", "no"))
    return Asked(
        GroupFilter(
            site=given.get("site", "").lower().removeprefix("www.") or None,
            status=_one_of(given, "status", ("near", "exact")),
            low=share(given, "low"),
            high=share(given, "high"),
            run=whole_number(given, "run"),
            since=_date(given, "since"),
            until=None if until is None else until + timedelta(days=1).total_seconds(),
            reviewed=None if reviewed is None else reviewed == "yes",
            words=given.get("words"),
            order=next(one for one in ORDERS if one == order),
        ),
        given,
        _given(values, GUIDED_FIELDS),
    )


def needed(values: Mapping[str, str], name: str) -> str:
    """Value of a field that a request must have.

    Raises:
        RequestError: it is missing.
    """
    if not values.get(name):
        raise RequestError(f"the address lacks {name!r}: follow a link of the list of groups")
    return values[name]


def whole_number(values: Mapping[str, str], name: str) -> int | None:
    """Whole number of a field; None where it is not given.

    Raises:
        RequestError: it is no number from 0 to 2,147,483,647.
    """
    given = values.get(name)
    if not given:
        return None
    if given.isascii() and given.isdigit() and len(given) < 11 and int(given) <= _LARGEST_NUMBER:
        return int(given)
    raise RequestError(f"{name} takes a whole number from 0 on, not {given[:50]!r}")


def share(values: Mapping[str, str], name: str, lowest: float = 0.0) -> float | None:
    """Share that a field has, up to 1; None where it is not given.

    Args:
        values: fields of a query or form.
        name: of the field.
        lowest: number that is accepted.

    Raises:
        RequestError: it is not accepted.
    """
    given = values.get(name)
    if not given:
        return None
    try:
        number = float(given[:30])
    except ValueError:
        number = math.nan
    if lowest <= number <= 1:
        return number
    raise RequestError(f"{name} takes a number from {lowest:g} to 1, not {given[:50]!r}")


def _given(values: Mapping[str, str], names: tuple[str, ...]) -> dict[str, str]:
    return {name: values[name].strip() for name in names if values.get(name, "").strip()}


def _fields(raw: bytes) -> dict[str, str]:
    try:
        found = parse_qsl(
            raw.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=_MAX_FIELDS
        )
    except ValueError:
        raise RequestError("the address or form is not one that these pages make") from None
    if any("\x00" in value for _, value in found):
        raise RequestError("a field has a character that no store can keep")
    return dict(found)


def _one_of(values: Mapping[str, str], name: str, accepted: tuple[str, ...]) -> str | None:
    given = values.get(name)
    if given is None or given in accepted:
        return given
    raise RequestError(f"{name} is {' or '.join(accepted)}, not {given[:50]!r}")


def _date(values: Mapping[str, str], name: str) -> float | None:
    """Beginning of a day in UTC, seconds since 1970."""
    given = values.get(name)
    if given is None:
        return None
    try:
        return datetime.strptime(given[:30], "%Y-%m-%d").replace(tzinfo=UTC).timestamp()
    except ValueError:
        raise RequestError(f"{name} takes a date such as 2026-11-21, not {given[:50]!r}") from None
