import json

import scrapy


class ProductsSpider(scrapy.Spider):
    name = "products"

    async def start(self):
        yield scrapy.Request(f"{self.site}/")

    def parse(self, response):
        yield from response.follow_all(css="a.article", callback=self.parse_product)

    def parse_product(self, response):
        product = json.loads(response.css("script#state::text").get())
        yield {"url": response.url, "name": product["name"], "price": product["price"]}
