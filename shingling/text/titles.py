"""Page titles -> keys by which titles are compared, beside the words of the text itself."""

from __future__ import annotations

import hashlib
import re
from functools import cache, lru_cache
from itertools import combinations
from unicodedata import name

from shingling.text.bounding import SINGLE, class_table, nfkc, plain_line
from shingling.text.prepared import mask_numbers
from shingling.text.words import canonical_words, fold_line, join_words

_MAX_TITLE_CHARS = 1000  # the rest of a title does not count
_MAX_PARTS = 8  # of a title; the last one is all that is left
# Between the parts of a title; not the symbols in `operator>` and `operator|`.
_SEPARATOR = re.compile(r"\s+[-–—·•:>]\s+|\s*[»«›‹]\s*|\s*\|(?=\s*[^\W_])\s*|:\s")
# Between a headline and the name of its site, where a site does so; a group.
_LOOSE_SEPARATOR = re.compile(
    r"( (?:--|~|//?|\*|→|@) | ?[_｜：] ?|(?<=\S)[-—]{1,2}(?=\S)| ?[(\[（【](?=[^()\[\]（）【】]*$))"
    r"(?=[^\W\d_]{2})"
)
_PROSE = re.compile(r"[^!-~]")  # an identifier has none
# A single mark before or after a word is punctuation; two are `operator()` or `i--`.
_PUNCTUATION = re.compile(r"""(?<!\S)["'“‘„«¿¡(](?=\w)|(?<=\w)[.,:;!?…"'”’»)](?!\S)""")
_ONLY_MARKS = re.compile(r"""[-–—·•|:;,.!?…"'“”‘’„«»‹›>()/\s]*""")
# The number that a title begins with, behind one word at most: "Chapter 43." or "IV)".
# "Windows 10:" is none.
_NUMBERING = re.compile(
    r"([^\W\d_]{2,}\W{1,2})?(?P<number>\d{1,3}(?:[.-]\d{1,3})*|[IVXLC]{1,8}|[A-Z](?:\.\d{1,3})*)"
    r"(?(1)\.|[.:)])\s+(?=\w{3})"
)
# The number of a section behind the name of its book: "Glossary: 1.131 fingering".
_SECTION = re.compile(
    r"(?<=[-–—·•:>|] )(?P<number>(?:\d{1,3}|[A-Z])(?:\.\d{1,3})+|\d{1,3}(?=[.)]))[.)]? (?=\w{3})"
)
_DIGIT = re.compile(r"\d")
_STEM_CHARS = 5  # by which a word of a title is looked for in a text
_FEWEST_TELLING = 3  # letters of such a word


@lru_cache(4096)
def title_key(title: str) -> int:
    """Hash the words of a title, in any order, with BLAKE2b-64.

    Symbols belong to words (`operator==`), punctuation does not.

    Returns:
        64 bits as an int; 0 if the title has no words.
    """
    words = _title_words(title[:_MAX_TITLE_CHARS])
    if not words:
        return 0
    hashed = "\0" + " ".join(sorted(words))  # the NUL keeps it apart from keys of blocks
    digest = hashlib.blake2b(hashed.encode("utf-8", "replace"), digest_size=8).digest()
    return int.from_bytes(digest, "little")


@lru_cache(4096)
def title_parts(title: str) -> dict[int, int]:
    """Keys of a title's parts: headline, section, name of the site.

    Returns:
        `title_key` of each part, and that of the part with its numbers masked; the part with
        the most words first, and parts without words left out.
    """
    parts = sorted(_SEPARATOR.split(_line(title)), key=lambda part: -len(canonical_words(part)))
    keys = {}
    for part in parts:
        masked = mask_numbers(part) if _DIGIT.search(part) else part
        keys[title_key(part)] = title_key(masked)
    keys.pop(0, None)
    return keys


@lru_cache(4096)
def headline_keys(title: str) -> frozenset[int]:
    """Keys of what may be the headline in a title: a part of it, or parts beside each other."""
    parts = _SEPARATOR.split(_line(title), maxsplit=_MAX_PARTS - 1)
    runs = [" ".join(parts[start:end]) for start, end in combinations(range(len(parts) + 1), 2)]
    return frozenset(map(title_key, [*runs, *possible_names(title).values()])) - {0}


@lru_cache(4096)
def possible_names(title: str) -> dict[int, str]:
    """Keys of what a title ends and begins with, behind and before a separator of some sites.

    It is the name of the site if many titles have it.

    Returns:
        By key, what is left of the title without it.
    """
    parts = _LOOSE_SEPARATOR.split(_line(title).rstrip(")]）】"))
    cuts = {parts[-1]: parts[:-2], parts[0]: parts[2:]}
    rests = {title_key(name): "".join(rest) for name, rest in cuts.items()}
    return {name: rest for name, rest in rests.items() if _PROSE.search(rest)}


def _line(title: str) -> str:
    return " ".join(title[:_MAX_TITLE_CHARS].split())


def has_same_headline(a: dict[int, int], b: dict[int, int]) -> bool:
    """Whether two titles have one headline, and one has all other parts of the other.

    Numbers count in the headline, the part with the most words, and in no other part.

    Args:
        a: parts of a title, by `title_parts`, without those that many titles of the site have.
        b: those of the other.
    """
    if not a or not b or next(iter(a)) != next(iter(b)):
        return False
    first, second = {*a.values()}, {*b.values()}
    return first <= second or second <= first


def title_share(title: str, text: str, least_letters: int = 0) -> float:
    """Share of a title's words that stand in a text.

    Counted are the words of the longest part of the title that are no function words, by their
    first letters; if words are not separated by blanks, every letter is a word.

    Args:
        title: of a page.
        text: of a page.
        least_letters: that these words have, five of a word at most; with fewer, none is counted.

    Returns:
        0 to 1; 1 if there is no such word.
    """
    parts = _SEPARATOR.split(_line(title))
    words = {*max((_telling_words(part) for part in parts), key=len)}
    if sum(map(len, words)) < least_letters:
        return 0.0
    if not words:
        return 1.0
    joined = b" " + join_words(text)
    return sum(b" " + word.encode() in joined for word in words) / len(words)


def _telling_words(part: str) -> list[str]:
    words = canonical_words(part)
    return [
        word[:_STEM_CHARS]
        for word in words
        if class_table()[ord(word[0])] == SINGLE
        or (len(word) >= _FEWEST_TELLING and word not in _function_words())
    ]


@cache
def _function_words() -> frozenset[str]:
    from shingling.text.languages import function_words  # a crawl of texts looks at no titles

    return frozenset().union(*function_words().values())


def split_numbering(title: str) -> tuple[str, str]:
    """Split a title into the number that it or its headline begins with, and the rest.

    A number has three digits at most: a year is none. Without one, "" stands for it.
    """
    line = " ".join(nfkc(title[:_MAX_TITLE_CHARS]).split())
    match = _NUMBERING.match(line) or _SECTION.search(line)
    if match is None:
        return "", line
    return match["number"], line[: match.start()] + line[match.end() :]


def scripts(title: str) -> frozenset[str]:
    """Names of the scripts that a title is written in, such as LATIN and ARABIC."""
    letters = filter(str.isalpha, title[:_MAX_TITLE_CHARS])
    return frozenset(name(letter, "").partition(" ")[0] for letter in letters)


def _title_words(title: str) -> list[str]:
    words = _PUNCTUATION.sub("", plain_line(fold_line(title))).split()
    return [word for word in words if not _ONLY_MARKS.fullmatch(word)]
