"""Settings of the project; `-s NAME=VALUE` on the command line overrides each."""

BOT_NAME = "crawler"
SPIDER_MODULES = ["crawler.spiders"]
NEWSPIDER_MODULE = "crawler.spiders"

ADDONS = {"shingling.Addon": 500}
# The items of this project have empty fields for what dedup reads anyway.
DEDUP_FILL_FIELDS = ["text", "title", "language"]
# The time at which an archive was made.
DEDUP_IGNORE_FIELDS = ["fetched"]

ROBOTSTXT_OBEY = True
CONCURRENT_REQUESTS_PER_DOMAIN = 4
DOWNLOAD_DELAY = 0.25
DOWNLOAD_MAXSIZE = 50_000_000

LOG_LEVEL = "INFO"
TELNETCONSOLE_ENABLED = False
REMOTE_CONTROL_ENABLED = False
FEED_EXPORT_ENCODING = "utf-8"
