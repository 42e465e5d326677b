"""The command `scrapy dedup`."""
