"""Attacks: pages, texts, URLs and files made to slow down, break or mislead.

What was attacked, and the tests that keep the attack:

attack                                            tests
------------------------------------------------  ----------------------------------------------
combining marks that hold the event loop          hostile/test_texts.py, hostile/test_crawls.py
texts that are shingled or expanded again         hostile/test_texts.py, text/test_words.py
URLs that take quadratic time                     hostile/test_urls.py, hostile/test_patterns.py
passwords in output, files and tracebacks         hostile/test_secrets.py
broken archives, and those that expand            hostile/files/test_archives.py,
                                                  hostile/files/test_archive_bombs.py
workers that stop while they start                extraction/hostile/test_starts.py
pages that take a parser long                     extraction/test_workers.py,
                                                  hostile/test_crawls.py
pages that take much memory                       extraction/hostile/test_memory.py,
                                                  extraction/hostile/test_markup.py
damaged rows of a store                           admin/test_damage.py,
                                                  plugin/faults/test_damaged.py
stores that disappear, or may not be used         plugin/faults/test_vanished.py
ids and times beyond all bounds                   store/schema/test_bounds.py
terminal escapes in what is printed               hostile/test_printed.py
comparisons that take quadratic time              similarity/test_diff.py
odd numbers and bytes in options                  hostile/test_options.py
damaged and odd tables and lines                  hostile/files/test_tables.py

Whole crawls under attack are those of `python -m benchmarks.hostile`.
"""
