"""Shingles by their checksums: the way of two articles for PHP and Node.js.

Words at blanks, a list of marks that are removed, a list of short words that are dropped;
overlapping shingles of 3 or 10 words; CRC-32 of each. PHP gives a signed number and divides by
the words of the first text; Node.js takes Dice's coefficient of all shingles, times 100. PHP's
`strtolower` changes the case of letters of ASCII only.
"""

from __future__ import annotations

from binascii import crc32

MARKS = ',.!?()-—:;"'
DROPPED_WORDS = frozenset(
    "это как так в на над к ко до за то с со для о ну же ж что он она б бы ли и у".split()  # noqa: SIM905
)


def _lower_ascii(text: str) -> str:
    return text.encode().lower().decode()


def clean_words(text: str) -> list[str]:
    kept = []
    for piece in text.split(" "):
        word = "".join(char for char in _lower_ascii(piece) if char not in MARKS).strip()
        if word and word not in DROPPED_WORDS:
            kept.append(word)
    return kept


def signed_checksums(words: list[str], size: int = 3) -> list[int]:
    sums = []
    start = 0
    while start + size <= len(words):
        value = crc32(" ".join(words[start : start + size]).encode())
        sums.append(value - 2**32 if value >= 2**31 else value)
        start += 1
    return sums


def percent_of_words(a: str, b: str) -> float:
    words = clean_words(a)
    other = signed_checksums(clean_words(b))
    shared = [value for value in signed_checksums(words) if value in other]
    return len(shared) / len(words) * 100


def percent_by_dice(a: list[str], b: list[str], size: int = 10) -> float:
    first, second = signed_checksums(a, size), signed_checksums(b, size)
    count = sum(value in second for value in first)
    return count * 2 / (len(first) + len(second)) * 100
