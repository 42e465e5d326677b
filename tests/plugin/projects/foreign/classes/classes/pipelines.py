from copy import deepcopy

from itemadapter import ItemAdapter
from pydantic import BaseModel


class ToDict:
    def process_item(self, item):
        return ItemAdapter(item).asdict()


class Copy:
    async def process_item(self, item):
        return deepcopy(item)


class Dump:
    """The last of all: the feeds of Scrapy do not take the URLs of pydantic."""

    def process_item(self, item):
        if isinstance(item, BaseModel):
            return item.model_dump(mode="json")
        adapter = ItemAdapter(item)
        if not isinstance(adapter["url"], list):
            adapter["url"] = str(adapter["url"])
        return item
