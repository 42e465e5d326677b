BOT_NAME = "api"

SPIDER_MODULES = ["api.spiders"]
NEWSPIDER_MODULE = "api.spiders"

ADDONS = {"shingling.Addon": 500}
