"""What becomes of an item. The first item of a crawl imports this, and with it the store."""
