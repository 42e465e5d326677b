"""The commands of the administration."""

from shingling.console.subcommand import CommandsOfModules

COMMANDS = CommandsOfModules(__name__, "upkeep", "rebuild", "transfer")
