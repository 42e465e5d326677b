"""The command `report`: what the store holds, as one HTML file."""

from __future__ import annotations

import sys
from argparse import ArgumentTypeError
from pathlib import Path
from typing import TYPE_CHECKING

from scrapy.exceptions import UsageError

from shingling.cli.opening import open_session
from shingling.cli.option_types import text
from shingling.cli.output import FOUND, print_json, print_lines
from shingling.cli.subcommand import Subcommand
from shingling.plugin.setting_values import is_html_file

if TYPE_CHECKING:
    import argparse

    from shingling.plugin.settings import DedupSettings


def _file(value: str) -> str:
    """Take the name of an HTML file: any other could be the store itself."""
    if value != "-" and not is_html_file(text(value)):
        raise ArgumentTypeError("takes the name of a .html file, or - for standard output")
    return value


def _add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "file", metavar="FILE", type=_file, help=".html, replaced if it is there; - for stdout"
    )


def _report(options: argparse.Namespace, settings: DedupSettings) -> int:
    if options.json and options.file == "-":
        raise UsageError("--json goes with a file, not with standard output", print_help=False)
    from rich.filesize import decimal

    try:
        from shingling.web.report import check_file, report_page, write_page
    except ModuleNotFoundError as error:
        if error.name not in ("jinja2", "markupsafe"):
            raise
        raise UsageError(
            "report needs the extra web: pip install 'scrapy-shingling[web]'", print_help=False
        ) from None
    if options.file != "-":
        check_file(options.file)
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
        summary="write what the store holds as one HTML file, with pictures",
        example="report.html",
        add_options=_add_options,
        run=_report,
        order=96,
    ),
)
