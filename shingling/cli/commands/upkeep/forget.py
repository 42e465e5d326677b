"""The commands that remove pages: `forget` and `prune`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from scrapy.exceptions import UsageError

from shingling.cli.opening import open_session, rules_for
from shingling.cli.option_types import days, text, whole_number
from shingling.cli.output import FOUND, NOT_FOUND, counted, print_json, print_lines
from shingling.cli.subcommand import Subcommand

if TYPE_CHECKING:
    import argparse

    from shingling.plugin.settings import DedupSettings


def _add_forget_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("url", metavar="URL", nargs="*", type=text)
    parser.add_argument("--site", type=text, help="all pages of a host, without www.")
    parser.add_argument(
        "--run", type=whole_number(0), metavar="ID", help="all pages that a run stored first"
    )
    parser.add_argument("--yes", action="store_true", help="do not ask for confirmation")


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
    parser.add_argument("--yes", action="store_true", help="do not ask for confirmation")


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
        if number and not options.yes and not _confirmed(question):
            if options.json:
                print_json({done: 0})
            else:
                print_lines(f"nothing was {done}")
            return NOT_FOUND
        if number:
            number = store.admin.forget(**chosen, rules=rules_for(session, settings))
    if options.json:
        print_json({done: number})
    else:
        print_lines(f"{counted(number, 'page')} {done}")
    return FOUND if number else NOT_FOUND


def _confirmed(question: str) -> bool:
    print_lines(f"{question} [y/N] ", end="", error=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")


COMMANDS = (
    Subcommand(
        name="forget",
        summary="remove pages from the store",
        example="--site example.com --yes",
        add_options=_add_forget_options,
        run=_forget,
        order=70,
    ),
    Subcommand(
        name="prune",
        summary="remove pages that have not been seen for a long time",
        example="--older-than 365 --yes",
        add_options=_add_prune_options,
        run=_prune,
        order=80,
    ),
)
