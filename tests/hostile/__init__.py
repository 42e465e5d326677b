"""Attacks: pages, texts, URLs and files made to slow down, break or mislead.

What was attacked, and the tests that keep the attack:

attack                                            tests
------------------------------------------------  ----------------------------------------------
combining marks that hold the event loop          hostile/test_texts.py, hostile/test_crawls.py
texts that are shingled or expanded again         hostile/test_texts.py, text/test_words.py
URLs that take quadratic time                     hostile/test_texts.py, hostile/test_patterns.py
passwords in output, files and tracebacks         hostile/test_printed.py
broken WARC files, and those that expand          hostile/files/test_archives.py,
                                                  hostile/files/test_archive_bombs.py
workers that stop while they start                extraction/hostile/test_starts.py
pages that take a parser long                     extraction/test_workers.py,
                                                  hostile/test_crawls.py
pages that take much memory                       extraction/hostile/test_memory.py,
                                                  extraction/hostile/test_markup.py
damaged rows and files of a store                 admin/test_damage.py,
                                                  plugin/faults/test_database.py
stores that disappear, or may not be used         plugin/faults/test_database.py
ids and times beyond all bounds                   store/schema/test_bounds.py
terminal escapes in what is printed               hostile/test_printed.py
comparisons that take quadratic time              similarity/test_measures.py
odd numbers and bytes in options                  hostile/test_options.py
damaged and odd tables and lines                  hostile/files/test_tables.py,
                                                  hostile/files/test_odd_files.py
words with the hash of other words                store/decide/test_pieces.py,
                                                  bulk/test_same_as_store.py
texts that fix all minima                         store/decide/test_pieces.py
values of settings                                plugin/faults/test_start.py
clocks that go back, stores of something else     store/backends/test_open.py
kills, full disks, lost connections               hostile/test_kills.py,
                                                  store/backends/test_atomic.py,
                                                  store/backends/test_races.py,
                                                  plugin/faults/test_killed.py,
                                                  store/schema/test_upgrade.py
servers without room, connections or rights       plugin/faults/test_database.py
servers that lie about sizes                      bulk/test_mongo.py
URLs that teach wrong rules                       fetching/learning/test_hostile.py,
                                                  fetching/learning/test_sites.py
robots.txt and cookies of neighbours              fetching/test_servers.py,
                                                  fetching/test_neighbours.py
reviews of several people at once                 store/backends/test_races.py
folders that cannot be written                    store/backends/test_open.py
what a poisoned store keeps after it is healed    admin/test_url_rules.py
titles in a report, requests of other sites       web/test_report.py, web/test_requests.py,
                                                  web/test_browser.py

`python -m benchmarks.attacks` runs them, and what takes longer: crawls under attack, floods, kills.
"""
