"""The Scrapy plugin: add-on, pipeline, spider middleware, settings."""
