"""The command `groups`: originals with their duplicates, or articles on one event."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scrapy.exceptions import UsageError

from shingling.console.opening import open_store
from shingling.console.option_types import add_limit, days, share
from shingling.console.output import FOUND, NOT_FOUND, print_json, print_lines, print_more
from shingling.console.subcommand import HelpGroup, Subcommand
from shingling.rules.measures import SET_MEASURES

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable

    from shingling.plugin.settings import DedupSettings
    from shingling.store import Group, StoredPage

_EVENT_THRESHOLD = 0.1


def _add_options(parser: argparse.ArgumentParser) -> None:
    add_limit(parser, "groups")
    parser.add_argument(
        "--by",
        choices=["duplicates", "event"],
        default="duplicates",
        help="duplicates as decided (default), or originals that are a little alike",
    )
    parser.add_argument(
        "--threshold", type=share, help="minimum resemblance, with --by event (default: 0.1)"
    )
    parser.add_argument(
        "--measure",
        choices=SET_MEASURES,
        help="measure the stored texts, with --by event, instead of estimating resemblance",
    )
    parser.add_argument(
        "--days", type=days, help="first seen at most DAYS days apart, with --by event"
    )


def _groups(options: argparse.Namespace, settings: DedupSettings) -> int:
    by_event = options.by == "event"
    for name in ("threshold", "days", "measure"):
        if not by_event and getattr(options, name) is not None:
            raise UsageError(f"--{name} goes with --by event", print_help=False)
    threshold = _EVENT_THRESHOLD if options.threshold is None else options.threshold
    with open_store(options, settings) as store:
        found = (
            store.events(
                threshold, days=options.days, limit=options.limit + 1, measure=options.measure
            )
            if by_event
            else list(store.groups(options.limit + 1))
        )
    groups = found[: options.limit]
    if options.json:
        print_json(
            [
                {
                    "original": group.original.as_dict(),
                    "duplicates": [_shown(page, options.measure) for page in group.duplicates],
                }
                for group in groups
            ]
        )
    elif groups:
        _print_groups(groups, by_event, is_estimated=by_event and options.measure is None)
    else:
        print_lines(f"no {'originals so alike' if by_event else 'duplicates'} are stored")
    print_more(found, options)
    return FOUND if groups else NOT_FOUND


def _shown(page: StoredPage, measure: str | None) -> dict[str, Any]:
    """Page as JSON, with the measure by which it joined its group."""
    shown = page.as_dict()
    if measure is None or page.original is not None:
        return shown
    return shown | {"resemblance": None, measure: page.resemblance}


def _print_groups(groups: Iterable[Group], by_event: bool, *, is_estimated: bool) -> None:
    for group in groups:
        print_lines(f"{group.original.url}  {group.original.title or ''}")
        for page in group.duplicates:
            title = f"  {page.title or ''}" if by_event else ""
            estimated = "~" if is_estimated and page.original is None else ""
            measured = f"{estimated}{page.resemblance or 0:.3f} "
            equal = f"  (the text of {page.compared_with})" if page.compared_with else ""
            print_lines(f"  {measured}{page.status:<5} {page.url}{title}{equal}")


COMMANDS = (
    Subcommand(
        name="groups",
        group=HelpGroup.LOOK,
        summary="list originals with their duplicates, or articles on one event",
        example="--by event --threshold 0.1 --days 3",
        add_options=_add_options,
        run=_groups,
    ),
)
