"""Main text to canonical words, blocks and title keys.

A text is bounded (`bounding`, which also makes it fit for a database or a terminal), folded
(`folding`), cut into words by the class of each character (`words`), and changed by options
(`canonical`, with `markup` and `languages`). `prepared` has a text in the forms that the store
needs, among them the keys of its lines; `titles` hashes titles.
"""

from shingling.text.bounding import (
    UNSPACED as UNSPACED,
    bounded as bounded,
    clean as clean,
    nfc as nfc,
    plain_line as plain_line,
)
from shingling.text.canonical import (
    PARTS_OF_SPEECH as PARTS_OF_SPEECH,
    Canonicaliser as Canonicaliser,
    plain_text as plain_text,
)
from shingling.text.prepared import (
    CURRENCY as CURRENCY,
    LINK_MARK as LINK_MARK,
    PARAGRAPH_CHARACTERS as PARAGRAPH_CHARACTERS,
    PreparedText as PreparedText,
    pack as pack,
    unpack as unpack,
    without_marks as without_marks,
)
from shingling.text.titles import (
    has_same_headline as has_same_headline,
    headline_keys as headline_keys,
    possible_names as possible_names,
    scripts as scripts,
    split_numbering as split_numbering,
    title_key as title_key,
    title_parts as title_parts,
    title_share as title_share,
)
from shingling.text.words import (
    canonical_words as canonical_words,
    fold_line as fold_line,
    fold_words as fold_words,
    join_words as join_words,
)
