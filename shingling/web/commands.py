"""The commands `serve` and `report`: what a store holds, in a browser or as one HTML file."""

from __future__ import annotations

import sys
from argparse import ArgumentTypeError
from errno import EADDRINUSE
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from scrapy.exceptions import UsageError

from shingling.console.opening import chosen_url, open_session, rules_for
from shingling.console.options import flag, option, text, whole_number
from shingling.console.output import FOUND, print_result
from shingling.console.subcommand import HelpGroup, Subcommand
from shingling.errors import ShinglingError, require
from shingling.web.room import is_html_file

if TYPE_CHECKING:
    from shingling.console.options import CommandOptions


_LOOPBACK, _DEFAULT_PORT = "127.0.0.1", 8642


def _serve(options: CommandOptions) -> int:
    if not options.host:  # sockets take it for every address
        raise UsageError("argument --host: takes an address or a name")
    require("web", "the server", "jinja2", "starlette", "uvicorn", error=ShinglingError)
    from shingling.web.serving import serve
    from shingling.web.store_threads import StoreThreads

    with open_session(options, read_only=options.read_only) as session:
        rules, name = rules_for(session, options), session.database.where
    stores = StoreThreads(chosen_url(options), rules, name, read_only=options.read_only)

    def announce(address: str) -> None:
        line = f"{name} is shown at {address} until you press Ctrl-C."
        print_result(options, {"url": address}, line)
        sys.stdout.flush()  # a reader of a pipe wants it now

    try:
        serve(
            stores,
            (options.host, options.port),
            announce,
            settings=options.settings,
            origin=options.proxy_host or "",
            root=options.root_path,
        )
    except UnicodeError:
        raise UsageError("argument --host: takes an address or a name") from None
    except OSError as error:
        problem = f"--host {options.host} --port {options.port}: {error.strerror or error}"
        if error.errno == EADDRINUSE:
            problem = (
                f"port {options.port} is in use, perhaps by another serve: --port 0 takes a free"
                " one"
            )
        raise ShinglingError(problem) from None
    return FOUND


def _root_path(value: str) -> str:
    """Take the path below which a proxy shows the pages."""
    path = value.rstrip("/")
    first, *parts = path.split("/")
    if first or quote(path) != path or {"", ".", ".."} & {*parts}:
        raise ArgumentTypeError("takes a path such as /dedup")
    return path


def _origin(value: str) -> str:
    """Take the name of a proxy: with https, unless it says http."""
    scheme, _, name = value.lower().rpartition("://")
    if scheme not in ("", "http", "https") or not name or quote(name, ":[]") != name:
        raise ArgumentTypeError("takes a name such as crawler.example, or http://crawler.example")
    return f"{scheme or 'https'}://{name}"


def _file(value: str) -> str:
    """Take the name of an HTML file: any other could be the store itself."""
    if value != "-" and not is_html_file(text(value)):
        raise ArgumentTypeError("takes the name of a .html file, or - for standard output")
    return value


def _report(options: CommandOptions) -> int:
    if options.json and options.file == "-":
        raise UsageError("--json goes with a file, not with standard output")
    from rich.filesize import decimal

    require("web", "the report", "jinja2", error=ShinglingError)
    from shingling.web.report import report_page, write_page

    with open_session(options) as session:
        page = report_page(session)
    if options.file == "-":
        sys.stdout.buffer.write(page.encode())
        sys.stdout.buffer.flush()
        return FOUND
    write_page(page, options.file)
    size = Path(options.file).stat().st_size
    as_json = {"file": options.file, "bytes": size}
    return print_result(options, as_json, f"{options.file}: {decimal(size)}")


COMMANDS = (
    Subcommand(
        name="report",
        group=HelpGroup.LOOK,
        summary="write what the store holds as one HTML file, with pictures",
        example="report.html",
        options=(
            option(
                "file",
                ".html, replaced if it is there; - for stdout",
                metavar="FILE",
                type=_file,
            ),
        ),
        run=_report,
    ),
    Subcommand(
        name="serve",
        group=HelpGroup.DECIDE,
        summary="look at the store and review its pairs in a browser",
        example="--port 8642",
        options=(
            option(
                "--port",
                f"port to listen on; 0 takes a free one (default: {_DEFAULT_PORT})",
                type=whole_number(0, 65_535),
                default=_DEFAULT_PORT,
            ),
            option(
                "--host",
                "address to listen on; any but this machine's own asks for a token"
                f" (default: {_LOOPBACK})",
                metavar="ADDRESS",
                type=text,
                default=_LOOPBACK,
            ),
            option(
                "--root-path",
                "path below which a proxy shows it, such as /dedup",
                metavar="PATH",
                type=_root_path,
                default="/",
            ),
            option(
                "--proxy-host",
                "name by which browsers reach that proxy (https, unless it begins with"
                " http://); it asks for a token",
                metavar="NAME",
                type=_origin,
            ),
            flag("--read-only", "show, and accept no reviews"),
        ),
        run=_serve,
    ),
)
