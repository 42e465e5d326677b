import os

from plain.spiders.articles import ArticlesSpider


class ContractedSpider(ArticlesSpider):
    """What `scrapy check` looks at."""

    name = "contracted"

    def parse_article(self, response):
        yield from super().parse_article(response)

    # The address of the site is not the same everywhere.
    parse_article.__doc__ = f"""
    @url {os.environ.get("SITE", "http://localhost")}/article/0
    @returns items 1 1
    @scrapes url headline
    """
