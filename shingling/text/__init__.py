"""HTML to main text to canonical words."""

from shingling.text._blocks import Blocks, split_blocks, title_key, title_parts
from shingling.text._canonical import PARTS_OF_SPEECH, Canonicaliser
from shingling.text._extract import (
    MAX_FILE_BYTES,
    Head,
    MainText,
    clean,
    decode,
    extract,
    plain_line,
    read_head,
    read_html,
    sniff_html,
)
from shingling.text._words import UNSPACED, canonical_words

__all__ = [
    "MAX_FILE_BYTES",
    "PARTS_OF_SPEECH",
    "UNSPACED",
    "Blocks",
    "Canonicaliser",
    "Head",
    "MainText",
    "canonical_words",
    "clean",
    "decode",
    "extract",
    "plain_line",
    "read_head",
    "read_html",
    "sniff_html",
    "split_blocks",
    "title_key",
    "title_parts",
]
