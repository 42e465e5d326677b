"""The command `similar`: the stored pages most like a page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scrapy.exceptions import UsageError

from shingling.console.opening import open_store
from shingling.console.option_types import add_limit, number, whole_number
from shingling.console.output import (
    FOUND,
    NOT_FOUND,
    print_json,
    print_lines,
    print_more,
    print_table,
)
from shingling.console.subcommand import HelpGroup, Subcommand
from shingling.errors import ShinglingError
from shingling.rules.measures import SET_MEASURES, UNIQUE_FROM, UNIQUENESS

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from shingling.plugin.settings import DedupSettings
    from shingling.store import Match, Store, StoredPage

_DEFAULT_THRESHOLD = 0.5


def _add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("what", metavar="URL|FILE|-", help="a stored page, a file, or stdin")
    parser.add_argument(
        "--threshold", type=number(1, with_zero=True), help="minimum resemblance (default: 0.5)"
    )
    parser.add_argument(
        "--measure",
        choices=(*SET_MEASURES, UNIQUENESS),
        help="of which --threshold is, measured on every stored text; uniqueness is the share of"
        " the page's shingles that no stored text has (unique: from 0.96)",
    )
    parser.add_argument(
        "--distance",
        type=whole_number(0),
        metavar="BITS",
        help="find pages whose SimHash differs in at most BITS bits, instead of by --threshold",
    )
    add_limit(parser, "pages")


def _similar(options: argparse.Namespace, settings: DedupSettings) -> int:
    if options.threshold is not None and options.distance is not None:
        raise UsageError("--threshold or --distance, not both", print_help=False)
    if options.measure is not None:
        if options.distance is not None:
            raise UsageError("--measure or --distance, not both", print_help=False)
        return _similar_by(options, settings)
    from shingling.sketch import sign

    threshold = _DEFAULT_THRESHOLD if options.threshold is None else options.threshold
    with open_store(options, settings) as store:
        bits = store.scheme.simhash.bits
        if options.distance is not None and options.distance > bits:
            raise UsageError(f"--distance takes 0 to {bits} bits", print_help=False)
        text, page = _text(options.what, store)
        signature = sign(text or "", store.scheme) if page is None else store.signature(page)
        if not signature.words:
            raise ShinglingError(f"{options.what}: a text without words")
        found = (
            store.similar(signature, threshold, options.limit + 2, text=text)
            if options.distance is None
            else store.within(signature, options.distance, options.limit + 2, text=text)
        )
    others = [match for match in found if page is None or match.page.url != page.url]
    matches = others[: options.limit]
    if options.json:
        print_json([{**match.page.as_dict(), "similarity": _measures(match)} for match in matches])
    elif matches:
        _print_matches(matches, None if options.distance is None else "distance")
    elif options.distance is not None:
        print_lines(f"no stored page has a SimHash within {options.distance} bits")
    else:
        print_lines(f"no stored page has a resemblance of {threshold:g} or more")
    print_more(others, options)
    return FOUND if matches else NOT_FOUND


def _similar_by(options: argparse.Namespace, settings: DedupSettings) -> int:
    """Measure every stored text; exit status FOUND for a page that is not unique."""
    measure, is_uniqueness = options.measure, options.measure == UNIQUENESS
    usual = UNIQUE_FROM if is_uniqueness else _DEFAULT_THRESHOLD
    threshold = usual if options.threshold is None else options.threshold
    with open_store(options, settings) as store:
        text, page = _text(options.what, store)
        if text is None:
            raise ShinglingError(f"{options.what}: its text is not stored (DEDUP_STORE_TEXT)")
        found, uniqueness = store.measure(
            text, measure, 0.0 if is_uniqueness else threshold, options.limit + 1, without=page
        )
    matches = found[: options.limit]
    measured = "shared" if is_uniqueness else measure
    if options.json:
        listed = [
            {**match.page.as_dict(), "similarity": {**_measures(match), measured: match.value}}
            for match in matches
        ]
        whole = {UNIQUENESS: uniqueness, "unique": uniqueness >= threshold, "shared_with": listed}
        print_json(whole if is_uniqueness else listed)
    else:
        if is_uniqueness:
            verdict = "unique" if uniqueness >= threshold else "not unique"
            print_lines(f"uniqueness {uniqueness:.3f}: {verdict} (from {threshold:g})")
        if matches:
            _print_matches(matches, measured)
        elif not is_uniqueness:
            print_lines(f"no stored page has a {measure} of {threshold:g} or more")
    print_more(found, options)
    is_found = uniqueness < threshold if is_uniqueness else bool(matches)
    return FOUND if is_found else NOT_FOUND


def _text(what: str, store: Store) -> tuple[str | None, StoredPage | None]:
    """Text of a file or a stored page, and the latter; None where it is not stored."""
    from shingling.cli.texts import stored_page, text_of_file

    file = text_of_file(what)
    if file is not None:
        return file.text, None
    page = stored_page(what, store)
    return store.text(page), page


def _measures(match: Match) -> dict[str, Any]:
    measures: dict[str, Any] = {
        "resemblance": round(match.resemblance, 4),
        "containment": round(match.containment, 4),
        "exact": match.measured,
    }
    return measures if match.distance is None else {**measures, "distance": match.distance}


def _first_cell(match: Match) -> str:
    return str(match.distance) if match.value is None else f"{match.value:.3f}"


def _print_matches(matches: Sequence[Match], first: str | None) -> None:
    print_table(
        [
            *([first] if first else []),
            *["resemblance", "containment", "status", "URL", "title"],
        ],
        [
            (
                *([_first_cell(match)] if first else []),
                f"{'' if match.measured else '~'}{match.resemblance:.3f}",
                f"{match.containment:.3f}",
                match.page.status,
                match.page.url,
                match.page.title or "",
            )
            for match in matches
        ],
    )


COMMANDS = (
    Subcommand(
        name="similar",
        group=HelpGroup.LOOK,
        summary="find the stored pages most like a page",
        example="article.html --threshold 0.3",
        add_options=_add_options,
        run=_similar,
    ),
)
