"""The commands that measure: `similar` and `compare`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrapy.exceptions import UsageError

from shingling.cli.explain import explained, print_diff, print_explained
from shingling.cli.opening import open_store
from shingling.cli.output import FOUND, NOT_FOUND, print_json, print_table
from shingling.defaults import MAX_FILE_BYTES
from shingling.errors import ExtractionError, NoStoreError, ShinglingError
from shingling.extraction.html import decode, extract_page, sniff_html
from shingling.similarity import compare, word_diff
from shingling.sketch import Signature, sign
from shingling.store import Parted
from shingling.text import plain_line

if TYPE_CHECKING:
    import argparse

    from shingling.plugin.settings import DedupSettings
    from shingling.store import Match, Store, StoredPage

_SIMILAR = 0.5


def similar(options: argparse.Namespace, settings: DedupSettings) -> int:
    """Find the stored pages most like a page."""
    if options.threshold is not None and options.distance is not None:
        raise UsageError("--threshold or --distance, not both", print_help=False)
    threshold = _SIMILAR if options.threshold is None else options.threshold
    if not 0 <= threshold <= 1:
        raise UsageError("--threshold takes a number from 0 to 1", print_help=False)
    if options.limit < 1:
        raise UsageError("--limit takes a whole number above 0", print_help=False)
    with open_store(options, settings) as store:
        bits = store.scheme.simhash.bits
        if options.distance is not None and not 0 <= options.distance <= bits:
            raise UsageError(f"--distance takes 0 to {bits} bits", print_help=False)
        signature, text, url = _signed(options.what, store)
        if not signature.words:
            raise ShinglingError(f"{plain_line(options.what)}: a text without words")
        found = (
            store.similar(signature, threshold, options.limit + 1, text=text)
            if options.distance is None
            else store.within(signature, options.distance, options.limit + 1, text=text)
        )
    matches = [match for match in found if match.page.url != url][: options.limit]
    if options.json:
        print_json([{**match.page.as_dict(), "similarity": _measures(match)} for match in matches])
    elif matches:
        by_distance = options.distance is not None
        print_table(
            [
                *(["distance"] if by_distance else []),
                *["resemblance", "containment", "status", "URL", "title"],
            ],
            [
                (
                    *([str(match.distance)] if by_distance else []),
                    f"{'' if match.measured else '~'}{match.resemblance:.3f}",
                    f"{match.containment:.3f}",
                    match.page.status,
                    match.page.url,
                    match.page.title or "",
                )
                for match in matches
            ],
        )
    elif options.distance is not None:
        print(f"no stored page has a SimHash within {options.distance} bits")
    else:
        print(f"no stored page has a resemblance of {threshold:g} or more")
    return FOUND if matches else NOT_FOUND


def _measures(match: Match) -> dict[str, Any]:
    shown: dict[str, Any] = {
        "resemblance": round(match.resemblance, 4),
        "containment": round(match.containment, 4),
        "exact": match.measured,
    }
    return shown if match.distance is None else {**shown, "distance": match.distance}


def compare_texts(options: argparse.Namespace, settings: DedupSettings) -> int:
    """Measure two texts or pages in every way."""
    if options.a == options.b == "-":
        raise UsageError("only one of the two can be standard input", print_help=False)
    texts: list[str] = []
    parted: list[Parted] = []  # of A and B
    scheme = None
    if options.store:
        with open_store(options, settings) as store:
            scheme = store.scheme
    for what in (options.a, options.b):
        text = _text_of_file(what)
        parts = None
        if text is None:
            try:
                store = open_store(options, settings)
            except NoStoreError:
                raise ShinglingError(
                    f"{plain_line(what)}: no such file, and there is no store yet"
                ) from None
            with store:
                page = _stored(what, store)
                text, scheme = store.text(page), store.scheme
                if options.explain and settings.templates:
                    parts = store.parted(page)
            if text is None:
                raise ShinglingError(
                    f"{plain_line(what)}: its text is not stored (DEDUP_STORE_TEXT)"
                )
        texts.append(text)
        parted.append(parts or Parted(text, ()))
    scheme = scheme or settings.scheme
    comparison = compare(texts[0], texts[1], scheme)
    measures = comparison.as_dict()
    changes = word_diff(texts[0], texts[1]) if options.diff else []
    if options.json:
        shown = measures | {"warnings": comparison.warnings}
        if options.diff:
            shown["diff"] = [change._asdict() for change in changes]
        if options.explain:
            shown["explained"] = explained(parted[0], parted[1], scheme)
        return print_json(shown)
    standard_error = measures.pop("standard_error")
    print_table(
        ["measure", "value"],
        [
            (
                name.replace("_", " "),
                _value(value) + (f" ± {standard_error:.3f}" if name == "estimate" else ""),
            )
            for name, value in measures.items()
        ],
    )
    for warning in comparison.warnings:
        print(f"\n{warning}")
    if options.diff:
        print()
        print_diff(changes)
    if options.explain:
        print()
        print_explained(parted[0], parted[1], scheme)
    return FOUND


def _value(value: float | bool) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.3f}" if isinstance(value, float) else str(value)


def _signed(what: str, store: Store) -> tuple[Signature, str | None, str | None]:
    """Return the signature and text of a file or stored page, and the latter's URL."""
    text = _text_of_file(what)
    if text is not None:
        return sign(text, store.scheme), text, None
    page = _stored(what, store)
    return store.signature(page), store.text(page), page.url


def _stored(url: str, store: Store) -> StoredPage:
    found = store.find(url)
    if not found:
        raise ShinglingError(f"{plain_line(url)} is neither a file nor stored")
    return found[0]


def _text_of_file(what: str) -> str | None:
    """Return the text of a file or of standard input (`-`); None where there is no such file.

    Of HTML, it is the main text.
    """
    if what == "-":
        raw = sys.stdin.buffer.read()
    elif Path(what).exists() and not Path(what).is_dir():
        raw = Path(what).read_bytes()
    else:
        return None
    if not sniff_html(raw):
        return decode(raw)
    try:
        return extract_page(raw, max_bytes=MAX_FILE_BYTES).text
    except ExtractionError as error:
        raise ShinglingError(f"{plain_line(what)}: {error}") from error
