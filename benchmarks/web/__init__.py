"""How long the pages of `scrapy dedup serve` take, with many pages stored."""
