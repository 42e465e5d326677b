BOT_NAME = "plain"

SPIDER_MODULES = ["plain.spiders"]
NEWSPIDER_MODULE = "plain.spiders"

ADDONS = {"shingling.Addon": 500}
