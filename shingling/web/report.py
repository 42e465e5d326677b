"""A report of a store: its overview as one HTML file that needs nothing else."""

from __future__ import annotations

import base64
import hashlib
from importlib.resources import files
from pathlib import Path

from markupsafe import Markup

from shingling.console.files import written_whole
from shingling.errors import ShinglingError
from shingling.store.session import Session
from shingling.web.overview import count_all
from shingling.web.shown import environment


def report_page(session: Session) -> str:
    """Make the HTML of a report.

    Args:
        session: of the store, which is read and not changed.

    Raises:
        StoreError: the database failed.
    """
    style = files("shingling.web").joinpath("static/app.css").read_text(encoding="utf-8")
    digest = hashlib.sha256(style.encode()).digest()
    return (
        environment()
        .get_template("overview.html")
        .render(
            count_all(session),
            layout="file.html",
            store_name=session.database.where,
            style=Markup(style),  # noqa: S704 (a file of the package)
            style_hash=f"sha256-{base64.b64encode(digest).decode()}",
        )
    )


def write_report_of(url: str, file: str) -> None:
    """Write the report of the store at a URL, into a folder that is made if it is missing.

    Raises:
        StoreError: the store cannot be read, or is not there.
        ShinglingError: the file cannot be written.
        OSError: the folder cannot be made.
    """
    Path(file).parent.mkdir(parents=True, exist_ok=True)
    with Session.open(url, create=False) as session:
        write_page(report_page(session), file)


def write_page(page: str, file: str) -> None:
    """Write a file whole or not at all; a link is followed.

    Args:
        page: what it is to hold.
        file: its name. A file that is there is replaced.

    Raises:
        ShinglingError: it cannot be written.
    """
    try:
        with written_whole(Path(file)) as opened:
            opened.write(page.encode())
    except OSError as error:
        raise ShinglingError(f"{file}: {error.strerror}") from error
