"""Settings of the crawls: Scrapy's defaults."""

BOT_NAME = "fetches"
SPIDER_MODULES = ["benchmarks.fetches.spider"]
TELNETCONSOLE_ENABLED = False
REMOTE_CONTROL_ENABLED = False
