"""What depends on the language of a text: packs, lists of stop words.

`packs` detects languages and analyses words, `stop_words` has the lists.
"""
