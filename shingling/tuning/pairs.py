"""Labelled pairs: two texts each, and whether they are the same page."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from shingling.defaults import MAX_FILE_BYTES
from shingling.errors import ExtractionError, TuningError
from shingling.extraction.html import extract_page, sniff_html
from shingling.text import clean, plain_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

MIN_PAIRS = 10
MIN_PAIRS_PER_LABEL = 2
_URL = re.compile(r"https?://\S+", re.IGNORECASE)
_MAX_VALUE_CHARACTERS = 80  # in a message


@dataclass(frozen=True)
class LabelledPair:
    """A pair of texts with its label.

    Args:
        a: main text of a page.
        b: main text of the other page.
        same: whether they count as the same page.
    """

    a: str
    b: str
    same: bool


class LabelledPairs(NamedTuple):
    """The pairs of a file.

    Args:
        pairs: those with a label.
        unlabelled: number of pairs without one.
    """

    pairs: tuple[LabelledPair, ...]
    unlabelled: int = 0


def read_pairs(lines: Iterable[str], look_up: Callable[[str], str | None]) -> LabelledPairs:
    """Read labelled pairs from JSON lines such as `{"a": ..., "b": ..., "same": true}`.

    Args:
        lines: of the file; blank lines are skipped. `a` and `b` are each a text, the HTML of a
            page, or a URL; `same` is true, false, or null for a pair without a label.
        look_up: gives the main text of a URL, or None if it is not known.

    Raises:
        TuningError: a line cannot be used (the message has its number), or there are too few pairs.
    """
    pairs = []
    unlabelled = 0
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            fields = _fields(line)
            if fields["same"] is None:
                unlabelled += 1
                continue
            a, b = (_text(name, fields[name], look_up) for name in ("a", "b"))
        except TuningError as error:
            raise TuningError(f"line {number}: {error}") from None
        pairs.append(LabelledPair(a, b, fields["same"]))
    require_pairs(pairs)
    return LabelledPairs(tuple(pairs), unlabelled)


def require_pairs(pairs: Sequence[LabelledPair]) -> None:
    """Check that there are enough pairs.

    Raises:
        TuningError: fewer than 10 pairs, or fewer than 2 of either label.
    """
    same = sum(pair.same for pair in pairs)
    different = len(pairs) - same
    if len(pairs) < MIN_PAIRS or min(same, different) < MIN_PAIRS_PER_LABEL:
        raise TuningError(
            f"{len(pairs)} labelled pairs, {same} the same and {different} different, are too"
            f" few: at least {MIN_PAIRS}, and {MIN_PAIRS_PER_LABEL} of either label"
        )


def _fields(line: str) -> dict[str, Any]:
    try:
        fields = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise TuningError(f"not JSON ({error})") from None
    if not isinstance(fields, dict):
        raise TuningError('not a JSON object with the fields "a", "b" and "same"')
    for name in ("a", "b", "same"):
        if name not in fields:
            raise TuningError(f'the field "{name}" is missing')
    if fields["same"] is not None and not isinstance(fields["same"], bool):
        raise TuningError(f'"same" is {_quoted(fields["same"])}: it takes true, false or null')
    return fields


def _text(name: str, value: Any, look_up: Callable[[str], str | None]) -> str:
    """Take the main text of a value: itself, that of its HTML, or of the page at its URL."""
    if not isinstance(value, str):
        raise TuningError(f'"{name}" is {_quoted(value)}: it takes a text, HTML or a URL')
    content = clean(value)
    if _URL.fullmatch(content.strip()):
        text = look_up(content.strip())
        if text is None:
            raise TuningError(
                f'"{name}": {plain_line(content)[:_MAX_VALUE_CHARACTERS]} is not stored, or its'
                " text is not (DEDUP_STORE_TEXT)"
            )
        return text
    if not sniff_html(content.encode()):
        return content
    try:
        return extract_page(content, max_bytes=MAX_FILE_BYTES).text
    except ExtractionError as error:
        raise TuningError(f'"{name}": no text could be had from the HTML ({error})') from None


def _quoted(value: Any) -> str:
    return plain_line(json.dumps(value))[:_MAX_VALUE_CHARACTERS]
