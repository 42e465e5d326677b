import attrs
from web_poet import WebPage, field


@attrs.define
class Article:
    url: str
    headline: str
    dedup: dict | None = None


class IndexPage(WebPage):
    @property
    def links(self):
        return self.css("a.article")


class ArticlePage(WebPage[Article]):
    @field
    def url(self):
        return str(self.response.url)

    @field
    def headline(self):
        return self.css("h1::text").get()
