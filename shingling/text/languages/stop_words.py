"""Stop words: the lists of the package, and those that a scheme has of its own."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import TypeAlias

from shingling.errors import SchemeError
from shingling.text import languages
from shingling.text.folding import nfkc_casefold

StopWords: TypeAlias = bool | str | tuple[str, ...]
"""False for none; True for the short list of the language, "long" for the long one; words of any
language; or, each with + or - before it, changes of the short list (of the long one after "long").
"""

_MAX_WORDS_SHOWN = 20
LISTS = ("short", "long")
ACCEPTED = "true, false, short, long, a list of words, or words that each begin with + or -"


def read_stop_words(chosen: object) -> StopWords:
    """Check a choice of stop words, and bring it to its only form.

    Raises:
        SchemeError: it is not accepted.
    """
    if isinstance(chosen, bool):
        return chosen
    if isinstance(chosen, str):
        if chosen in LISTS:
            return chosen == "short" or chosen
        if is_file_name(chosen):
            raise _not_accepted(chosen)
        chosen = chosen.split()
    if not isinstance(chosen, (list, tuple)) or not all(isinstance(one, str) for one in chosen):
        raise _not_accepted(chosen)
    changes = any(_is_change(word) for word in chosen)
    bases = {word for word in chosen if changes and word in LISTS}
    words = {_fold(word, changes) for word in chosen if word not in bases}
    if len(bases) > 1:
        raise _not_accepted(chosen)
    for word in words:
        if word[0] == "+" and f"-{word[1:]}" in words and changes:
            raise SchemeError(f"stop_words: {word[1:]!r} is added and taken away")
    return (*sorted(bases - {"short"}), *sorted(words)) or False


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
    return bool(chosen) and (not isinstance(chosen, tuple) or _are_changes(chosen))


def stop_word_packs(chosen: StopWords) -> list[str]:
    """Language packs that have the words."""
    long = chosen == "long" or (isinstance(chosen, tuple) and _base(chosen) == "long")
    return ["stopwordsiso"] if long else []


@cache
def stop_words(chosen: StopWords, language: str) -> frozenset[str]:
    """Stop words in a language, case folded; a list of the package may have none of it."""
    if not isinstance(chosen, tuple):
        return _listed(chosen, language)
    if not _are_changes(chosen):
        return frozenset(chosen)
    added = {word[1:] for word in chosen if word[0] == "+"}
    taken = {word[1:] for word in chosen if word[0] == "-"}
    return (_listed(_base(chosen), language) | added) - taken


@cache
def function_words() -> dict[str, frozenset[str]]:
    """Read the short lists, case folded, by language (ISO 639-1)."""
    found: dict[str, set[str]] = {}
    text = files(__package__).joinpath("function_words.txt").read_text("utf-8")
    for line in read_lines(text):
        if line[0] == "[":
            words = found[line[1:-1]] = set()
        else:
            words.update(map(nfkc_casefold, line.split()))
    return {language: frozenset(words) for language, words in found.items()}


def _listed(chosen: bool | str, language: str) -> frozenset[str]:
    """Words of a list of the package."""
    if chosen == "long":
        return languages.long_stop_words(language)
    code = languages.NORWEGIAN.get(language, language)
    return function_words().get(code, frozenset()) if chosen else frozenset()


def _base(changes: tuple[str, ...]) -> bool | str:
    return "long" if changes[0] == "long" else True


def _is_change(word: str) -> bool:
    return word[:1] in ("+", "-")


def _are_changes(words: tuple[str, ...]) -> bool:
    return _is_change(words[-1])


def _fold(word: str, is_change: bool) -> str:
    sign, word = (word[:1], word[1:]) if is_change else ("", word)
    folded = nfkc_casefold(word.strip())
    if not folded or len(folded.split()) > 1 or is_change != _is_change(sign or folded):
        raise _not_accepted(sign + word)
    return sign + folded


def _not_accepted(chosen: object) -> SchemeError:
    return SchemeError(f"stop_words {chosen!r} is not accepted: {ACCEPTED}")
