"""Views as data: what a page shows, as JSON, and its rows as CSV."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from starlette.responses import Response, StreamingResponse

from shingling.console.output import csv_text, json_text
from shingling.json_values import json_value
from shingling.web.requests import MAX_ROWS
from shingling.web.shown import link

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from shingling.store.session import Session
    from shingling.web.requests import Fields, Values

ENDINGS = (".json", ".csv")
"""What the address of a view ends with, before its query, if it is asked for as data."""


class View(NamedTuple):
    """What is shown at one address, and at the same address with `.json` and `.csv`.

    Args:
        show: reads the values of its template, by the fields of a query. A list has `rows`, and as
            `next` what their address has as `after`, where it goes on; None at its end.
        names: of the values that are data; a list, which has its `rows` as CSV, has `next` as well.
    """

    show: Callable[[Session, Fields], Values]
    names: tuple[str, ...]


def json_response(data: Values, status: int = 200) -> Response:
    """Answer with data, which has as `next` the address of the next rows if there are more."""
    text = json_text(json_value(data), indent=1)
    headers = {"link": f'<{data["next"]}>; rel="next"'} if data.get("next") else {}
    return Response(f"{text}\n", status, headers, "application/json")


async def csv_response(
    read: Callable[[Fields], Awaitable[Values]], fields: Fields, address: str
) -> Response:
    """Answer with the rows of a list, of which `MAX_ROWS` at a time are in memory.

    Args:
        read: reads the values of the view, by the fields of a query.
        fields: of the query: as many rows as it asks for by `size`, or all of them.
        address: that the query is of.
    """
    asked = {"size": f"{MAX_ROWS}", **fields}
    first = await read(asked)  # what is wrong with the query is said before the answer begins
    headers = {"content-disposition": f'attachment; filename="{address.rpartition("/")[2]}"'}
    has_size = "size" in fields
    if has_size and first["next"]:
        following = link(address, {**fields, "first": None, "after": first["next"]})
        headers["link"] = f'<{following}>; rel="next"'

    async def parts() -> AsyncIterator[str]:
        values, header = first, True
        while True:
            yield csv_text(json_value(values["rows"]), header=header)
            header = header and not values["rows"]
            if has_size or not values["next"]:
                return
            asked.pop("first", None)
            values = await read({**asked, "after": f"{values['next']}"})

    return StreamingResponse(parts(), headers=headers, media_type="text/csv")
