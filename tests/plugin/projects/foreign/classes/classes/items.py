from dataclasses import dataclass

import attrs
import scrapy
from itemloaders.processors import MapCompose, TakeFirst
from pydantic import BaseModel, HttpUrl
from scrapy.loader import ItemLoader


class PydanticArticle(BaseModel):
    url: HttpUrl
    headline: str
    dedup: dict | None = None
    dedup_status: str | None = None
    dedup_resemblance: float | None = None


@attrs.define
class AttrsArticle:
    url: str
    headline: str
    dedup: dict | None = None
    dedup_status: str | None = None
    dedup_resemblance: float | None = None


@dataclass
class DataclassArticle:
    url: str
    headline: str
    dedup: dict | None = None
    dedup_status: str | None = None
    dedup_resemblance: float | None = None


class Article(scrapy.Item):
    url = scrapy.Field()
    headline = scrapy.Field()
    dedup = scrapy.Field()
    dedup_status = scrapy.Field()
    dedup_resemblance = scrapy.Field()


class PlainArticle(scrapy.Item):
    url = scrapy.Field()
    headline = scrapy.Field()


class LoadedArticle(scrapy.Item):
    url = scrapy.Field()
    headline = scrapy.Field(input_processor=MapCompose(str.strip), output_processor=TakeFirst())
    text = scrapy.Field()
    dedup = scrapy.Field()


def pydantic(response):
    return PydanticArticle(url=response.url, headline=_headline(response))


def attrs_(response):
    return AttrsArticle(response.url, _headline(response))


def dataclass_(response):
    return DataclassArticle(response.url, _headline(response))


def item(response):
    return Article(url=response.url, headline=_headline(response))


def plain(response):
    return PlainArticle(url=response.url, headline=_headline(response))


def loaded(response):
    loader = ItemLoader(LoadedArticle(), response)
    loader.add_value("url", response.url)
    loader.add_css("headline", "h1::text")
    loader.add_css("text", "article p::text")
    return loader.load_item()


def _headline(response):
    return response.css("h1::text").get()
