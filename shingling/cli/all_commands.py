"""The commands of `scrapy dedup`: those of this room and of the others.

To run one, modules are imported until it is found; the help needs all of them. A module of commands
imports what takes long where it is used.
"""

from __future__ import annotations

import argparse
from itertools import chain
from typing import TYPE_CHECKING, Any

from shingling.cli import commands as own
from shingling.console.options import alike
from shingling.console.subcommand import HelpGroup, Subcommand
from shingling.errors import message_line
from shingling.rooms import hooks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence


def all_commands() -> dict[str, Subcommand]:
    """Every command by its name, in the order of the help."""
    order = [*HelpGroup]
    commands = sorted(_commands_of_rooms(), key=lambda command: order.index(command.group))
    return {command.name: command for command in commands}


def find_command(name: str) -> Subcommand | None:
    """Find a command: among those of this room, then in those of one room after the other."""
    commands = chain(own.COMMANDS, _commands_of_rooms())
    return next((command for command in commands if command.name == name), None)


def _commands_of_rooms() -> Iterator[Subcommand]:
    return chain.from_iterable(hooks("COMMANDS", "commands"))


class CommandAction(argparse._SubParsersAction):  # type: ignore[type-arg]  # generic in stubs only
    """Finds the command that is named, and has its parser read what follows."""

    add: Callable[[Subcommand], None]
    """Adds the parser of a command."""

    def __init__(self, **how: Any) -> None:
        super().__init__(**how)
        self.choices = None  # type: ignore[assignment]  # a wrong name gets its answer here

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,
        option_string: str | None = None,
    ) -> None:
        """Have the parser of a command read its arguments, or say what is wrong with its name."""
        name, *following = values
        command = find_command(name)
        if command is not None:
            self.add(command)
            super().__call__(parser, namespace, values, option_string)
            return
        names = all_commands()
        behind = next((word for word in following if word in names), None)
        if behind is not None:  # the name is the value of an option
            self.add(names[behind])
            self._name_parser_map[behind].error("options stand behind the command")
        likely = " or ".join(alike(name, names))
        shown = f"did you mean {likely}?" if likely else f"the commands are {', '.join(names)}"
        parser.error(message_line(f"there is no command {name!r}: {shown}"))

    def refuse_rest(self, name: str, arguments: Sequence[str]) -> None:
        """Print the usage of a command and what it does not take, and exit."""
        accepted = self._name_parser_map[name]._option_string_actions
        options = [
            argument.partition("=")[0] for argument in arguments if argument.startswith("--")
        ]
        likely = [likeliest for argument in options for likeliest in alike(argument, accepted)[:1]]
        cut = (argument.partition("://") for argument in arguments)  # a URL may hold a password
        problem = " ".join(f"{scheme}{mark}..." if mark else scheme for scheme, mark, _ in cut)
        if any(argument in accepted for argument in options):
            problem += " (options stand behind the command)"
        elif likely:
            problem += f" (did you mean {' '.join(likely)}?)"
        self._name_parser_map[name].error(message_line(f"unrecognized arguments: {problem}"))


class HelpAction(argparse._HelpAction):
    """Prints the help with all commands."""

    add: Callable[[Subcommand], None]
    """Adds the parser of a command."""

    def __call__(self, parser: argparse.ArgumentParser, *arguments: Any) -> None:
        """Add all commands to the parser, print its help and exit."""
        for command in all_commands().values():
            self.add(command)
        super().__call__(parser, *arguments)
