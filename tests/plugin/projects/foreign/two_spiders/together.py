"""Both spiders in one process: `python together.py SITE CLASS`."""

import sys

from scrapy import crawler
from scrapy.utils.project import get_project_settings

site, process_class = sys.argv[1:]
process = getattr(crawler, process_class)(get_project_settings())
process.crawl("morning", site=site)
process.crawl("evening", site=site)
process.start()
