BOT_NAME = "files"

SPIDER_MODULES = ["files.spiders"]
NEWSPIDER_MODULE = "files.spiders"

ITEM_PIPELINES = {"scrapy.pipelines.files.FilesPipeline": 1}
FILES_STORE = "stored"

ADDONS = {"shingling.Addon": 500}
