import scrapy

from poet.pages import ArticlePage, IndexPage


class ArticlesSpider(scrapy.Spider):
    name = "articles"

    async def start(self):
        yield scrapy.Request(f"{self.site}/")

    async def parse(self, response, page: IndexPage):
        for link in page.links:
            yield response.follow(link, self.parse_article)

    async def parse_article(self, response, page: ArticlePage):
        yield await page.to_item()
