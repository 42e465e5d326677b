"""`scrapy dedup`: Scrapy loads this module on every call, so it imports next to nothing."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from scrapy.commands import ScrapyCommand
from scrapy.exceptions import UsageError

if TYPE_CHECKING:
    from shingling.console.subcommand import Subcommand


class Command(ScrapyCommand):
    """Query and maintain the store of page signatures."""

    requires_project = False
    requires_crawler_process = False
    default_settings = {"LOG_ENABLED": False}  # noqa: RUF012 (Scrapy's own attribute)

    def syntax(self) -> str:
        """Arguments of `scrapy dedup`."""
        return "<command> [options]"

    def short_desc(self) -> str:
        """One line for the list of Scrapy's commands."""
        return "Query and maintain the near-duplicate store"

    def long_desc(self) -> str:
        """Text above the options."""
        return (
            "Query and maintain the store of page signatures that DEDUP_STORE_URL or --store names."
            " Run `scrapy dedup <command> -h` for its options. Exit status: 0 found or done,"
            " 1 not found, 2 misused or failed."
        )

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        """Add the sub-commands, each with Scrapy's own options as well."""
        # Only here: Scrapy calls this when it is `scrapy dedup` that runs.
        from shingling.cli.all_commands import CommandAction, HelpAction
        from shingling.console.subcommand import HelpGroup

        commands: CommandAction = parser.add_subparsers(  # type: ignore[assignment]
            action=CommandAction,
            dest="dedup_command",
            metavar="<command>",
            prog="scrapy dedup",
            help=argparse.SUPPRESS,  # the groups list them
        )
        self._commands = commands
        groups = {title: parser.add_argument_group(title) for title in HelpGroup}

        def add(command: Subcommand) -> None:
            self._add_scrapys_options(command.add_parser(commands))
            groups[command.group]._group_actions.append(commands._choices_actions[-1])

        commands.add = add
        shown: HelpAction = parser.add_argument(  # type: ignore[assignment]
            *("-h", "--help"), action=HelpAction, help="show this help message and exit"
        )
        shown.add = add
        super().add_options(parser)

    def _add_scrapys_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        for option in parser._action_groups[-1]._group_actions:
            option.default = argparse.SUPPRESS  # it would replace what is given before the command
            if option.dest == "set":
                option.dest = "set_after"

    def process_options(self, args: list[str], opts: argparse.Namespace) -> None:
        """Read Scrapy's own options, given before the sub-command or after it.

        Raises:
            UsageError: a setting has no value, which Scrapy does not expect of `--set=--`.
        """
        opts.set = [*opts.set, *getattr(opts, "set_after", ())]
        if [] in opts.set:
            raise UsageError("Invalid -s value, use -s NAME=VALUE", print_help=False)
        super().process_options(args, opts)

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        """Run the sub-command.

        Raises:
            UsageError: left-over or missing arguments, which Scrapy's parser lets through.
        """
        from shingling.cli.all_commands import all_commands, find_command

        if opts.dedup_command is None:
            names = ", ".join(all_commands())
            raise UsageError(f"a command is needed: {names}", print_help=False)
        if args:
            self._commands.refuse_rest(opts.dedup_command, args)
        command = find_command(opts.dedup_command)
        assert command is not None
        assert self.settings is not None
        self.exitcode = command.execute(opts, self.settings)
