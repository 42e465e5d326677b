"""The commands of `scrapy dedup`: every module here declares some in `COMMANDS`.

All are imported to list them, so a module imports what takes long where it is used.
"""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from shingling.cli.subcommand import Subcommand


def all_commands() -> dict[str, Subcommand]:
    """Every command by its name, in the order of the help."""
    modules = [import_module(f"{__name__}.{found.name}") for found in iter_modules(__path__)]
    commands: list[Subcommand] = [command for module in modules for command in module.COMMANDS]
    return {
        command.name: command
        for command in sorted(commands, key=lambda command: (command.order, command.name))
    }
