"""Imports and makes what crawls and commands do, for processes from which those of tests fork.

Scrapy imports every command at each start, those of other packages as well; a crawl then imports
the plugin and the database. This takes longer than what most crawls of tests do.
"""

from __future__ import annotations

import importlib
import pkgutil
import warnings
from contextlib import suppress

from scrapy.core.engine import ExecutionEngine

from shingling import extract, sign

_PACKAGES = (
    *("scrapy.commands", "scrapy.downloadermiddlewares", "scrapy.extensions"),
    *("scrapy.spidermiddlewares", "scrapy_poet", "shingling"),
)
_HANDLERS = ("datauri", "file", "ftp", "http11", "s3")
_SCRAPY = ("cmdline", "dupefilters", "exporters", "pqueues", "squeues", "statscollectors")
_MODULES = (
    *(f"scrapy.core.downloader.handlers.{name}" for name in _HANDLERS),
    *(f"scrapy.{name}" for name in _SCRAPY),
    *("sqlalchemy.dialects.postgresql.psycopg", "sqlalchemy.dialects.sqlite"),
    *("fastwarc.warc", "itemadapter", "numpy.ma", "rapidfuzz.distance", "rapidfuzz.fuzz"),
    *("requests", "resiliparse.extract.html2text", "rich.progress", "rich.table", "trafilatura"),
)


def _load(name: str) -> None:
    with suppress(ImportError):  # not every environment has all of them
        module = importlib.import_module(name)
        for found in pkgutil.iter_modules(getattr(module, "__path__", ())):
            # Migrations can only be imported while Alembic runs them.
            if name.startswith(_PACKAGES) and found.name != "migrations":
                _load(f"{name}.{found.name}")


with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # some modules are deprecated
    for _name in (*_PACKAGES, *_MODULES):
        _load(_name)

# The tables of letters are made at the first text, which takes half a second.
sign("A text")
extract("<p>A text")

# Scrapy notices so often, in seconds, that all is done if no response comes last: else every five.
ExecutionEngine._SLOT_HEARTBEAT_INTERVAL = 0.1

_SECONDS = 300
# On a slow machine, too, a page that is served waits until all is counted, and nothing is kept.
for _name in ("audit", "store_threads", "threshold"):
    with suppress(ImportError):
        vars(importlib.import_module(f"shingling.web.{_name}")).update(
            PATIENCE=_SECONDS, _QUICK=_SECONDS
        )
