import asyncio
import sys

import scrapy
from scrapy.crawler import AsyncCrawlerRunner
from scrapy.utils.log import configure_logging


class ArticlesSpider(scrapy.Spider):
    name = "articles"

    async def start(self):
        yield scrapy.Request(f"{self.site}/")

    def parse(self, response):
        yield from response.follow_all(css="a.article", callback=self.parse_article)

    def parse_article(self, response):
        yield {"url": response.url, "headline": response.css("h1::text").get()}


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
