"""The command `review`: a person says whether two pages are the same."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.exceptions import UsageError

from shingling.console.opening import open_session, open_store, rules_for
from shingling.console.option_types import text
from shingling.console.output import FOUND, NOT_FOUND, print_json, print_lines, print_table
from shingling.console.subcommand import HelpGroup, Subcommand

if TYPE_CHECKING:
    import argparse

    from shingling.plugin.settings import DedupSettings


def _add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "url",
        metavar="URL",
        nargs="*",
        type=text,
        help="two to review them; one or none to list reviews",
    )
    answer = parser.add_mutually_exclusive_group()
    answer.add_argument(
        "--same",
        action="store_true",
        default=None,
        help="they are duplicates, whatever is measured",
    )
    answer.add_argument(
        "--different",
        dest="same",
        action="store_false",
        default=None,
        help="they are not duplicates",
    )
    answer.add_argument("--undo", action="store_true", help="remove the review of the two")
    parser.add_argument("--note", metavar="TEXT", type=text, help="reason, kept with the review")


def _review(options: argparse.Namespace, settings: DedupSettings) -> int:
    reviewing = options.same is not None or options.undo
    if len(options.url) > 2 or (len(options.url) == 2) != reviewing:
        raise UsageError(
            "name two URLs with --same, --different or --undo; or one or none to list reviews",
            print_help=False,
        )
    if options.note is not None and options.same is None:
        raise UsageError("--note goes with --same or --different", print_help=False)
    if not reviewing:
        return _list_reviews(options, settings)
    from shingling.store import Store

    a, b = options.url
    with open_session(options, settings) as session:
        store = Store(session)
        stored = [bool(store.find(url)) for url in (a, b)]
        reviewed_before = store.admin.review(
            a, b, same=options.same, note=options.note, rules=rules_for(session, settings)
        )
        pages = [page for url in (a, b) for page in store.find(url)]
    if options.json:
        print_json([page.as_dict() for page in pages])
    else:
        for url, there in zip((a, b), stored, strict=True):
            if not there:
                print_lines(f"{url} is not stored yet; the review applies once it is")
        for page in pages:
            standing = page.status if page.original is None else f"duplicate of {page.original}"
            print_lines(f"{page.url}: {standing}")
    return FOUND if reviewed_before or not options.undo else NOT_FOUND


def _list_reviews(options: argparse.Namespace, settings: DedupSettings) -> int:
    with open_store(options, settings) as store:
        reviews = store.admin.reviews(options.url[0] if options.url else None)
    if options.json:
        print_json([review.as_dict() for review in reviews])
    elif reviews:
        print_table(
            ["a", "b", "review", "when", "note"],
            [
                (
                    review.a,
                    review.b,
                    "same" if review.same else "different",
                    f"{review.created:%Y-%m-%d %H:%M}",
                    review.note or "",
                )
                for review in reviews
            ],
        )
    else:
        print_lines("no reviews are stored")
    return FOUND if reviews else NOT_FOUND


COMMANDS = (
    Subcommand(
        name="review",
        group=HelpGroup.DECIDE,
        summary="say that two pages are the same or different, whatever is measured",
        example='https://example.com/a https://example.com/b --different --note "two editions"',
        add_options=_add_options,
        run=_review,
    ),
)
