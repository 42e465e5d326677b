BOT_NAME = "magazine"

SPIDER_MODULES = ["magazine.spiders"]
NEWSPIDER_MODULE = "magazine.spiders"

ADDONS = {"shingling.Addon": 500}
