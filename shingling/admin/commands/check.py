"""The command `check`: find damage in a store, and mend it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shingling.console.opening import open_session
from shingling.console.output import FOUND, NOT_FOUND, counted, print_json, print_lines, print_table
from shingling.console.progress import progress_bar
from shingling.console.subcommand import HelpGroup, Subcommand

if TYPE_CHECKING:
    import argparse

    from shingling.admin.check import Findings
    from shingling.plugin.settings import DedupSettings


def _add_options(parser: argparse.ArgumentParser) -> None:
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
        name="check",
        group=HelpGroup.MAINTAIN,
        summary="find damage in the store, and mend it",
        example="--repair",
        add_options=_add_options,
        run=_check,
    ),
)
