import scrapy


class MorningSpider(scrapy.Spider):
    name = "morning"

    async def start(self):
        yield scrapy.Request(f"{self.site}/{self.name}/")

    def parse(self, response):
        yield from response.follow_all(css="a.article", callback=self.parse_article)

    def parse_article(self, response):
        yield {"url": response.url, "headline": response.css("h1::text").get()}
