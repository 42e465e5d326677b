from scrapy.exceptions import DropItem


class HasPrice:
    """As in Scrapy's documentation, at the order that its documentation gives it."""

    def process_item(self, item):
        if not item["price"]:
            raise DropItem("no price")
        return item
