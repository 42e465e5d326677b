"""The commands of the administration."""

from shingling.admin.commands import check, forget, rebuild, review, transfer

COMMANDS = (
    *review.COMMANDS,
    *rebuild.COMMANDS,
    *forget.COMMANDS,
    *check.COMMANDS,
    *transfer.COMMANDS,
)
