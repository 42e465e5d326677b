"""Words with the hash of other words, which anybody can make: CRCs are linear."""

from __future__ import annotations

from shingling.sketch.shingles import word_hashes

_PLAIN = "a" * 76  # more letters than a hash has bits


def twin(word: str) -> str:
    """Return another word with the same CRC-64."""
    return word_of(_crc(word))


def word_of(crc: int) -> str:
    """Return a word with a CRC-64."""
    wanted, letters = crc ^ _crc(_PLAIN), 0
    for bits, others in _ROWS:
        if wanted ^ bits < wanted:
            wanted, letters = wanted ^ bits, letters ^ others
    return _spelled(letters)


def twins(text: str) -> str:
    """Return a text without a word of another one, which has the same signature."""
    return " ".join(map(twin, text.split()))


def _crc(word: str) -> int:
    return int(word_hashes([word])[0])


def _spelled(letters: int) -> str:
    """Return the plain word with other letters at the places of these bits."""
    return "".join("ce"[at % 2] if letters >> at & 1 else "a" for at in range(len(_PLAIN)))


def _solved() -> list[tuple[int, int]]:
    """Return what letters change of a hash, and which letters: each row another highest bit."""
    rows: list[tuple[int, int]] = []
    for at in range(len(_PLAIN)):
        letters = 1 << at
        changed = _crc(_spelled(letters)) ^ _crc(_PLAIN)
        for bits, others in rows:
            if changed ^ bits < changed:
                changed, letters = changed ^ bits, letters ^ others
        if changed:
            rows.append((changed, letters))
            rows.sort(reverse=True)
    return rows


_ROWS = _solved()
