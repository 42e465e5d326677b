BOT_NAME = "validated"

SPIDER_MODULES = ["validated.spiders"]
NEWSPIDER_MODULE = "validated.spiders"

ITEM_PIPELINES = {"validated.pipelines.HasPrice": 300}

ADDONS = {"shingling.Addon": 500}
