"""Labelled pairs: two texts each, and whether they are the same page."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from shingling.errors import ExtractionError, TuningError
from shingling.extraction.html import extract_page, sniff_html
from shingling.rules.defaults import MAX_FILE_BYTES
from shingling.text import canonical_words, clean, plain_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from shingling.store import Store

MIN_PAIRS = 10
MIN_PAIRS_PER_LABEL = 2
MAX_REVIEWS_READ = 1000
"""Reviews that are taken, the newest ones."""

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
    """Pairs, and where their labels are from.

    Args:
        pairs: those with a label.
        unlabelled: number of pairs without one.
        labels: `file`, `reviews` or `titles`.
    """

    pairs: tuple[LabelledPair, ...]
    unlabelled: int = 0
    labels: str = "file"


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


def reviewed_pairs(store: Store) -> list[LabelledPair]:
    """Take the pairs of stored pages that a person has reviewed.

    Their texts are without the templates of their sites, as they are compared. Left out are pairs
    whose texts are not kept, have no words, or do not differ: no threshold decides on them.
    """
    texts: dict[str, str] = {}
    pairs = []
    for review in store.admin.reviews()[:MAX_REVIEWS_READ]:
        for url in (review.a, review.b):
            if url not in texts:
                split = map(store.split_text, store.find(url))
                texts[url] = next((one.compared for one in split if one is not None), "")
        a, b = (canonical_words(texts[url]) for url in (review.a, review.b))
        if a and b and a != b:
            pairs.append(LabelledPair(texts[review.a], texts[review.b], review.same))
    return pairs


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
