BOT_NAME = "callbacks"

SPIDER_MODULES = ["callbacks.spiders"]
NEWSPIDER_MODULE = "callbacks.spiders"

ADDONS = {"shingling.Addon": 500}
