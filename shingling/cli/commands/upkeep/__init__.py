"""The commands that remove what a store should not have: `forget`, `prune` and `check`."""

from __future__ import annotations

from shingling.cli.commands.upkeep import check, forget

COMMANDS = (*forget.COMMANDS, *check.COMMANDS)
