from copy import deepcopy

from itemadapter import ItemAdapter


class ToDict:
    def process_item(self, item):
        return ItemAdapter(item).asdict()


class Copy:
    async def process_item(self, item):
        return deepcopy(item)
