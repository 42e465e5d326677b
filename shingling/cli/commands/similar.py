"""The command `similar`: the stored pages most like a page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scrapy.exceptions import UsageError

from shingling.cli.opening import open_store
from shingling.cli.option_types import number, whole_number
from shingling.cli.output import FOUND, NOT_FOUND, print_json, print_lines, print_table
from shingling.cli.subcommand import Subcommand
from shingling.errors import ShinglingError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from shingling.plugin.settings import DedupSettings
    from shingling.sketch import Signature
    from shingling.store import Match, Store

_DEFAULT_THRESHOLD = 0.5


def _add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("what", metavar="URL|FILE|-", help="a stored page, a file, or stdin")
    parser.add_argument(
        "--threshold", type=number(1, with_zero=True), help="minimum resemblance (default: 0.5)"
    )
    parser.add_argument(
        "--distance",
        type=whole_number(0),
        metavar="BITS",
        help="find pages whose SimHash differs in at most BITS bits, instead of by --threshold",
    )
    parser.add_argument(
        "--limit", type=whole_number(1), default=10, help="maximum number of pages (default: 10)"
    )


def _similar(options: argparse.Namespace, settings: DedupSettings) -> int:
    if options.threshold is not None and options.distance is not None:
        raise UsageError("--threshold or --distance, not both", print_help=False)
    threshold = _DEFAULT_THRESHOLD if options.threshold is None else options.threshold
    with open_store(options, settings) as store:
        bits = store.scheme.simhash.bits
        if options.distance is not None and options.distance > bits:
            raise UsageError(f"--distance takes 0 to {bits} bits", print_help=False)
        signature, text, url = _signed(options.what, store)
        if not signature.words:
            raise ShinglingError(f"{options.what}: a text without words")
        found = (
            store.similar(signature, threshold, options.limit + 1, text=text)
            if options.distance is None
            else store.within(signature, options.distance, options.limit + 1, text=text)
        )
    matches = [match for match in found if match.page.url != url][: options.limit]
    if options.json:
        print_json([{**match.page.as_dict(), "similarity": _measures(match)} for match in matches])
    elif matches:
        _print_matches(matches, by_distance=options.distance is not None)
    elif options.distance is not None:
        print_lines(f"no stored page has a SimHash within {options.distance} bits")
    else:
        print_lines(f"no stored page has a resemblance of {threshold:g} or more")
    return FOUND if matches else NOT_FOUND


def _signed(what: str, store: Store) -> tuple[Signature, str | None, str | None]:
    """Signature and text of a file or a stored page, and the URL of the latter."""
    from shingling.cli.texts import stored_page, text_of_file
    from shingling.sketch import sign

    file = text_of_file(what)
    if file is not None:
        return sign(file.text, store.scheme), file.text, None
    page = stored_page(what, store)
    return store.signature(page), store.text(page), page.url


def _measures(match: Match) -> dict[str, Any]:
    measures: dict[str, Any] = {
        "resemblance": round(match.resemblance, 4),
        "containment": round(match.containment, 4),
        "exact": match.measured,
    }
    return measures if match.distance is None else {**measures, "distance": match.distance}


def _print_matches(matches: Sequence[Match], *, by_distance: bool) -> None:
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


COMMANDS = (
    Subcommand(
        name="similar",
        summary="find the stored pages most like a page",
        example="article.html --threshold 0.3",
        add_options=_add_options,
        run=_similar,
        order=30,
    ),
)
