"""The Scrapy project that `scrapy.cfg` points to: spiders with dedup switched on."""
