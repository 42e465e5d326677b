"""Both spiders in one process: `python together.py SITE`."""

import sys

from scrapy.crawler import AsyncCrawlerProcess
from scrapy.utils.project import get_project_settings

process = AsyncCrawlerProcess(get_project_settings())
for spider in ("morning", "evening"):
    process.crawl(spider, site=sys.argv[1])
process.start()
