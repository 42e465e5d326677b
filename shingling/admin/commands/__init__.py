"""The commands of the administration."""

from shingling.admin.commands import rebuild, transfer, upkeep

COMMANDS = (*upkeep.COMMANDS, *rebuild.COMMANDS, *transfer.COMMANDS)
