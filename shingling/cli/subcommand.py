"""A command of `scrapy dedup`, declared in one place: its help, its options and what it does."""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

from scrapy.exceptions import UsageError

from shingling.cli.output import FAILED, FOUND
from shingling.errors import ShinglingError
from shingling.plugin.settings import DedupSettings

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy.settings import BaseSettings


def _no_options(_: argparse.ArgumentParser) -> None:
    """Add no options."""


@dataclass(frozen=True)
class Subcommand:
    """A command of `scrapy dedup`.

    Args:
        name: as it is typed.
        summary: one line of help, in lower case and without a full stop.
        example: arguments of the example at the end of its help.
        run: does it, and returns the exit status (`FOUND`, `NOT_FOUND` or `FAILED`).
        add_options: adds its own arguments to its parser; every command has `--store`, `--json`.
        order: place in the list of commands, the lowest first.
    """

    name: str
    summary: str
    example: str
    run: Callable[[argparse.Namespace, DedupSettings], int]
    add_options: Callable[[argparse.ArgumentParser], None] = _no_options
    order: int = 1000

    def add_parser(self, commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
        """Add the command's parser to those of the others."""
        parser = commands.add_parser(
            self.name,
            help=self.summary,
            description=f"{self.summary[0].upper()}{self.summary[1:]}.",
            epilog=f"example: scrapy dedup {self.name} {self.example}".rstrip(),
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )
        parser.add_argument(
            "--store", metavar="URL", help="database URL (default: DEDUP_STORE_URL)"
        )
        parser.add_argument("--json", action="store_true", help="print JSON, for machines")
        self.add_options(parser)

    def execute(self, options: argparse.Namespace, settings: BaseSettings) -> int:
        """Run the command; errors become one line on standard error.

        Returns:
            The exit status.

        Raises:
            UsageError: an option with a value that is not accepted.
        """
        try:
            return self.run(options, DedupSettings.from_settings(settings, crawl=False))
        except UsageError:
            raise
        except BrokenPipeError:  # the reader has seen enough
            sys.stdout = None
            return FOUND
        except ShinglingError as error:
            problem = str(error)
        except OSError as error:
            problem = f"{error.filename}: {error.strerror}"
        print(f"scrapy dedup {self.name}: {problem}", file=sys.stderr)
        return FAILED


def check_limit(options: argparse.Namespace) -> None:
    """Refuse a `--limit` below 1.

    Raises:
        UsageError: it is below 1.
    """
    if options.limit is not None and options.limit < 1:
        raise UsageError("--limit takes a whole number above 0", print_help=False)
