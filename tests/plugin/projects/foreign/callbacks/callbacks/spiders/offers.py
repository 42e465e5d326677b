import scrapy


class OffersSpider(scrapy.Spider):
    name = "offers"

    async def start(self):
        yield scrapy.Request(f"{self.site}/")

    def parse(self, response):
        yield from response.follow_all(css="a.article", callback=self.parse_article)

    def parse_article(self, response):
        item = {"url": response.url, "headline": response.css("h1::text").get()}
        yield response.follow(
            "/delivery", self.parse_delivery, cb_kwargs={"item": item}, dont_filter=True
        )

    def parse_delivery(self, response, item):
        item["delivery"] = response.css("h1::text").get()
        yield item
