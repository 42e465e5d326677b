import scrapy


class ArticlesSpider(scrapy.Spider):
    name = "articles"

    async def start(self):
        yield scrapy.Request(f"{self.site}/")

    def parse(self, response):
        yield from response.follow_all(css="a.article", callback=self.parse_article)

    def parse_article(self, response):
        yield {"url": response.url, "headline": response.css("h1::text").get()}
