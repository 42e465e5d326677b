import scrapy


class NewsSpider(scrapy.Spider):
    name = "news"

    async def start(self):
        yield scrapy.Request(f"{self.site}/api/news/1.json")

    def parse(self, response):
        data = response.json()
        for article in data["articles"]:
            yield {"url": article["url"], "title": article["title"], "text": article["text"]}
        if data["next"]:
            yield response.follow(data["next"])
