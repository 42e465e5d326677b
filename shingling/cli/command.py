"""`scrapy dedup`: Scrapy loads this module on every call, so it imports next to nothing."""

from __future__ import annotations

import argparse

from scrapy.commands import ScrapyCommand
from scrapy.exceptions import UsageError


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
        from shingling.cli.all_commands import CommandAction, all_commands
        from shingling.console.subcommand import HelpGroup

        self._commands = all_commands()
        self._parsers: CommandAction = parser.add_subparsers(  # type: ignore[assignment]
            action=CommandAction,
            dest="dedup_command",
            metavar="<command>",
            prog="scrapy dedup",
            help=argparse.SUPPRESS,  # the groups list them
        )
        groups = {title: parser.add_argument_group(title) for title in HelpGroup}
        for command in self._commands.values():
            self._add_scrapys_options(command.add_parser(self._parsers))
            groups[command.group]._group_actions.append(self._parsers._choices_actions[-1])
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
        if opts.dedup_command is None:
            names = ", ".join(self._commands)
            raise UsageError(f"a command is needed: {names}", print_help=False)
        if args:
            self._parsers.refuse_rest(opts.dedup_command, args)
        assert self.settings is not None
        self.exitcode = self._commands[opts.dedup_command].execute(opts, self.settings)
