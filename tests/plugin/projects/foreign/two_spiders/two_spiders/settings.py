BOT_NAME = "two_spiders"

SPIDER_MODULES = ["two_spiders.spiders"]
NEWSPIDER_MODULE = "two_spiders.spiders"

FEEDS = {"%(name)s.jsonl": {"format": "jsonlines"}}

ADDONS = {"shingling.Addon": 500}
