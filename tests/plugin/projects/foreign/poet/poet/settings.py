BOT_NAME = "poet"

SPIDER_MODULES = ["poet.spiders"]
NEWSPIDER_MODULE = "poet.spiders"

ADDONS = {"scrapy_poet.Addon": 300, "shingling.Addon": 500}
