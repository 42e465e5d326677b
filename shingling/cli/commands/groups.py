"""The command `groups`: originals with their duplicates, or articles on one event."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.exceptions import UsageError

from shingling.cli.opening import open_store
from shingling.cli.output import FOUND, NOT_FOUND, print_json
from shingling.cli.subcommand import Subcommand, check_limit

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable

    from shingling.plugin.settings import DedupSettings
    from shingling.store import Group

_EVENT_THRESHOLD = 0.1


def _add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--limit", type=int, default=20, help="maximum number of groups (default: 20)"
    )
    parser.add_argument(
        "--by",
        choices=["duplicates", "event"],
        default="duplicates",
        help="duplicates as decided (default), or originals that are a little alike",
    )
    parser.add_argument(
        "--threshold", type=float, help="minimum resemblance, with --by event (default: 0.1)"
    )
    parser.add_argument(
        "--days", type=float, help="first seen at most DAYS days apart, with --by event"
    )


def _groups(options: argparse.Namespace, settings: DedupSettings) -> int:
    by_event = options.by == "event"
    if not by_event and (options.threshold is not None or options.days is not None):
        raise UsageError("--threshold and --days go with --by event", print_help=False)
    threshold = _EVENT_THRESHOLD if options.threshold is None else options.threshold
    if not 0 < threshold <= 1:
        raise UsageError("--threshold takes a number above 0, at most 1", print_help=False)
    if options.days is not None and options.days <= 0:
        raise UsageError("--days takes a number above 0", print_help=False)
    check_limit(options)
    with open_store(options, settings) as store:
        groups = (
            store.events(threshold, days=options.days, limit=options.limit)
            if by_event
            else list(store.groups(options.limit))
        )
    if options.json:
        print_json(
            [
                {
                    "original": group.original.as_dict(),
                    "duplicates": [page.as_dict() for page in group.duplicates],
                }
                for group in groups
            ]
        )
    elif groups:
        _print_groups(groups, by_event)
    else:
        print(f"no {'originals so alike' if by_event else 'duplicates'} are stored")
    return FOUND if groups else NOT_FOUND


def _print_groups(groups: Iterable[Group], by_event: bool) -> None:
    from shingling.text import plain_line

    for group in groups:
        print(f"{plain_line(group.original.url)}  {plain_line(group.original.title or '')}")
        for page in group.duplicates:
            title = f"  {plain_line(page.title or '')}" if by_event else ""
            estimated = "~" if by_event else ""
            measured = f"{estimated}{page.resemblance or 0:.3f} "
            print(f"  {measured}{page.status:<5} {plain_line(page.url)}{title}")


COMMANDS = (
    Subcommand(
        name="groups",
        summary="list originals with their duplicates, or articles on one event",
        example="--by event --threshold 0.1 --days 3",
        add_options=_add_options,
        run=_groups,
        order=50,
    ),
)
