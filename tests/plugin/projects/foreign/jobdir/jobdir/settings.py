BOT_NAME = "jobdir"

SPIDER_MODULES = ["jobdir.spiders"]
NEWSPIDER_MODULE = "jobdir.spiders"

JOBDIR = "job"

FEEDS = {"items.jsonl": {"format": "jsonlines"}}

ADDONS = {"shingling.Addon": 500}
