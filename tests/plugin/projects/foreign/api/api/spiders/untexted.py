import scrapy


class UntextedSpider(scrapy.Spider):
    name = "untexted"

    async def start(self):
        yield scrapy.Request(f"{self.site}/api/news/1.json")

    def parse(self, response):
        data = response.json()
        for article in data["articles"]:
            yield {"url": article["url"], "title": article["title"], "body": article["text"]}
        if data["next"]:
            yield response.follow(data["next"])
