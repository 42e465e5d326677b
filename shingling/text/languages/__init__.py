"""What depends on the language of a text: stop words, and packs that analyse its words.

Stop words are those of lists of the package, or those that a scheme has of its own. `packs`, which
detects languages as well, is imported when it is used: most schemes name no language.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple, TypeAlias

from shingling.errors import SchemeError, require_accepted
from shingling.text.folding import fold
from shingling.text.words import fold_line

StopWords: TypeAlias = bool | str | tuple[str, ...]
"""False for none; True for the short list of the language, "long" for the long one; words of any
language; or, each with + or - before it, changes of the short list (of the long one after "long").
"""

_MAX_WORDS_SHOWN = 20
LISTS = ("short", "long")
_ACCEPTED = "true, false, short, long, a list of words, or words that each begin with + or -"


def read_stop_words(chosen: Any) -> StopWords:
    """Check a choice of stop words, and bring it to its only form.

    Raises:
        SchemeError: it is not accepted.
    """
    if isinstance(chosen, bool):
        return chosen
    if isinstance(chosen, str) and chosen in LISTS:
        return chosen == "short" or chosen
    words = chosen.split() if isinstance(chosen, str) else chosen
    are_words = isinstance(words, (list, tuple)) and all(isinstance(word, str) for word in words)
    require_accepted(are_words and not is_file_name(chosen), "stop_words", chosen, _ACCEPTED)
    changes = any(map(_is_change, words))
    bases = {word for word in words if changes and word in LISTS}
    require_accepted(len(bases) <= 1, "stop_words", chosen, _ACCEPTED)
    folded = {_fold(word, changes) for word in words if word not in bases}
    for word in folded:
        if word[0] == "+" and f"-{word[1:]}" in folded:
            raise SchemeError(f"stop_words: {word[1:]!r} is added and taken away")
    return (*sorted(bases - {"short"}), *sorted(folded)) or False


def describe_stop_words(chosen: StopWords) -> StopWords | list[str]:
    """Choice of stop words as settings take it; many words are given by their number."""
    if not isinstance(chosen, tuple):
        return "short" if chosen is True else chosen
    return [*chosen] if len(chosen) <= _MAX_WORDS_SHOWN else f"{len(chosen):,} words"


def read_lines(text: str) -> list[str]:
    """Words of a file: one a line, `#` before a comment."""
    lines = (line.partition("#")[0].strip() for line in text.splitlines())
    return [line for line in lines if line]


def is_file_name(chosen: object) -> bool:
    """Whether a choice of stop words is to be read from a file."""
    return isinstance(chosen, str) and chosen not in LISTS and not _is_change(chosen)


def depend_on_language(chosen: StopWords) -> bool:
    """Whether texts in different languages have different stop words."""
    return _changes_of(chosen).base != ""


def stop_word_packs(chosen: StopWords) -> list[str]:
    """Language packs that have the words."""
    return ["stopwordsiso"] if _changes_of(chosen).base == "long" else []


@cache
def stop_words(chosen: StopWords, language: str) -> frozenset[str]:
    """Stop words in a language, case folded; a list of the package may have none of it."""
    changes = _changes_of(chosen)
    listed: frozenset[str] = frozenset()
    if changes.base:
        from shingling.text.languages.packs import NORWEGIAN, long_stop_words

        language = NORWEGIAN.get(language, language)
        is_long = changes.base == "long"
        listed = long_stop_words(language) if is_long else function_words().get(language, listed)
    return (listed | changes.added) - changes.taken


class _Changes(NamedTuple):
    """A list of the package, "short", "long" or "" for none, and the words that change it."""

    base: str
    added: frozenset[str] = frozenset()
    taken: frozenset[str] = frozenset()


@cache
def _changes_of(chosen: StopWords) -> _Changes:
    if not isinstance(chosen, tuple):
        return _Changes("long" if chosen == "long" else "short" if chosen else "")
    if not _is_change(chosen[-1]):
        return _Changes("", frozenset(chosen))
    added, taken = (frozenset(w[1:] for w in chosen if w[0] == sign) for sign in "+-")
    return _Changes("long" if chosen[0] == "long" else "short", added, taken)


@cache
def function_words() -> dict[str, frozenset[str]]:
    """Read the short lists, case folded, by language (ISO 639-1)."""
    stop_words: dict[str, set[str]] = {}
    text = files(__package__).joinpath("function_words.txt").read_text("utf-8")
    for line in read_lines(text):
        if line[0] == "[":
            words = stop_words[line[1:-1]] = set()
        else:
            words.update(fold_line(line).split())
    return {language: frozenset(words) for language, words in stop_words.items()}


def _is_change(word: str) -> bool:
    return word[:1] in ("+", "-")


def _fold(word: str, is_change: bool) -> str:
    sign, word = (word[:1], word[1:]) if is_change else ("", word)
    folded = fold(word.strip())
    is_word = len(folded.split()) == 1 and is_change == _is_change(sign or folded)
    require_accepted(is_word, "stop_words", sign + word, _ACCEPTED)
    return sign + folded
