import scrapy


class ProductsSpider(scrapy.Spider):
    name = "products"

    async def start(self):
        yield scrapy.Request(f"{self.site}/sold-out")

    def parse(self, response):
        yield {
            "url": response.url,
            "name": response.css("h1::text").get(),
            "price": response.css("meta[name=price]::attr(content)").get(),
        }
        yield from response.follow_all(css="a.article")
