"""What tests of all kinds share.

- `pages`: texts and pages; `serving`: a server of them on loopback.
- `crawls`: projects, and crawls of them: forked from a process that has imported Scrapy (the
  usual way), or started on their own, to be watched, limited and killed.
- `installed`: the checkout, and what of it is packed.
- `processes`: processes of tests, and waiting for something.
- `stores`, `postgres`, `invariants`: stores in both databases, PostgreSQL servers, and what must
  be true of every store.
- `commands`: the command line within the test's process.
"""
