"""The commands that remove pages: `forget`, `prune` and `vacuum`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scrapy.exceptions import UsageError

from shingling.console.opening import open_session, open_store, rules_for
from shingling.console.option_types import add_yes, days, text, whole_number
from shingling.console.output import FOUND, NOT_FOUND, confirmed, counted, print_json, print_lines
from shingling.console.subcommand import HelpGroup, Subcommand

if TYPE_CHECKING:
    import argparse

    from shingling.plugin.settings import DedupSettings


def _add_forget_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("url", metavar="URL", nargs="*", type=text)
    parser.add_argument("--site", type=text, help="all pages of a host, without www.")
    parser.add_argument(
        "--run", type=whole_number(0), metavar="ID", help="all pages that a run stored first"
    )
    add_yes(parser, "how many pages would be removed")


def _forget(options: argparse.Namespace, settings: DedupSettings) -> int:
    if not (options.url or options.site or options.run is not None):
        raise UsageError("name URLs, or --site, or --run", print_help=False)
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


COMMANDS = (
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
)
