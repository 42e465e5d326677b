"""Main text to canonical words, blocks and title keys.

A text is bounded (`bounding`, which also makes it fit for a database or a terminal), folded
(`folding`), cut into words by the class of each character (`words`), and changed by options
(`canonical`, with `languages`). `prepared` has a text in the forms that the store needs, among them
the keys of its lines; `titles` hashes titles.
"""

from shingling.text.bounding import UNSPACED, bounded, clean, nfc, plain_line
from shingling.text.canonical import (
    PARTS_OF_SPEECH,
    Canonicaliser,
    plain_text,
)
from shingling.text.folding import fold
from shingling.text.prepared import (
    LINK_MARK,
    PARAGRAPH_CHARACTERS,
    PreparedText,
    pack,
    split_blocks,
    unpack,
)
from shingling.text.titles import (
    has_same_headline,
    possible_names,
    scripts,
    split_numbering,
    title_key,
    title_parts,
    title_share,
)
from shingling.text.words import canonical_words, fold_words, join_words

__all__ = [
    "LINK_MARK",
    "PARAGRAPH_CHARACTERS",
    "PARTS_OF_SPEECH",
    "UNSPACED",
    "Canonicaliser",
    "PreparedText",
    "bounded",
    "canonical_words",
    "clean",
    "fold",
    "fold_words",
    "has_same_headline",
    "join_words",
    "nfc",
    "pack",
    "plain_line",
    "plain_text",
    "possible_names",
    "scripts",
    "split_blocks",
    "split_numbering",
    "title_key",
    "title_parts",
    "title_share",
    "unpack",
]
