"""The commands `serve` and `report`: what a store holds, in a browser or as one HTML file."""

from __future__ import annotations

import sys
from argparse import ArgumentTypeError
from pathlib import Path
from typing import TYPE_CHECKING

from scrapy.exceptions import UsageError

from shingling.console.opening import chosen_url, open_session, rules_for
from shingling.console.option_types import text, whole_number
from shingling.console.output import FOUND, print_json, print_lines
from shingling.console.subcommand import HelpGroup, Subcommand
from shingling.errors import ShinglingError, require
from shingling.web.room import is_html_file

if TYPE_CHECKING:
    import argparse

    from shingling.plugin.settings import DedupSettings

_LOOPBACK, _DEFAULT_PORT = "127.0.0.1", 8642


def _add_serve_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--port",
        type=whole_number(0, 65_535),
        default=_DEFAULT_PORT,
        help=f"port to listen on; 0 takes a free one (default: {_DEFAULT_PORT})",
    )
    parser.add_argument(
        "--host",
        metavar="ADDRESS",
        type=text,
        default=_LOOPBACK,
        help="address to listen on; any but this machine's own asks for a token"
        f" (default: {_LOOPBACK})",
    )
    parser.add_argument("--read-only", action="store_true", help="show, and accept no reviews")


def _serve(options: argparse.Namespace, settings: DedupSettings) -> int:
    if not options.host:  # sockets take it for every address
        raise UsageError("argument --host: takes an address or a name", print_help=False)
    require("web", "the server", "jinja2", "starlette", "uvicorn", error=ShinglingError)
    from shingling.web.serving import serve
    from shingling.web.store_threads import StoreThreads

    with open_session(options, settings, read_only=options.read_only) as session:
        rules, name = rules_for(session, settings), session.database.where
    stores = StoreThreads(chosen_url(options, settings), rules, read_only=options.read_only)

    def announce(address: str) -> None:
        if options.json:
            print_json({"url": address})
        else:
            print_lines(f"{name} is shown at {address} until you press Ctrl-C.")
        sys.stdout.flush()  # whoever reads it from a pipe wants it now

    try:
        serve(stores, name, (options.host, options.port), announce, read_only=options.read_only)
    except UnicodeError:
        raise UsageError("argument --host: takes an address or a name", print_help=False) from None
    return FOUND


def _file(value: str) -> str:
    """Take the name of an HTML file: any other could be the store itself."""
    if value != "-" and not is_html_file(text(value)):
        raise ArgumentTypeError("takes the name of a .html file, or - for standard output")
    return value


def _add_report_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "file", metavar="FILE", type=_file, help=".html, replaced if it is there; - for stdout"
    )


def _report(options: argparse.Namespace, settings: DedupSettings) -> int:
    if options.json and options.file == "-":
        raise UsageError("--json goes with a file, not with standard output", print_help=False)
    from rich.filesize import decimal

    require("web", "the report", "jinja2", error=ShinglingError)
    from shingling.web.report import report_page, write_page

    with open_session(options, settings) as session:
        page = report_page(session)
    if options.file == "-":
        sys.stdout.buffer.write(page.encode())
        sys.stdout.buffer.flush()
        return FOUND
    write_page(page, options.file)
    size = Path(options.file).stat().st_size
    if options.json:
        return print_json({"file": options.file, "bytes": size})
    print_lines(f"{options.file}: {decimal(size)}")
    return FOUND


COMMANDS = (
    Subcommand(
        name="report",
        group=HelpGroup.LOOK,
        summary="write what the store holds as one HTML file, with pictures",
        example="report.html",
        add_options=_add_report_options,
        run=_report,
    ),
    Subcommand(
        name="serve",
        group=HelpGroup.DECIDE,
        summary="look at the store and review its pairs in a browser",
        example="--port 8642",
        add_options=_add_serve_options,
        run=_serve,
    ),
)
