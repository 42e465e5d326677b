"""The commands of the administration."""

from shingling.admin.commands import rebuild, upkeep

COMMANDS = (*upkeep.COMMANDS, *rebuild.COMMANDS)
