"""The commands of `scrapy dedup`: those of this room and of the others.

All are imported to run one: a module of commands imports what takes long where it is used.
"""

from __future__ import annotations

import argparse
from itertools import chain
from typing import TYPE_CHECKING, Any

from shingling.console.options import alike
from shingling.console.subcommand import HelpGroup
from shingling.errors import message_line
from shingling.rooms import hooks

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shingling.console.subcommand import Subcommand


def all_commands() -> dict[str, Subcommand]:
    """Every command by its name, in the order of the help."""
    order = [*HelpGroup]
    commands = chain.from_iterable(hooks("COMMANDS", "commands"))
    ordered = sorted(commands, key=lambda command: order.index(command.group))
    return {command.name: command for command in ordered}


class CommandAction(argparse._SubParsersAction):  # type: ignore[type-arg]  # generic in stubs only
    """Says what may be meant by a name that no command has, or by an option that it has not."""

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
        names = self._name_parser_map
        if name in names:
            super().__call__(parser, namespace, values, option_string)
            return
        behind = next((word for word in following if word in names), None)
        if behind is not None:  # the name is the value of an option
            names[behind].error("options stand behind the command")
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
