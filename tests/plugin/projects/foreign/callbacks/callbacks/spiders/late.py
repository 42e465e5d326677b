import scrapy


class LateSpider(scrapy.Spider):
    """Yields the requests of a page first, and what stands on it at the end."""

    name = "late"

    async def start(self):
        yield scrapy.Request(f"{self.site}/")

    async def parse(self, response):
        for request in response.follow_all(css="a.article"):
            yield request
        if response.css("article"):
            yield {"url": response.url, "headline": response.css("h1::text").get()}
        for request in response.follow_all(css="a.more"):
            yield request
