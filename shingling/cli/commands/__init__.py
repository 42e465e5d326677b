"""The commands that look at a store, and at files."""

from shingling.cli.commands import compare, groups, pages, similar, store

COMMANDS = (
    *store.COMMANDS,
    *pages.COMMANDS,
    *groups.COMMANDS,
    *similar.COMMANDS,
    *compare.COMMANDS,
)
