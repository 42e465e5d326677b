import scrapy


class MagazineSpider(scrapy.Spider):
    name = "magazine"

    async def start(self):
        yield scrapy.Request(f"{self.site}/")

    def parse(self, response):
        yield from response.follow_all(css="a.article", callback=self.parse_article)

    def parse_article(self, response):
        yield self.article(response)
        author = response.css("a.author")
        yield {
            "type": "author",
            "url": response.urljoin(author.attrib["href"]),
            "name": author.css("::text").get(),
        }
        for image in response.css("article img"):
            yield {"type": "image", "url": response.urljoin(image.attrib["src"])}

    def article(self, response):
        return {
            "type": "article",
            "url": response.url,
            "headline": response.css("h1::text").get(),
        }
