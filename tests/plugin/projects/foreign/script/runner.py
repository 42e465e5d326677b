import asyncio
import sys

from articles import ArticlesSpider
from scrapy.crawler import AsyncCrawlerRunner
from scrapy.utils.log import configure_logging

SETTINGS = {
    "FEEDS": {"items.jsonl": {"format": "jsonlines"}},
    "ADDONS": {"shingling.Addon": 500},
    "TWISTED_REACTOR_ENABLED": False,
}


async def main():
    configure_logging(SETTINGS)
    runner = AsyncCrawlerRunner(SETTINGS)
    await runner.crawl(ArticlesSpider, site=sys.argv[1])


asyncio.run(main())
