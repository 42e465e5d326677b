"""Main text to canonical words."""

from shingling.text.blocks import Blocks, split_blocks
from shingling.text.canonical import PARTS_OF_SPEECH, Canonicaliser
from shingling.text.cleaning import clean, plain_line
from shingling.text.titles import (
    differ_in_numbers_only,
    has_same_headline,
    title_key,
    title_parts,
)
from shingling.text.words import UNSPACED, canonical_words, fold_whole, joined_folded

__all__ = [
    "PARTS_OF_SPEECH",
    "UNSPACED",
    "Blocks",
    "Canonicaliser",
    "canonical_words",
    "clean",
    "differ_in_numbers_only",
    "fold_whole",
    "has_same_headline",
    "joined_folded",
    "plain_line",
    "split_blocks",
    "title_key",
    "title_parts",
]
