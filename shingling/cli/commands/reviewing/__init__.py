"""The commands that people look at a store with and decide pairs: `review`, `serve`, `report`."""

from __future__ import annotations

from shingling.cli.commands.reviewing import report, review, serve

COMMANDS = (*review.COMMANDS, *serve.COMMANDS, *report.COMMANDS)
