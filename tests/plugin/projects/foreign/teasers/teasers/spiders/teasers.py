import scrapy


class TeasersSpider(scrapy.Spider):
    name = "teasers"

    async def start(self):
        yield scrapy.Request(f"{self.site}/")

    def parse(self, response):
        yield from response.follow_all(css="a.article", callback=self.parse_article)

    def parse_article(self, response):
        yield {
            "url": response.url,
            "title": response.css("title::text").get(),
            "text": response.css("meta[name=description]::attr(content)").get(),
        }
