import scrapy

from classes import items


class ArticlesSpider(scrapy.Spider):
    name = "articles"

    async def start(self):
        yield scrapy.Request(f"{self.site}/")

    def parse(self, response):
        for link in response.css("a.article"):
            make = getattr(items, link.attrib["title"])
            yield response.follow(link, self.parse_article, cb_kwargs={"make": make})

    def parse_article(self, response, make):
        yield make(response)


class ReplacedSpider(ArticlesSpider):
    """Has a pipeline in front of all others that puts another item in the place of each."""

    name = "replaced"
    custom_settings = {
        "ITEM_PIPELINES": {"classes.pipelines.ToDict": 100, "classes.pipelines.Dump": 900}
    }


class CopiedSpider(ArticlesSpider):
    """Has a pipeline in front of all others that copies each item."""

    name = "copied"
    custom_settings = {
        "ITEM_PIPELINES": {"classes.pipelines.Copy": 100, "classes.pipelines.Dump": 900}
    }
