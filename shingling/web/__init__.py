"""`scrapy dedup serve`: look at a store and review its pairs in a browser (extra `web`).

`serving` binds an address and runs the application, which `app` puts together: `guard` refuses
requests from elsewhere, and `lists`, `pairs`, `threshold`, `overview` and `reviewing` answer the
others. `store_threads` keeps the database off the event loop, and `shown` makes what a page of the
web says harmless to look at. `report` writes what the overview shows as a file.
"""

STANDS_ON = ("admin", "tuning")
