BOT_NAME = "jobdir"

SPIDER_MODULES = ["jobdir.spiders"]
NEWSPIDER_MODULE = "jobdir.spiders"

JOBDIR = "job"

ADDONS = {"shingling.Addon": 500}
