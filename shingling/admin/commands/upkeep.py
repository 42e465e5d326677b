"""The commands that keep a store in order: `review`, `forget`, `prune`, `vacuum` and `check`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scrapy.exceptions import UsageError

from shingling.console.opening import open_session, open_store, rules_for
from shingling.console.option_types import add_yes, days, text, whole_number
from shingling.console.output import (
    FOUND,
    NOT_FOUND,
    confirmed,
    counted,
    print_json,
    print_lines,
    print_table,
)
from shingling.console.progress import progress_bar
from shingling.console.subcommand import HelpGroup, Subcommand

if TYPE_CHECKING:
    import argparse

    from shingling.admin.check import Findings
    from shingling.plugin.settings import DedupSettings


def _add_review_options(parser: argparse.ArgumentParser) -> None:
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
        )
    if options.note is not None and options.same is None:
        raise UsageError("--note goes with --same or --different")
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


def _add_forget_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("url", metavar="URL", nargs="*", type=text)
    parser.add_argument("--site", type=text, help="all pages of a host, without www.")
    parser.add_argument(
        "--run", type=whole_number(0), metavar="ID", help="all pages that a run stored first"
    )
    add_yes(parser, "how many pages would be removed")


def _forget(options: argparse.Namespace, settings: DedupSettings) -> int:
    if not (options.url or options.site or options.run is not None):
        raise UsageError("name URLs, or --site, or --run")
    chosen = {"urls": options.url, "site": options.site, "run": options.run}
    return _remove(options, settings, chosen, "forgotten")


def _add_prune_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--older-than",
        type=days,
        required=True,
        metavar="DAYS",
        help="pages that were last seen DAYS days ago or earlier",
    )
    parser.add_argument("--site", type=text, help="only pages of a host, without www.")
    add_yes(parser, "how many pages would be removed")


def _prune(options: argparse.Namespace, settings: DedupSettings) -> int:
    chosen = {"site": options.site, "older_than": options.older_than}
    return _remove(options, settings, chosen, "pruned")


def _remove(
    options: argparse.Namespace, settings: DedupSettings, chosen: dict[str, Any], done: str
) -> int:
    from shingling.store import Store

    with open_session(options, settings) as session:
        store = Store(session)
        number = store.admin.forget(**chosen, dry_run=True)
        question = f"Remove {counted(number, 'page')} from the store?"
        if number and not options.dry_run:
            agreed = confirmed(options, question)
            rules = rules_for(session, settings)
            number = store.admin.forget(**chosen, rules=rules) if agreed else 0
    if options.json:
        print_json({done: number, **({"dry_run": True} if options.dry_run else {})})
    elif options.dry_run:
        print_lines(f"{counted(number, 'page')} would be {done}: nothing was changed (--dry-run)")
    else:
        print_lines(f"{counted(number, 'page') if number else 'nothing was'} {done}")
    return FOUND if number else NOT_FOUND


def _vacuum(options: argparse.Namespace, settings: DedupSettings) -> int:
    with open_store(options, settings) as store:
        before, after = store.admin.vacuum()
    if options.json:
        return print_json({"bytes_before": before, "bytes": after})
    print_lines(f"{before / 1e6:,.1f} MB before, {after / 1e6:,.1f} MB now")
    return FOUND


def _add_check_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--repair", action="store_true", help="keep all that can be read, and make the index again"
    )


def _check(options: argparse.Namespace, settings: DedupSettings) -> int:
    from shingling.store import Store

    with open_session(options, settings) as session, progress_bar("examined") as show:
        session.database.damage.tell = lambda _: None  # all of it is printed at the end
        found = Store(session).admin.check(
            repair=options.repair, progress=lambda phase, done: show(phase, done, None)
        )
    if options.json:
        print_json(found.as_dict())
    else:
        _print_findings(found, repaired=options.repair)
    sound = found.is_sound or (options.repair and found.is_mended)
    return FOUND if sound else NOT_FOUND


def _print_findings(found: Findings, *, repaired: bool) -> None:
    from shingling.admin.check import KINDS

    if found.is_sound:
        print_lines(f"{counted(found.pages, 'page')}: no damage")
        return
    print_table(
        ["damaged", *(["left"] if repaired else []), "what"],
        [
            (f"{found.found[kind]:,}", *([f"{found.left[kind]:,}"] if repaired else []), what)
            for kind, what in KINDS.items()
            if found.found[kind]
        ],
    )
    for kind in KINDS:
        for name in found.examples.get(kind, ()):
            print_lines(f"{kind}: {name}")
        more = found.found[kind] - len(found.examples.get(kind, ()))
        if more > 0:
            print_lines(f"{kind}: … and {more:,} more")
    if not repaired:
        print_lines("run `scrapy dedup check --repair`")
    elif found.is_mended:
        print_lines("all of it is mended")
    else:
        print_lines("not all of it can be mended: restore a backup")


COMMANDS = (
    Subcommand(
        name="review",
        group=HelpGroup.DECIDE,
        summary="say that two pages are the same or different, whatever is measured",
        example='https://example.com/a https://example.com/b --different --note "two editions"',
        add_options=_add_review_options,
        run=_review,
    ),
    Subcommand(
        name="forget",
        group=HelpGroup.MAINTAIN,
        summary="remove pages from the store",
        example="--site example.com --yes",
        add_options=_add_forget_options,
        run=_forget,
    ),
    Subcommand(
        name="prune",
        group=HelpGroup.MAINTAIN,
        summary="remove pages that have not been seen for a long time",
        example="--older-than 365 --yes",
        add_options=_add_prune_options,
        run=_prune,
    ),
    Subcommand(
        name="vacuum",
        group=HelpGroup.MAINTAIN,
        summary="free the disk space of removed pages",
        example="",
        run=_vacuum,
    ),
    Subcommand(
        name="check",
        group=HelpGroup.MAINTAIN,
        summary="find damage in the store, and mend it",
        example="--repair",
        add_options=_add_check_options,
        run=_check,
    ),
)
