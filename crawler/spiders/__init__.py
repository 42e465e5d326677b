"""The spiders: `site`, `sitemap` and `archive`."""
