"""What crawls and commands import, for the processes that those of tests are forked from.

Scrapy imports every command at each start, those of other packages as well; a crawl then imports
the plugin and the database. This takes longer than what most crawls of tests do.
"""

from __future__ import annotations

import importlib
from contextlib import suppress

_MODULES = (
    "itemadapter",
    "requests",
    "resiliparse.extract.html2text",
    "scrapy.cmdline",
    "scrapy.commands.check",
    "scrapy.commands.crawl",
    "scrapy.commands.parse",
    "scrapy.commands.runspider",
    "scrapy.commands.shell",
    "scrapy.contracts",
    "scrapy.core.downloader.handlers.datauri",
    "scrapy.core.downloader.handlers.file",
    "scrapy.core.downloader.handlers.ftp",
    "scrapy.core.downloader.handlers.http11",
    "scrapy.core.downloader.handlers.s3",
    "scrapy.downloadermiddlewares.cookies",
    "scrapy.downloadermiddlewares.httpcache",
    "scrapy.downloadermiddlewares.httpcompression",
    "scrapy.downloadermiddlewares.httpproxy",
    "scrapy.downloadermiddlewares.offsite",
    "scrapy.downloadermiddlewares.redirect",
    "scrapy.downloadermiddlewares.retry",
    "scrapy.downloadermiddlewares.robotstxt",
    "scrapy.dupefilters",
    "scrapy.exporters",
    "scrapy.extensions.feedexport",
    "scrapy.extensions.logstats",
    "scrapy.extensions.memusage",
    "scrapy.extensions.remote_control",  # from Scrapy 2.19 on
    "scrapy.extensions.telnet",
    "scrapy.extensions.throttle",
    "scrapy.pqueues",
    "scrapy.spidermiddlewares.referer",
    "scrapy.spidermiddlewares.start",
    "scrapy.squeues",
    "scrapy.statscollectors",
    "scrapy.utils.test",
    "scrapy_poet",
    "scrapy_poet.commands",
    "shingling.cli.command",
    "shingling.extraction.pages",
    "shingling.extraction.resiliparse",
    "shingling.plugin.addon",
    "shingling.plugin.items.decider",
    "shingling.plugin.middleware",
    "shingling.plugin.pipeline",
    "shingling.store.store",
    "sqlalchemy.dialects.postgresql.psycopg",
    "sqlalchemy.dialects.sqlite",
    "sqlite3",
    "trafilatura",
)

for _name in _MODULES:
    with suppress(ImportError):  # not every environment has all of them
        importlib.import_module(_name)
