"""HTML to main text to canonical words."""

from shingling.text._blocks import Blocks, split_blocks
from shingling.text._canonical import PARTS_OF_SPEECH, Canonicaliser
from shingling.text._extract import (
    MAX_BYTES,
    MAX_FILE_BYTES,
    MainText,
    clean,
    decode,
    extract,
    plain_line,
    read_html,
    sniff_html,
)
from shingling.text._titles import differ_in_numbers_only, title_key, title_parts
from shingling.text._words import UNSPACED, canonical_words

__all__ = [
    "MAX_BYTES",
    "MAX_FILE_BYTES",
    "PARTS_OF_SPEECH",
    "UNSPACED",
    "Blocks",
    "Canonicaliser",
    "MainText",
    "canonical_words",
    "clean",
    "decode",
    "differ_in_numbers_only",
    "extract",
    "plain_line",
    "read_html",
    "sniff_html",
    "split_blocks",
    "title_key",
    "title_parts",
]
