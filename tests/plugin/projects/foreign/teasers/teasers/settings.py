BOT_NAME = "teasers"

SPIDER_MODULES = ["teasers.spiders"]
NEWSPIDER_MODULE = "teasers.spiders"

ADDONS = {"shingling.Addon": 500}
