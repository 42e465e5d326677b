"""The commands of `scrapy dedup`: those that rooms offer.

All are imported to list them, so a module of commands imports what takes long where it is used.
"""

from __future__ import annotations

from shingling.console.subcommand import HelpGroup, Subcommand
from shingling.rooms import offered


def all_commands() -> dict[str, Subcommand]:
    """Every command by its name, in the order of the help."""
    commands: list[Subcommand] = [one for own in offered("COMMANDS", "commands") for one in own]
    order = [*HelpGroup]
    commands.sort(key=lambda command: order.index(command.group))
    return {command.name: command for command in commands}
