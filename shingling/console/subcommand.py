"""A command of `scrapy dedup`, declared in one place: its help, its options and what it does."""

from __future__ import annotations

import argparse
import io
import os
import sys
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from scrapy.exceptions import UsageError

from shingling.console.options import ONLY_ONE, CommandOptions, Option, flag, option, text
from shingling.console.output import FAILED, FOUND, print_lines
from shingling.errors import ShinglingError, message_line
from shingling.plugin.settings import DedupSettings

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy.settings import BaseSettings


class HelpGroup(StrEnum):
    """Titles of groups in the help, in their order."""

    LOOK = "look"
    DECIDE = "review and decide again"
    MAINTAIN = "maintain the store"
    FILES = "files and other stores"


_OF_EVERY_COMMAND = (
    option(
        "--store",
        "SQLite file, from the working directory, or database URL (default: DEDUP_STORE_URL)",
        metavar="FILE|URL",
        type=text,
    ),
    flag("--json", "print JSON, for machines"),
)


@dataclass(frozen=True)
class Subcommand:
    """A command of `scrapy dedup`.

    Args:
        name: as it is typed.
        group: that it is listed in.
        summary: one line of help, in lower case and without a full stop.
        example: arguments of the example at the end of its help.
        run: does it, and returns the exit status (`FOUND`, `NOT_FOUND` or `FAILED`).
        options: its own; every command has `--store` and `--json` as well.
    """

    name: str
    group: HelpGroup
    summary: str
    example: str
    run: Callable[[CommandOptions], int]
    options: tuple[Option, ...] = ()

    def add_parser(
        self, commands: argparse._SubParsersAction[argparse.ArgumentParser]
    ) -> argparse.ArgumentParser:
        """Add the command's parser to those of the others."""
        parser = commands.add_parser(
            self.name,
            help=self.summary,
            description=f"{self.summary[0].upper()}{self.summary[1:]}.",
            epilog=f"example: scrapy dedup {self.name} {self.example}".rstrip(),
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )
        # What is wrong comes before the usage, which may be long.
        parser.error = lambda message: parser.exit(  # type: ignore[method-assign]
            FAILED, f"{parser.prog}: error: {message}\n{parser.format_usage()}"
        )
        groups: dict[str, argparse._ActionsContainer] = {"": parser}
        for name, how, title in (*_OF_EVERY_COMMAND, *self.options):
            if title == ONLY_ONE and title not in groups:
                groups[title] = parser.add_mutually_exclusive_group()
            elif title not in groups:
                groups[title] = parser.add_argument_group(title)
            groups[title].add_argument(name, **how)
        return parser

    def execute(self, given: argparse.Namespace, settings: BaseSettings) -> int:
        """Run the command; errors become one line on standard error.

        Returns:
            The exit status.

        Raises:
            UsageError: an option with a value that is not accepted.
        """
        # What an encoding lacks, and bytes that are not of it, are no error.
        for stream, errors in ((sys.stdin, "replace"), (sys.stdout, "backslashreplace")):
            if isinstance(stream, io.TextIOWrapper):
                stream.reconfigure(errors=errors)
        try:
            read = DedupSettings.from_settings(settings, crawl=False)
            options = CommandOptions(**vars(given), settings=read)
            if options.data_formats > 1:
                raise UsageError("--json, --csv or --jsonl: only one of them")
            return self.run(options)
        except UsageError as error:
            raise UsageError(message_line(str(error)), print_help=False) from None
        except BrokenPipeError:  # the reader has seen enough
            sys.stdout = None
            return FOUND
        except ShinglingError as error:
            problem = str(error)
        except KeyboardInterrupt:
            problem = "interrupted"
        except MemoryError:
            problem = "there is not enough memory"
        except OSError as error:
            reason = error.strerror or str(error) or type(error).__name__
            problem = (
                reason if error.filename is None else f"{os.fsdecode(error.filename)}: {reason}"
            )
        print_lines(message_line(f"scrapy dedup {self.name}: {problem}"), error=True)
        return FAILED
