BOT_NAME = "httpcache"

SPIDER_MODULES = ["httpcache.spiders"]
NEWSPIDER_MODULE = "httpcache.spiders"

HTTPCACHE_ENABLED = True

ADDONS = {"shingling.Addon": 500}
