import scrapy


class ProductsSpider(scrapy.Spider):
    name = "products"

    async def start(self):
        yield scrapy.Request(f"{self.site}/")

    def parse(self, response):
        yield from response.follow_all(css="a.list", callback=self.parse_list)

    def parse_list(self, response):
        for product in response.css("article.product"):
            yield {
                "url": response.urljoin(product.css("h2 a::attr(href)").get()),
                "name": product.css("h2 a::text").get(),
                "price": float(product.css("span.price::text").re_first(r"[0-9.]+")),
            }
