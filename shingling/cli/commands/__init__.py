"""The commands that look at a store, and at files."""

from shingling.console.subcommand import CommandsOfModules

COMMANDS = CommandsOfModules(__name__, "pages", "similar", "compare")
