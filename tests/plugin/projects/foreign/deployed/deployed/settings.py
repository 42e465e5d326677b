BOT_NAME = "deployed"

SPIDER_MODULES = ["deployed.spiders"]
NEWSPIDER_MODULE = "deployed.spiders"

ADDONS = {"shingling.Addon": 500}
