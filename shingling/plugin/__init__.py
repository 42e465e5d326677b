"""The Scrapy side: add-on, pipeline, spider middleware, commands."""
