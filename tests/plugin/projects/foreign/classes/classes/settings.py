BOT_NAME = "classes"

SPIDER_MODULES = ["classes.spiders"]
NEWSPIDER_MODULE = "classes.spiders"

ITEM_PIPELINES = {"classes.pipelines.Dump": 900}

ADDONS = {"shingling.Addon": 500}
