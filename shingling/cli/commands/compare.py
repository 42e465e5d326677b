"""The command `compare`: every measure of two texts or pages."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from scrapy.exceptions import UsageError

from shingling.cli.opening import open_store
from shingling.cli.output import FOUND, print_json, print_lines, print_table
from shingling.cli.subcommand import Subcommand
from shingling.errors import NoStoreError, ShinglingError

if TYPE_CHECKING:
    import argparse

    from shingling.plugin.settings import DedupSettings
    from shingling.sketch import Scheme
    from shingling.store import SplitText


def _add_options(parser: argparse.ArgumentParser) -> None:
    for name in ("a", "b"):
        parser.add_argument(
            name, metavar=name.upper(), help="a URL in the store, a file, or - for stdin"
        )
    parser.add_argument("--diff", action="store_true", help="show the words that differ as well")
    parser.add_argument(
        "--explain",
        action="store_true",
        help="show what is compared: shared and differing passages, and what is left out",
    )


def _compare(options: argparse.Namespace, settings: DedupSettings) -> int:
    from shingling.cli.explain import explained, print_diff, print_explained
    from shingling.similarity import compare, word_diff

    if options.a == options.b == "-":
        raise UsageError("only one of the two can be standard input", print_help=False)
    scheme = settings.scheme
    if options.store:
        with open_store(options, settings) as store:
            scheme = store.scheme
    a, b = (_compared(what, options, settings) for what in (options.a, options.b))
    scheme = b.scheme or a.scheme or scheme
    comparison = compare(a.text, b.text, scheme)
    changes = word_diff(a.text, b.text) if options.diff else []
    if options.json:
        shown = comparison.as_dict() | {"warnings": comparison.warnings}
        if options.diff:
            shown["diff"] = [change._asdict() for change in changes]
        if options.explain:
            shown["explained"] = explained(a.split, b.split, scheme)
        return print_json(shown)
    measures = comparison.as_dict()
    standard_error = measures.pop("standard_error")
    print_table(
        ["measure", "value"],
        [
            (
                name.replace("_", " "),
                _cell(value) + (f" ± {standard_error:.3f}" if name == "estimate" else ""),
            )
            for name, value in measures.items()
        ],
    )
    for warning in comparison.warnings:
        print_lines("", warning)
    if options.diff:
        print_lines("")
        print_diff(changes)
    if options.explain:
        print_lines("")
        print_explained(a.split, b.split, scheme)
    return FOUND


class _Compared(NamedTuple):
    """One of the two texts; `scheme` is that of the store that it comes from."""

    text: str
    split: SplitText
    scheme: Scheme | None


def _compared(what: str, options: argparse.Namespace, settings: DedupSettings) -> _Compared:
    from shingling.cli.texts import stored_page, text_of_file
    from shingling.store import SplitText

    text = text_of_file(what)
    if text is not None:
        return _Compared(text, SplitText(text), None)
    try:
        store = open_store(options, settings)
    except NoStoreError:
        raise ShinglingError(f"{what}: no such file, and there is no store yet") from None
    with store:
        page = stored_page(what, store)
        text = store.text(page)
        if text is None:
            raise ShinglingError(f"{what}: its text is not stored (DEDUP_STORE_TEXT)")
        split = store.split_text(page) if options.explain and settings.templates else None
        return _Compared(text, split or SplitText(text), store.scheme)


def _cell(value: float | bool) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.3f}" if isinstance(value, float) else str(value)


COMMANDS = (
    Subcommand(
        name="compare",
        summary="measure two texts or pages in every way",
        example="https://example.com/a https://example.org/b --explain",
        add_options=_add_options,
        run=_compare,
        order=40,
    ),
)
