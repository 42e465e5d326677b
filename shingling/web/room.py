"""What the room of the browser offers."""

from __future__ import annotations

import logging
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shingling.errors import SettingsError, ShinglingError, require

if TYPE_CHECKING:
    from scrapy import Spider

    from shingling.plugin.settings import DedupSettings, Setting

logger = logging.getLogger(__name__)


def settings() -> dict[str, Setting]:
    """Declare its setting."""
    return {"DEDUP_REPORT": (None, "None, or the path of a .html file", html_file)}


def is_html_file(name: str) -> bool:
    """Whether a name is one of a local HTML file."""
    return name.lower().endswith((".html", ".htm")) and "://" not in name and "\0" not in name


def html_file(value: Any) -> str | None:
    """Read the path of an HTML file, from the working directory as those of Scrapy's feeds."""
    if value in (None, "", "None"):
        return None
    name = os.fspath(value)
    if not isinstance(name, str) or not is_html_file(name):
        raise ValueError
    path = Path(name).absolute()
    if path.is_dir():
        raise SettingsError("it is a folder")
    return str(path)


def check_settings(dedup: DedupSettings) -> None:
    """Check that a report can be made, if one is asked for.

    Raises:
        SettingsError: a package is missing.
    """
    if dedup.of_rooms["DEDUP_REPORT"] is not None:
        require("web", "DEDUP_REPORT", "jinja2", error=SettingsError)


def finish_crawl(dedup: DedupSettings, spider: Spider) -> None:
    """Write the report of the store; if that fails, the log says it."""
    file = dedup.of_rooms["DEDUP_REPORT"]
    if file is None:
        return
    from shingling.web.report import write_report_of

    try:
        write_report_of(dedup.store_url, file)
    except (ShinglingError, ImportError, OSError) as error:
        logger.error("Dedup could not write its report: %s", error, extra={"spider": spider})
    else:
        logger.info("Dedup: wrote the report %s", file, extra={"spider": spider})
