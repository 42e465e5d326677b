"""The commands that people look at pairs with and decide them: `review` and `serve`."""

from __future__ import annotations

from shingling.cli.commands.reviewing import review, serve

COMMANDS = (*review.COMMANDS, *serve.COMMANDS)
