"""The way of an item: its document is decided, and it is dropped or goes on.

The first item of a crawl imports this package, and with it the store.
"""
