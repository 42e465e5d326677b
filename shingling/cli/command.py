"""`scrapy dedup`: Scrapy loads this module on every call, so it imports next to nothing."""

from __future__ import annotations

import argparse
from importlib import import_module
from typing import TYPE_CHECKING

from scrapy.commands import ScrapyCommand
from scrapy.exceptions import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

_PAGES = "at most so many"


class Command(ScrapyCommand):
    """Ask and tend the signature store."""

    requires_project = False
    requires_crawler_process = False
    default_settings = {"LOG_ENABLED": False}  # noqa: RUF012 (Scrapy's own attribute)

    def syntax(self) -> str:
        """Return what stands behind `scrapy dedup`."""
        return "<command> [options]"

    def short_desc(self) -> str:
        """Return the line in the list of commands."""
        return "Ask and tend the near-duplicate store"

    def long_desc(self) -> str:
        """Return the text above the options."""
        return (
            "Ask and tend the store of page signatures that DEDUP_STORE_URL or --store names."
            " `scrapy dedup <command> -h` tells more. Exit status: 0 found or done, 1 not"
            " found, 2 misused or failed."
        )

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        """Add the sub-commands."""
        super().add_options(parser)
        commands = parser.add_subparsers(
            dest="dedup_command", metavar="<command>", prog="scrapy dedup"
        )
        for name, (summary, example, options) in COMMANDS.items():
            command = commands.add_parser(
                name,
                help=summary,
                description=f"{summary[0].upper()}{summary[1:]}.",
                epilog=f"example: scrapy dedup {name}{' ' if example else ''}{example}",
                formatter_class=argparse.RawDescriptionHelpFormatter,
                allow_abbrev=False,
            )
            command.add_argument(
                "--store", metavar="URL", help="database URL (default: DEDUP_STORE_URL)"
            )
            command.add_argument("--json", action="store_true", help="print JSON, for machines")
            options(command)

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        """Run the sub-command.

        Raises:
            UsageError: left-over or missing arguments, which Scrapy's parser lets through.
        """
        if args:
            raise UsageError(f"unrecognized arguments: {' '.join(args)}", print_help=False)
        if opts.dedup_command is None:
            raise UsageError(f"a command is needed: {', '.join(COMMANDS)}", print_help=False)
        commands = import_module("shingling.cli.commands")
        self.exitcode = commands.run(opts.dedup_command, opts, self.settings)


def _none(_: argparse.ArgumentParser) -> None:
    """Add no options."""


def _show(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("url", metavar="URL")
    parser.add_argument("--text", action="store_true", help="print the stored main text as well")
    _explain(parser)


def _explain(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--explain",
        action="store_true",
        help="show what is compared: shared and differing passages, and what is left out",
    )


def _similar(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("what", metavar="URL|FILE|-", help="a stored page, a file, or stdin")
    parser.add_argument("--threshold", type=float, help="least resemblance (default: 0.5)")
    parser.add_argument(
        "--distance",
        type=int,
        metavar="BITS",
        help="pages whose SimHash differs in at most so many bits, instead of --threshold",
    )
    parser.add_argument("--limit", type=int, default=10, help=f"{_PAGES} (default: 10)")


def _compare(parser: argparse.ArgumentParser) -> None:
    for name in ("a", "b"):
        parser.add_argument(
            name, metavar=name.upper(), help="a URL in the store, a file, or - for stdin"
        )
    parser.add_argument("--diff", action="store_true", help="show the words that differ as well")
    _explain(parser)


def _groups(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--limit", type=int, default=20, help=f"{_PAGES} groups (default: 20)")
    parser.add_argument(
        "--by",
        choices=["duplicates", "event"],
        default="duplicates",
        help="duplicates as decided (default), or originals that are a little alike",
    )
    parser.add_argument(
        "--threshold", type=float, help="least resemblance, with --by event (default: 0.1)"
    )
    parser.add_argument(
        "--days", type=float, help="first seen at most so many days apart, with --by event"
    )


def _list(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--status",
        choices=["new", "exact", "near", "unchanged", "changed", "skipped"],
        help="where a page stands, or its last verdict",
    )
    parser.add_argument("--site", help="host, without www.")
    parser.add_argument(
        "--since", metavar="TIME", help="seen since a date or time in ISO 8601 (UTC)"
    )
    parser.add_argument("--limit", type=int, help=f"{_PAGES} pages")


def _forget(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("url", metavar="URL", nargs="*")
    parser.add_argument("--site", help="all pages of a host, without www.")
    parser.add_argument("--run", type=int, metavar="ID", help="all pages that a run stored first")
    parser.add_argument("--yes", action="store_true", help="do not ask")


def _prune(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--older-than",
        type=float,
        required=True,
        metavar="DAYS",
        help="pages that were last seen so many days ago or longer",
    )
    parser.add_argument("--site", help="of a host only, without www.")
    parser.add_argument("--yes", action="store_true", help="do not ask")


def _review(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("url", metavar="URL", nargs="*", help="two, or to list what was said")
    word = parser.add_mutually_exclusive_group()
    word.add_argument(
        "--same",
        action="store_true",
        default=None,
        help="they are duplicates, whatever is measured",
    )
    word.add_argument(
        "--different",
        dest="same",
        action="store_false",
        default=None,
        help="they are no duplicates",
    )
    word.add_argument("--undo", action="store_true", help="take back what was said")
    parser.add_argument("--note", metavar="TEXT", help="why")


def _rebuild(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--threshold",
        type=float,
        help="resemblance that pages are to be found at (default: DEDUP_THRESHOLD)",
    )
    parser.add_argument(
        "--method",
        choices=["minhash", "megashingle", "simhash", "minhash+simhash"],
        help="what the index is for (default: DEDUP_METHOD)",
    )
    parser.add_argument(
        "--containment",
        action=argparse.BooleanOptionalAction,
        help="keep samples of the stored texts, for DEDUP_CONTAINMENT (default: as before)",
    )
    parser.add_argument(
        "--decide",
        action="store_true",
        help="decide all pages again as well, in the order in which they were first seen",
    )
    parser.add_argument(
        "--scheme",
        action="store_true",
        help="sign all stored texts again, under DEDUP_SHINGLE_SIZE and DEDUP_SCHEME, and decide",
    )
    parser.add_argument(
        "--dry-run", action="store_true", help="say what --decide or --scheme would change"
    )
    parser.add_argument("--resume", action="store_true", help="go on where it was interrupted")
    parser.add_argument(
        "--abandon", action="store_true", help="forget what was made before an interruption"
    )


def _export(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "file",
        metavar="FILE",
        nargs="?",
        default="-",
        help=".jsonl, .csv (also with .gz) or .parquet (default: -, JSON lines on stdout)",
    )
    parser.add_argument(
        "--format", choices=["jsonl", "csv", "parquet"], help="whatever the name of the file is"
    )
    parser.add_argument("--no-text", action="store_true", help="leave out the main texts")
    parser.add_argument("--force", action="store_true", help="replace a file that is there")


def _import(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "file",
        metavar="FILE",
        nargs="?",
        default="-",
        help="what export wrote, or items of a crawl in .jsonl or .csv (default: -, stdin)",
    )
    parser.add_argument(
        "--format", choices=["jsonl", "csv", "parquet"], help="whatever the name of the file is"
    )
    for name in ("url", "text", "html"):
        parser.add_argument(
            f"--{name}-field",
            metavar="NAME",
            help=f"of an item of a crawl (default: DEDUP_{name.upper()}_FIELD)",
        )
    parser.add_argument(
        "--time-field",
        metavar="NAME",
        help="of an item: when it was fetched, in ISO 8601 or seconds since 1970 (default: now)",
    )
    parser.add_argument(
        "--spider", metavar="NAME", help='that crawled the items, with DEDUP_SCOPE = "spider"'
    )


def _tune(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "pairs",
        metavar="PAIRS",
        nargs="?",
        help='JSON lines {"a": …, "b": …, "same": true}, - for stdin (default: pages of the'
        " store, by their titles)",
    )
    parser.add_argument("--plot", metavar="FILE", help="draw the curve: .svg, .png or .pdf")
    parser.add_argument(
        "--idf", metavar="FILE", help="learn how rare words are from the store, into this file"
    )
    parser.add_argument("--folds", type=int, default=5, help="of the cross-validation (default: 5)")


def _bulk(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "input",
        metavar="INPUT",
        nargs="+",
        help=".jsonl or .csv (also .gz, .zst), .parquet, .warc, .tar, a folder of HTML, an"
        " SQLAlchemy URL, or - for stdin",
    )
    parser.add_argument("--out", metavar="DIR", required=True, help="folder to write to")
    parser.add_argument(
        "--threshold", type=float, help="resemblance of near-duplicates (default: DEDUP_THRESHOLD)"
    )
    parser.add_argument(
        "--method",
        choices=["minhash", "megashingle", "minhash+simhash", "exact"],
        help="what is a duplicate (default: DEDUP_METHOD)",
    )
    for name in ("text", "html"):
        parser.add_argument(
            f"--{name}-field",
            metavar="NAME",
            help=f"of a row (default: DEDUP_{name.upper()}_FIELD)",
        )
    parser.add_argument(
        "--id-field",
        metavar="NAME",
        help="of a row (default: id or url, where a row has one; else its file and line)",
    )
    parser.add_argument(
        "--format",
        choices=["jsonl", "csv", "parquet", "warc", "html"],
        help="of all inputs, whatever their names are",
    )
    parser.add_argument("--query", metavar="SQL", help="what an SQLAlchemy URL is asked for")
    parser.add_argument(
        "--to", choices=["jsonl", "parquet"], default="jsonl", help="what is written"
    )
    parser.add_argument(
        "--into-store", action="store_true", help="put the rows into the store as well"
    )
    parser.add_argument("--workers", type=int, metavar="N", help="processes (default: one a CPU)")
    parser.add_argument(
        "--memory", default="1G", metavar="SIZE", help="that sorting may use (default: 1G)"
    )
    parser.add_argument("--strict", action="store_true", help="stop at the first bad row")
    parser.add_argument(
        "--restart", action="store_true", help="begin anew, whatever is in DIR of another run"
    )
    parser.add_argument(
        "--every",
        type=float,
        default=10.0,
        metavar="SECONDS",
        help="between two lines of progress, where there is no terminal (default: 10)",
    )


COMMANDS: dict[str, tuple[str, str, Callable[[argparse.ArgumentParser], None]]] = {
    "status": ("count pages, originals, duplicates and runs", "--json", _none),
    "show": ("show what is stored of a URL", "https://example.com/article", _show),
    "similar": (
        "find the stored pages most like a page",
        "article.html --threshold 0.3",
        _similar,
    ),
    "compare": (
        "measure two texts or pages in every way",
        "https://example.com/a https://example.org/b --explain",
        _compare,
    ),
    "groups": (
        "list originals with their duplicates, or articles on one event",
        "--by event --threshold 0.1 --days 3",
        _groups,
    ),
    "list": ("list stored pages", "--status near --site example.com", _list),
    "forget": ("remove pages from the store", "--site example.com --yes", _forget),
    "prune": (
        "remove pages that were not seen for long",
        "--older-than 365 --yes",
        _prune,
    ),
    "review": (
        "say that two pages are the same or different, whatever is measured",
        'https://example.com/a https://example.com/b --different --note "two editions"',
        _review,
    ),
    "rebuild": (
        "index, decide or sign all stored pages anew, without a crawl",
        "--threshold 0.6 --decide --dry-run",
        _rebuild,
    ),
    "export": ("write the store to a file", "store.jsonl.gz", _export),
    "import": ("read an exported store, or the items of an old crawl", "items.jsonl", _import),
    "bulk": (
        "deduplicate a whole collection: files, archives or a query",
        "articles.jsonl.gz --out deduplicated",
        _bulk,
    ),
    "vacuum": ("give back the space of removed pages", "", _none),
    "tune": (
        "measure which settings find near-duplicates best, on labelled pairs",
        "pairs.jsonl --plot curve.svg",
        _tune,
    ),
    "upgrade": ("bring the tables of the store up to date", "", _none),
}
"""Every sub-command: what it does, the arguments of its example, and what adds its options."""
