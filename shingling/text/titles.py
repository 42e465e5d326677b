"""Titles of pages: what they say, and the parts that they consist of."""

from __future__ import annotations

import hashlib
import re
from functools import lru_cache
from unicodedata import category

from shingling.text.blocks import without_numbers
from shingling.text.words import canonical_words, fold

_MOST = 1000  # characters of a title that are looked at
# Parts of a title stand apart by these. `operator>` and `operator|` are no parts.
_APART = re.compile(r"\s+[-–—·•:>]\s+|\s*[»«›‹]\s*|\s*\|(?=\s*[^\W_])\s*|:\s")
# A mark before or after a word is that of a sentence; two are `operator()` or `i--`.
_SENTENCE = re.compile(r"""(?<!\S)["'“‘„«¿¡(](?=\w)|(?<=\w)[.,:;!?…"'”’»)](?!\S)""")
_MARKS = re.compile(r"""[-–—·•|:;,.!?…"'“”‘’„«»‹›>()/\s]*""")  # that say nothing alone
_HIDDEN = ("Cc", "Cf")  # control and format characters


@lru_cache(4096)
def title_key(title: str) -> int:
    """Return a 64-bit hash of a title's words, in whatever order: 0 where it has none.

    Symbols belong to words (`operator==`), the marks of a sentence do not.
    """
    words = _words(title[:_MOST])
    if not words:
        return 0
    said = "\0" + " ".join(sorted(words))
    digest = hashlib.blake2b(said.encode("utf-8", "replace"), digest_size=8).digest()
    return int.from_bytes(digest, "little")


@lru_cache(4096)
def title_parts(title: str) -> dict[int, int]:
    """Return the keys of what a title consists of: headline, section, name of the site.

    The longest comes first. Each has the key that it has without its numbers.
    """
    parts = sorted(
        _APART.split(" ".join(title[:_MOST].split())), key=lambda part: -len(canonical_words(part))
    )
    bare = {title_key(part): title_key(without_numbers(part)) for part in parts}
    bare.pop(0, None)
    return bare


def has_same_headline(a: dict[int, int], b: dict[int, int]) -> bool:
    """Whether two titles have one headline, and one has all that the other has besides.

    Numbers do not count but in the headline: the longest part.

    Args:
        a: parts of a title, by `title_parts`, without those that the site has in many titles.
        b: those of the other.
    """
    if not a or not b or next(iter(a)) != next(iter(b)):
        return False
    first, second = {*a.values()}, {*b.values()}
    return first <= second or second <= first


def differ_in_numbers_only(a: str, b: str) -> bool:
    """Return whether two titles or texts have the same words, but for numbers and symbols."""
    return _letters(a) == _letters(b)


def _letters(text: str) -> list[str]:
    return [word for word in canonical_words(text) if not any(map(str.isdigit, word))]


def _words(title: str) -> list[str]:
    shown = "".join(char for char in fold(title) if char.isspace() or category(char) not in _HIDDEN)
    return [word for word in _SENTENCE.sub("", shown).split() if not _MARKS.fullmatch(word)]
