"""The command `serve`: look at the store and review its pairs in a browser."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from scrapy.exceptions import UsageError

from shingling.cli.opening import chosen_url, open_session, rules_for
from shingling.cli.option_types import text, whole_number
from shingling.cli.output import FOUND, print_json, print_lines
from shingling.cli.subcommand import Subcommand

if TYPE_CHECKING:
    import argparse

    from shingling.plugin.settings import DedupSettings

_LOOPBACK, _DEFAULT_PORT = "127.0.0.1", 8642


def _add_options(parser: argparse.ArgumentParser) -> None:
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
    try:
        from shingling.web.serving import Serving, serve
    except ModuleNotFoundError as error:
        if error.name not in ("starlette", "jinja2", "uvicorn"):
            raise
        raise UsageError(
            "serve needs the extra web: pip install 'scrapy-shingling[web]'", print_help=False
        ) from None
    with open_session(options, settings, read_only=options.read_only) as session:
        rules, name = rules_for(session, settings), session.database.where
    serving = Serving(
        url=chosen_url(options, settings),
        store_name=name,
        host=options.host,
        port=options.port,
        rules=rules,
        read_only=options.read_only,
    )

    def announce(address: str) -> None:
        if options.json:
            print_json({"url": address})
        else:
            print_lines(f"{name} is shown at {address} until you press Ctrl-C.")
        sys.stdout.flush()  # whoever reads it from a pipe wants it now

    try:
        serve(serving, announce)
    except UnicodeError:
        raise UsageError("argument --host: takes an address or a name", print_help=False) from None
    return FOUND


COMMANDS = (
    Subcommand(
        name="serve",
        summary="look at the store and review its pairs in a browser",
        example="--port 8642",
        add_options=_add_options,
        run=_serve,
        order=95,
    ),
)
