"""Labelled pairs: two texts each, and whether they are the same page.

They are read from a file, or are the pairs of stored pages that were reviewed.
"""

from __future__ import annotations

import json
import re
from functools import cache
from typing import IO, TYPE_CHECKING, Any, NamedTuple

from shingling.errors import ExtractionError, TuningError
from shingling.extraction.html import sniff_html
from shingling.extraction.main_text import extract_page
from shingling.files.lines import json_lines
from shingling.rules import MAX_FILE_BYTES
from shingling.text import canonical_words, clean

if TYPE_CHECKING:
    from collections.abc import Callable

    from shingling.store.store import Store

MAX_REVIEWS_READ = 1000
"""Reviews that are taken, the newest ones."""

_URL = re.compile(r"https?://\S+", re.IGNORECASE)
_MAX_VALUE_CHARACTERS = 80  # in a message


class LabelledPair(NamedTuple):
    """A pair of texts with its label.

    Args:
        a: main text of a page.
        b: main text of the other page.
        same: whether they count as the same page.
    """

    a: str
    b: str
    same: bool


def read_pairs(file: IO[bytes], look_up: Callable[[str], str | None]) -> list[LabelledPair]:
    """Read labelled pairs from JSON lines such as `{"a": ..., "b": ..., "same": true}`.

    Args:
        file: blank lines are skipped. `a` and `b` are each a text, the HTML of a page, or a URL;
            `same` is true, false, or null for a pair without a label, which is left out.
        look_up: gives the main text of a URL, or None if it is not known.

    Raises:
        TuningError: a line cannot be used; the message has its number.
    """
    pairs = []
    for number, fields in json_lines(file):
        try:
            if isinstance(fields, str):
                raise TuningError(fields)
            same = _label(fields)
            if same is None:
                continue
            a, b = (_text(name, fields[name], look_up) for name in ("a", "b"))
        except TuningError as error:
            raise TuningError(f"line {number}: {error}") from None
        pairs.append(LabelledPair(a, b, same))
    return pairs


def _label(fields: dict[str, Any]) -> bool | None:
    for name in ("a", "b", "same"):
        if name not in fields:
            raise TuningError(f'the field "{name}" is missing')
    same = fields["same"]
    if same is None or isinstance(same, bool):
        return same
    raise TuningError(f'"same" is {_quoted(same)}: it takes true, false or null')


def _text(name: str, value: Any, look_up: Callable[[str], str | None]) -> str:
    """Take the main text of a value: itself, that of its HTML, or of the page at its URL."""
    if not isinstance(value, str):
        raise TuningError(f'"{name}" is {_quoted(value)}: it takes a text, HTML or a URL')
    content = clean(value)
    if _URL.fullmatch(content.strip()):
        text = look_up(content.strip())
        if text is None:
            raise TuningError(
                f'"{name}": {content.strip()[:_MAX_VALUE_CHARACTERS]} is not stored, or its'
                " text is not (DEDUP_STORE_TEXT)"
            )
        return text
    if not sniff_html(content.encode()):
        return content
    try:
        return extract_page(content, max_bytes=MAX_FILE_BYTES).text
    except ExtractionError as error:
        raise TuningError(f'"{name}": no text could be extracted from the HTML ({error})') from None


def _quoted(value: Any) -> str:
    return json.dumps(value)[:_MAX_VALUE_CHARACTERS]


def reviewed_pairs(store: Store) -> list[LabelledPair]:
    """Take the pairs of stored pages that were reviewed.

    Their texts are without the templates of their sites, as they are compared. Left out are pairs
    whose texts are not kept, have no words, or do not differ: no threshold decides on them.
    """

    @cache
    def text_of(url: str) -> str:
        split = map(store.split_text, store.find(url))
        return next((part.compared for part in split if part is not None), "")

    pairs = []
    for review in store.admin.reviews()[:MAX_REVIEWS_READ]:
        pair = LabelledPair(text_of(review.a), text_of(review.b), review.same)
        a, b = canonical_words(pair.a), canonical_words(pair.b)
        if a and b and a != b:
            pairs.append(pair)
    return pairs
