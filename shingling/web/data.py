"""Views as data: what a page shows, as JSON, and its rows as CSV."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from starlette.responses import Response

from shingling.console.output import csv_text, json_text
from shingling.files.json_values import json_value

if TYPE_CHECKING:
    from collections.abc import Callable

    from shingling.store.session import Session
    from shingling.web.requests import Fields, Values

ENDINGS = (".json", ".csv")
"""What the address of a view ends with, before its query, if it is asked for as data."""


class View(NamedTuple):
    """What is shown at one address, and at the same address with `.json` and `.csv`.

    Args:
        show: reads the values of its template, by the fields of a query. A list has `rows`, and as
            `next` what their address has as `after`, where it goes on; None at its end.
        names: of the values that are data; a list has its `rows` as CSV.
    """

    show: Callable[[Session, Fields], Values]
    names: tuple[str, ...]


def data_response(data: Values, ending: str, name: str, status: int = 200) -> Response:
    """Answer with data.

    Args:
        data: with the address of the next rows, as a page, as `next` if there are more.
        ending: `.json`, or `.csv` for its rows alone.
        name: of the view, for the file that a browser writes.
        status: of the answer.
    """
    following = data.get("next")
    headers = {}
    if following:
        following = following.replace("?", f"{ending}?", 1)
        data = {**data, "next": following}
        headers["link"] = f'<{following}>; rel="next"'
    if ending == ".json":
        text = json_text(json_value(data), indent=1)
        return Response(f"{text}\n", status, headers, "application/json")
    headers["content-disposition"] = f'attachment; filename="{name}.csv"'
    return Response(csv_text(json_value(data["rows"])), status, headers, "text/csv")
