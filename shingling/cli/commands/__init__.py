"""The commands that look at a store, and at files."""

from shingling.cli.commands import compare, pages, similar

COMMANDS = (*pages.COMMANDS, *similar.COMMANDS, *compare.COMMANDS)
