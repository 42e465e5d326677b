"""Ids of rows: any JSON value, as a text that a store takes for a URL."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from shingling.store.urls import safe_url
from shingling.text import clean

if TYPE_CHECKING:
    from collections.abc import Iterable

USUAL_ID_FIELDS = ("id", "url", "_id")
"""Fields that a row is called by if no other is named: the first one that has a value."""


class BadRowError(Exception):
    """The row cannot be taken; the message says why."""


def id_of(values: dict[str, Any], names: Iterable[str]) -> str | None:
    """Id of a row; None if it has none.

    Texts and whole numbers are written as they are, everything else, such as `{"$oid": "…"}` in
    MongoDB's extended JSON, as canonical JSON: keys sorted, without spaces.

    Args:
        values: of the row.
        names: of the fields that may have it, the first one first.

    Raises:
        BadRowError: the value is nested too deeply.
    """
    for name in names:
        value = values.get(name)
        if type(value) is int:
            return str(value)
        if value is not None:
            url = safe_url(clean(value if isinstance(value, str) else _canonical_json(value)))
            if url:
                return url
    return None


def _canonical_json(value: Any) -> str:
    """Write JSON in the one way in which equal values are equal texts.

    An `@` in a string is escaped, as what is before it would be taken for a password of a URL.

    Raises:
        BadRowError: the value is nested too deeply.
    """
    try:
        text = json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    except RecursionError:
        raise BadRowError("its id is nested too deeply") from None
    return text.replace("@", "\\u0040")
