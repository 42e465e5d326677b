"""`scrapy dedup serve`: look at a store and review its pairs in a browser (extra `web`).

`serving` binds an address and runs the application, which `app` puts together: `guard` refuses
requests from elsewhere, and `lists`, `pages`, `pairs`, `threshold`, `audit`, `savings`, `overview`
and `reviewing` answer the others, as `data` if that is asked for; `walks` leads from pair to pair.
`store_threads` keeps the database off the event loop, and what takes long in the background.
`shown` makes what a page of the web says harmless to look at. `report` writes what the overview
shows as a file.
"""

STANDS_ON = ("admin", "tuning")
