import sys

from articles import ArticlesSpider
from scrapy.crawler import CrawlerProcess

process = CrawlerProcess(
    settings={
        "FEEDS": {"items.jsonl": {"format": "jsonlines"}},
        "ADDONS": {"shingling.Addon": 500},
    }
)
process.crawl(ArticlesSpider, site=sys.argv[1])
process.start()
