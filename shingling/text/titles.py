"""Page titles -> keys by which titles are compared, beside the words of the text itself.

Numbering and spelling, in which titles of one page may differ, are taken away before.
"""

from __future__ import annotations

import hashlib
import re
from functools import cache, lru_cache
from itertools import chain, takewhile
from typing import TYPE_CHECKING, NamedTuple

from shingling.text.bounding import SINGLE, class_table, nfkc, plain_line
from shingling.text.folding import fold
from shingling.text.languages import function_words
from shingling.text.prepared import mask_numbers
from shingling.text.words import canonical_words, join_words

if TYPE_CHECKING:
    from collections.abc import Sequence

_MAX_TITLE_CHARS = 1000  # the rest of a title does not count
# Between the parts of a title; not the symbols in `operator>` and `operator|`.
_SEPARATOR = re.compile(r"\s+[-–—·•:>]\s+|\s*[»«›‹]\s*|\s*\|(?=\s*[^\W_])\s*|:\s")
# A single mark before or after a word is punctuation; two are `operator()` or `i--`.
_PUNCTUATION = re.compile(r"""(?<!\S)["'“‘„«¿¡(](?=\w)|(?<=\w)[.,:;!?…"'”’»)](?!\S)""")
_ONLY_MARKS = re.compile(r"""[-–—·•|:;,.!?…"'“”‘’„«»‹›>()/\s]*""")
# What books call what they number.
_LABELS = (
    "chapter|kapitel|kapittel|kapitola|rozdział|chapitre|capítulo|capitulo|capítol|capitolo|cap|ch"
    "|hoofdstuk|bab|глава|κεφάλαιο|chương|bölüm|luku|fejezet"
    "|appendix|anhang|annexe|annex|apéndice|apêndice|apèndix|appendice|appendiks|bilaga|bijlage"
    "|anexa|lampiran|приложение|παράρτημα|příloha|dodatek|附录|附錄|付録|부록"
    "|part|teil|partie|parte|deel|часть|section|abschnitt|sección|sezione|seção|раздел"
    "|figure|fig|abbildung|abb|figura|рисунок|table|tabelle|tableau|tabla|tabella|таблица"
    "|example|beispiel|exemple|ejemplo"
)
_NUMBER = r"(?:\d{1,3}(?:[.–-]\d{1,3})*[a-z]?|[IVXLC]{1,8}|[A-Z](?:[.–-]?\d{1,3})*)"
# The number that a part of a title begins with. Plain ones are numbers of other things, too.
_NUMBERING = re.compile(
    rf"(?:(?i:{_LABELS})(?:\.\s*|\s+|(?=\d)){_NUMBER}|§+\s*\d{{1,4}}[a-z]?"
    r"|第\s*(?:\d{1,3}|[一二三四五六七八九十百]{1,4})\s*[章節节部編编]"
    r"|제\s*\d{1,3}\s*[장절부])[.:)]?(?=\s)"
    r"|(?:\d{1,3}|[A-Z])(?:\.\d{1,3})+[.:)](?=\s)|[IVX]{1,7}[.)](?=\s)"
    r"|(?P<plain>(?:\d{1,3}|[A-Z])(?:\.\d{1,3})+(?=\s)"
    r"|\d{1,3}[.)](?=\s)(?!\s+\w+\s+\d{4}\b))"
)
_FIRST_WORD = re.compile(r"""\s+["'“‘„«`(]?(\w+)""")
_DIGIT = re.compile(r"\d")
_UNIT_CHARS = 2  # of "kg" or "MB"
_SPELLED = re.compile(r"[^\W\d_]+(?:[-‐-–][^\W\d_]+)*")  # hyphens are U+002D, U+2010 to U+2013
_HYPHEN = re.compile("[-‐-–]")
_NUMBER_PART = re.compile(r"\d+|[^\W\d_]+")
_MAX_RESPELLED = 8  # words of a title
_FEWEST_JOINED = 4  # letters of what is written with a hyphen, in one word or in two
_FEWEST_LETTERS = 5  # of a word that has two usual spellings
_MANY_LETTERS = 8  # of one that has two, of which one may be a slip
_USUAL = {frozenset(pair) for pair in (("s", "z"), ("c", "s"), ("er", "re"))}
_STEM_CHARS = 5  # by which a word of a title is looked for in a text
_FEWEST_TELLING = 3  # letters of such a word


@lru_cache(4096)
def title_key(title: str) -> int:
    """Hash the words of a title, in any order, with BLAKE2b-64.

    Symbols belong to words (`operator==`), punctuation does not.

    Returns:
        64 bits as an int; 0 where the title has no words.
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
    parts = sorted(
        _SEPARATOR.split(" ".join(title[:_MAX_TITLE_CHARS].split())),
        key=lambda part: -len(canonical_words(part)),
    )
    keys = {}
    for part in parts:
        masked = mask_numbers(part) if _DIGIT.search(part) else part
        keys[title_key(part)] = title_key(masked)
    keys.pop(0, None)
    return keys


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


def title_share(title: str, text: str) -> float:
    """Share of a title's words that stand in a text.

    Counted are the words of the longest part of the title that are no function words, by their
    first letters; where words are not separated by blanks, every letter is a word.

    Returns:
        0 to 1; 1 if there is no such word.
    """
    parts = _SEPARATOR.split(" ".join(title[:_MAX_TITLE_CHARS].split()))
    words = {*max((_telling_words(part) for part in parts), key=len)}
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
    return frozenset().union(*function_words().values())


class Numbered(NamedTuple):
    """A title and its numbering.

    Args:
        number: what it is numbered with, in its parts ("chapter", "43"); none is empty.
        title: without that.
    """

    number: frozenset[str]
    title: str


def split_numbering(title: str) -> Numbered:
    """Split a title from its numbering: "Chapter 43.", "2.5", "IV.", "Figure 3-2:", "§ 4".

    What is only a number has none. Neither has what begins with a measure ("2.5 mm") or a date.
    """
    line = " ".join(nfkc(title[:_MAX_TITLE_CHARS]).split())
    for start in (0, *(found.end() for found in _SEPARATOR.finditer(line))):
        numbering = _NUMBERING.match(line, start)
        word = _FIRST_WORD.match(line, numbering.end()) if numbering else None
        if numbering is None or word is None or word[1].isdecimal():
            continue
        if numbering["plain"] and (word[1].islower() or len(word[1]) <= _UNIT_CHARS):
            continue
        parts = number_parts(numbering[0])
        return Numbered(parts, line[:start] + line[numbering.end() :].lstrip())
    return Numbered(frozenset(), line)


def number_parts(text: str) -> frozenset[str]:
    """Numbers, without zeros before them, and words of a text, such as the folders of a URL."""
    return frozenset(part.lstrip("0") or "0" for part in _NUMBER_PART.findall(text.casefold()))


def respelled(title: str, other: str) -> str:
    """Spell a title as another one, if they differ in hyphens and spelling only."""
    parts = _words_of_parts(title)
    own, wanted = [*chain(*parts)], [*chain(*_words_of_parts(other))]
    ours, theirs = _only_in(own, wanted), _only_in(wanted, own)
    spelling = _spelling(ours, theirs) if max(len(ours), len(theirs)) <= _MAX_RESPELLED else {}
    if not spelling:
        return title
    return " » ".join(" ".join(spelling.get(word, word) for word in part) for part in parts)


def _only_in(words: Sequence[str], others: Sequence[str]) -> list[str]:
    """Words without digits and symbols that are not among others."""
    known = {*others}
    return [word for word in words if word not in known and _SPELLED.fullmatch(word)]


def _words_of_parts(title: str) -> list[list[str]]:
    line = " ".join(title[:_MAX_TITLE_CHARS].split())
    return [_title_words(part) for part in _SEPARATOR.split(line)]


def _spelling(ours: Sequence[str], theirs: Sequence[str]) -> dict[str, str]:
    """How words are spelled elsewhere; empty where those are other words."""
    joined, other = (_HYPHEN.sub("", "".join(words)) for words in (ours, theirs))
    if joined == other and len(joined) >= _FEWEST_JOINED:
        return {**dict.fromkeys(ours, ""), ours[0]: " ".join(theirs)}
    if len(ours) != len(theirs) or not all(map(_is_one_word, ours, theirs)):
        return {}
    return dict(zip(ours, theirs, strict=True))


def _is_one_word(a: str, b: str) -> bool:
    """Whether two words are one in two spellings: "labeling" and "labelling", not "in-" and "ex-".

    They begin with the same letter, and differ in a letter that one of them doubles, in "o" and
    "ou", "er" and "re", "s" and "z" or "c" within; long ones in any letter that one has more
    within, or in the order of two.
    """
    short, long = sorted((_HYPHEN.sub("", a), _HYPHEN.sub("", b)), key=len)
    if short == long:
        return len(short) >= _FEWEST_JOINED
    start = _count_common(short, long)
    end = _count_common(short[start:][::-1], long[start:][::-1])
    less, more = short[start : len(short) - end], long[start : len(long) - end]
    if not start or len(short) < _FEWEST_LETTERS:
        return False
    if frozenset((less, more)) in _USUAL:
        return end > 0 or len(less) > 1
    if not less and len(more) == 1:
        before = long[start - 1]
        is_usual = more in (before, "u" if before == "o" else "")
        return end > 0 and (is_usual or len(short) >= _MANY_LETTERS)
    return len(more) == len("ei") and less == more[::-1] and len(short) >= _MANY_LETTERS


def _count_common(a: str, b: str) -> int:
    """Count the letters that two words begin with."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(a, b, strict=False)))


def differ_in_numbers_only(a: str, b: str) -> bool:
    """Whether two titles or texts have the same words, apart from words with digits in them."""
    return _words_without_digits(a) == _words_without_digits(b)


def _words_without_digits(text: str) -> list[str]:
    return [word for word in canonical_words(text) if not any(map(str.isdigit, word))]


def _title_words(title: str) -> list[str]:
    visible = plain_line(fold(title))
    words = visible.split()
    if all(map(str.isalnum, words)):
        return words
    return [
        word for word in _PUNCTUATION.sub("", visible).split() if not _ONLY_MARKS.fullmatch(word)
    ]
