"""What a row says of itself, on one machine and on Spark: its text, its id and its place."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from shingling.bulk.options import order_field
from shingling.json_values import number_or_time
from shingling.sketch import sign
from shingling.store.ids import USUAL_ID_FIELDS, BadRowError, id_of
from shingling.text import clean

if TYPE_CHECKING:
    from collections.abc import Iterator

    from shingling.bulk.options import Fields, Options
    from shingling.sketch import Signature


class NoTextError(BadRowError):
    """A row has neither a text nor HTML: it is kept, and compared with nothing."""


def compared_text(value: Any, skip_words: int) -> str | None:
    """Text that is compared; None if there is none.

    Args:
        value: of the field that has the text: a string, or a list of messages, whose texts are
            joined by line breaks.
        skip_words: number of its first words that are left out, as they are between white space.
    """
    text = "\n".join(_texts_of_messages(value)) if isinstance(value, list) else value
    if not isinstance(text, str) or not text or text.isspace():
        return None
    if skip_words:
        text = "".join(text.split(maxsplit=skip_words)[skip_words:])
    return clean(text)


def _texts_of_messages(messages: list[Any]) -> Iterator[str]:
    """Yield the texts of messages: their `content` or `value`, a string or a list of parts.

    Parts without a `text`, such as images, are left out; so is what is no message.
    """
    for message in messages:
        if isinstance(message, dict):
            content = message.get("content", message.get("value"))
            parts = content if isinstance(content, list) else [{"text": content}]
            texts = (part.get("text") for part in parts if isinstance(part, dict))
            yield from (text for text in texts if isinstance(text, str))


def text_of_row(values: dict[str, Any], options: Options) -> str | None:
    """Text of a row that is compared; None if it has none."""
    return compared_text(values.get(options.fields.text), options.skip_words)


def sign_row(values: dict[str, Any], options: Options) -> Signature | None:
    """Sign the text of a row; None if it has none.

    Raises:
        BadRowError: the text is too long.
    """
    text = text_of_row(values, options)
    if text is None:
        return None
    if len(text) > options.max_bytes:
        raise BadRowError(f"{options.fields.text} is longer than {options.max_bytes:,}")
    return sign(text, options.scheme)


def without_text(values: dict[str, Any], fields: Fields) -> str:
    """Say why a row has nothing to sign."""
    for name in (fields.text, fields.html):
        if name in values:
            value = values[name]
            if value is None:
                return f"{name} is null"
            if isinstance(value, list):
                return f"{name} is a list, and not of messages with a content"
            return f"{name} is empty" if isinstance(value, str) else f"{name} is no string"
    return f"neither {fields.text} nor {fields.html}"


def string_or_none(value: Any) -> str | None:
    """Take a string that is not empty; None instead of anything else."""
    return value if isinstance(value, str) and value else None


def id_of_row(values: dict[str, Any], options: Options) -> str | None:
    """Id of a row; None if it has none and none is asked for.

    Raises:
        BadRowError: it lacks the field that ids are in, or its id cannot be taken.
    """
    name = options.fields.id
    if name is None:
        return id_of(values, USUAL_ID_FIELDS)
    row_id = id_of(values, (name,))
    if row_id is None:
        raise BadRowError(f"no {name}")
    return row_id


def place_of_row(values: dict[str, Any], options: Options) -> float:
    """Place of a row in the order of decisions: the lowest comes first, infinity if it has none."""
    if options.keep == "longest":
        return -float(len(text_of_row(values, options) or ""))
    field = order_field(options)
    value = None if field is None else number_or_time(values.get(field))
    if value is None:
        return math.inf
    return -value if options.keep == "newest" else value
