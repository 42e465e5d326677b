BOT_NAME = "classes"

SPIDER_MODULES = ["classes.spiders"]
NEWSPIDER_MODULE = "classes.spiders"

ADDONS = {"shingling.Addon": 500}
