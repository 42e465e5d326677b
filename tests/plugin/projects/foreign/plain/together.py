"""Both spiders in one process, each on a site of its own: `python together.py SITE SITE`."""

import sys

from scrapy.crawler import AsyncCrawlerProcess
from scrapy.utils.project import get_project_settings

settings = get_project_settings()
settings.set("FEEDS", {"%(name)s.jsonl": {"format": "jsonlines"}})
process = AsyncCrawlerProcess(settings)
for spider, site in zip(("articles", "contracted"), sys.argv[1:], strict=True):
    process.crawl(spider, site=site)
process.start()
