"""The command `similar`: the stored pages most like a page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scrapy.exceptions import UsageError

from shingling.console.opening import open_store
from shingling.console.options import limit, number, option, whole_number
from shingling.console.output import (
    FOUND,
    NOT_FOUND,
    print_found,
    print_json,
    print_lines,
    print_more,
    print_table,
)
from shingling.console.subcommand import HelpGroup, Subcommand
from shingling.errors import ShinglingError
from shingling.rules import SET_MEASURES, UNIQUE_FROM, UNIQUENESS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shingling.console.options import CommandOptions
    from shingling.store.model import Match, StoredPage
    from shingling.store.store import Store


def _similar(options: CommandOptions) -> int:
    measure, threshold, distance = options.measure, options.threshold, options.distance
    if distance is not None and (threshold is not None or measure is not None):
        raise UsageError("--distance or --threshold and --measure, not both")
    is_uniqueness = measure == UNIQUENESS
    if threshold is None:
        threshold = UNIQUE_FROM if is_uniqueness else 0.5
    with open_store(options) as store:
        bits = store.scheme.simhash.bits
        if distance is not None and distance > bits:
            raise UsageError(f"--distance takes 0 to {bits} bits")
        text, page = _text(options.what, store)
        if measure is None:
            matches = _found_by_signature(text, page, store, threshold, options)
        elif text is None:
            raise ShinglingError(f"{options.what}: its text is not stored (DEDUP_STORE_TEXT)")
        else:
            least = 0.0 if is_uniqueness else threshold
            matches, uniqueness = store.measure(
                text, measure, least, options.limit + 1, without=page
            )
    if is_uniqueness:
        return _print_uniqueness(matches, uniqueness, threshold, options)
    if distance is None:
        nothing = f"no stored page has a {measure or 'resemblance'} of {threshold:g} or more"
    else:
        nothing = f"no stored page has a SimHash within {distance} bits"
    return print_found(
        matches,
        options,
        lambda shown: _print_matches(shown, measure if distance is None else "distance"),
        nothing,
        lambda match: _as_json(match, measure),
    )


def _found_by_signature(
    text: str | None,
    page: StoredPage | None,
    store: Store,
    threshold: float,
    options: CommandOptions,
) -> list[Match]:
    from shingling.sketch import sign

    signature = sign(text or "", store.scheme) if page is None else store.signature(page)
    if not signature.words:
        raise ShinglingError(f"{options.what}: a text without words")
    number = options.limit + 2  # the page itself may be among them
    if options.distance is None:
        matches = store.similar(signature, threshold, number, text=text)
    else:
        matches = store.within(signature, options.distance, number, text=text)
    return [match for match in matches if page is None or match.page.url != page.url]


def _print_uniqueness(
    matches: Sequence[Match], uniqueness: float, threshold: float, options: CommandOptions
) -> int:
    """Print how unique a page is; the exit status is FOUND for one that is not."""
    is_unique, shown = uniqueness >= threshold, matches[: options.limit]
    if options.json:
        shared = [_as_json(match, "shared") for match in shown]
        print_json({UNIQUENESS: uniqueness, "unique": is_unique, "shared_with": shared})
    else:
        verdict = "unique" if is_unique else "not unique"
        print_lines(f"uniqueness {uniqueness:.3f}: {verdict} (from {threshold:g})")
        if shown:
            _print_matches(shown, "shared")
    print_more(matches, options)
    return NOT_FOUND if is_unique else FOUND


def _text(what: str, store: Store) -> tuple[str | None, StoredPage | None]:
    """Text of a file or a stored page, and the latter; None if it is not stored."""
    from shingling.cli.texts import stored_page, text_of_file

    file = text_of_file(what)
    if file is not None:
        return file.text, None
    page = stored_page(what, store)
    return store.text(page), page


def _as_json(match: Match, measure: str | None) -> dict[str, Any]:
    """Page as JSON, with how alike it is, by another measure as well."""
    from shingling.store.decided import rounded_measures

    similarity: dict[str, Any] = {**rounded_measures(match), "exact": match.measured}
    if match.distance is not None:
        similarity["distance"] = match.distance
    if measure is not None:
        similarity[measure] = match.value
    return {**match.page.as_dict(), "similarity": similarity}


def _print_matches(matches: Sequence[Match], first: str | None) -> None:
    """Print matches; the first column is a measure, or the distance."""
    rows = [
        (
            str(match.distance) if match.value is None else f"{match.value:.3f}",
            f"{'' if match.measured else '~'}{match.resemblance:.3f}",
            f"{match.containment:.3f}",
            match.page.status,
            match.page.url,
            match.page.title or "",
        )
        for match in matches
    ]
    columns = (first or "", "resemblance", "containment", "status", "URL", "title")
    start = 0 if first else 1
    print_table(columns[start:], [row[start:] for row in rows])


COMMANDS = (
    Subcommand(
        name="similar",
        group=HelpGroup.LOOK,
        summary="find the stored pages most like a page",
        example="article.html --threshold 0.3",
        options=(
            option("what", "a stored page, a file, or stdin", metavar="URL|FILE|-"),
            option(
                "--threshold",
                "minimum resemblance (default: 0.5)",
                type=number(1, with_zero=True),
            ),
            option(
                "--measure",
                "of which --threshold is, measured on every stored text; uniqueness is the"
                " share of the page's shingles that no stored text has (unique: from 0.96)",
                choices=(*SET_MEASURES, UNIQUENESS),
            ),
            option(
                "--distance",
                "find pages whose SimHash differs in at most BITS bits, instead of by --threshold",
                type=whole_number(0),
                metavar="BITS",
            ),
            limit("pages"),
        ),
        run=_similar,
    ),
)
