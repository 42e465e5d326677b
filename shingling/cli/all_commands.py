"""The commands of `scrapy dedup`: those that rooms offer.

To run one, modules are imported until it is found; the help needs all of them. A module of commands
imports what takes long where it is used.
"""

from __future__ import annotations

import argparse
from itertools import chain
from typing import TYPE_CHECKING, Any

from shingling.cli import commands as own
from shingling.console.subcommand import HelpGroup, Subcommand
from shingling.rooms import offered

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence


def all_commands() -> dict[str, Subcommand]:
    """Every command by its name, in the order of the help."""
    order = [*HelpGroup]
    commands = sorted(_offered(), key=lambda command: order.index(command.group))
    return {command.name: command for command in commands}


def find_command(name: str) -> Subcommand | None:
    """Find a command: among those of this room, then in those of one room after the other."""
    found = chain(own.COMMANDS, _offered())
    return next((command for command in found if command.name == name), None)


def _offered() -> Iterator[Subcommand]:
    return chain.from_iterable(offered("COMMANDS", "commands"))


class CommandNames:
    """The names of commands, as argparse asks for them: one, or all to list them in an error.

    Args:
        add: adds the parser of a command; it is called when its name is met.
    """

    def __init__(self, add: Callable[[Subcommand], None]) -> None:
        self._add = add

    def __contains__(self, name: str) -> bool:
        command = find_command(name)
        if command is not None:
            self._add(command)
        return command is not None

    def __iter__(self) -> Iterator[str]:
        return iter(all_commands())


class HelpAction(argparse.Action):
    """Prints the help with all commands."""

    def __init__(
        self,
        option_strings: Sequence[str],
        dest: str,
        add: Callable[[Subcommand], None],
        **how: Any,
    ) -> None:
        super().__init__(option_strings, dest, nargs=0, **how)
        self._add = add

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        """Add all commands to the parser, print its help and exit."""
        for command in all_commands().values():
            self._add(command)
        parser.print_help()
        parser.exit()
