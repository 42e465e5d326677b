"""Text -> canonical words with options, as a value that is part of the signature scheme.

Without options the words are those of `words.py`; the language packs that some options need are
in `languages`.
"""

from __future__ import annotations

import logging
import re
import unicodedata
from dataclasses import dataclass, fields, replace
from functools import cache, cached_property, lru_cache
from typing import TYPE_CHECKING

import numpy as np

from shingling.errors import require_accepted
from shingling.text.bounding import HAN, KANA, MARK, SEGMENTED, SEPARATOR, SINGLE, class_table, nfkc
from shingling.text.folding import fold, resolved, visible
from shingling.text.words import canonical_words, cut_by_class

if TYPE_CHECKING:
    from shingling.text.bounding import CharClasses

PARTS_OF_SPEECH = ("adjectives", "conjunctions", "determiners", "interjections", "prepositions")

_SWITCHES = ("markup", "keep_case", "keep_punctuation", "nouns", "stem")
_CHOICES = {
    "lemmas": ("none", "simplemma", "pymorphy3"),
    "chinese": ("characters", "jieba", "rjieba"),
    "japanese": ("characters", "sudachipy", "budoux"),
    "sort_words": ("none", "sentence", "text"),
}
_LANGUAGE = re.compile(r"auto|[a-z]{2,3}")
_SENTENCE_END = re.compile(r"(?<=[.!?…])\s|[。！？\n]")

# Languages whose parts of speech are known, and the pack for each.
_TAGGERS = {"en": "HanTa", "de": "HanTa", "ru": "pymorphy3"}


@dataclass(frozen=True)
class Canonicaliser:
    """How a text is cut into canonical words: by default as `canonical_words` does.

    An option that depends on the language leaves a text as it is where its pack does not know
    the language. Language packs are imported when `words` is called first, not when a value is
    made.

    Args:
        language: of every text, as ISO 639 code of two or three letters; with "auto" it is
            detected from each text (py3langid) if an option depends on it.
        markup: remove HTML tags, comments, scripts and styles.
        keep_case: do not fold case.
        keep_punctuation: make each punctuation mark or symbol a word of its own.
        stop_words: words to drop. True or "short" for the function words of the language, "long"
            for the stop words of stopwords-iso; a list of words, in any language; a list of
            words with + or - before each, to be added to or taken from the short list (after the
            item "long", the long one).
        lemmas: "none", "simplemma" or "pymorphy3" (for Russian; else as "simplemma").
        nouns: bring nouns to the singular and nominative (en, de: HanTa; ru: pymorphy3).
        drop: parts of speech to drop, of `PARTS_OF_SPEECH` (packs as for `nouns`).
        chinese: cut Chinese into "characters", or words by "jieba" or "rjieba".
        japanese: cut Japanese into "characters", words by "sudachipy" (split mode C) or
            phrases by "budoux".
        stem: bring words to their stem (Snowball), after stop words are dropped.
        sort_words: "none", or order the words of each "sentence", or of the "text", by their
            code points.

    Raises:
        SchemeError: an option has a value that is not accepted.
    """

    language: str = "auto"
    markup: bool = False
    keep_case: bool = False
    keep_punctuation: bool = False
    stop_words: bool | str | tuple[str, ...] = False
    lemmas: str = "none"
    nouns: bool = False
    drop: tuple[str, ...] = ()
    chinese: str = "characters"
    japanese: str = "characters"
    stem: bool = False
    sort_words: str = "none"

    def __post_init__(self) -> None:
        language = self.language
        is_code = isinstance(language, str) and _LANGUAGE.fullmatch(language)
        require_accepted(is_code, "language", language, "auto, or 2 or 3 letters a-z")
        for option in _SWITCHES:
            value = getattr(self, option)
            require_accepted(isinstance(value, bool), option, value, "true or false")
        for option, choices in _CHOICES.items():
            value = getattr(self, option)
            require_accepted(value in choices, option, value, " or ".join(choices))
        drop = self.drop
        are_parts = isinstance(drop, (list, tuple)) and all(
            part in PARTS_OF_SPEECH for part in drop
        )
        require_accepted(are_parts, "drop", drop, f"a list of {', '.join(PARTS_OF_SPEECH)}")
        object.__setattr__(self, "drop", tuple(sorted(set(drop))))
        if self.stop_words is not False:
            from shingling.text.languages import read_stop_words

            object.__setattr__(self, "stop_words", read_stop_words(self.stop_words))

    def require_packs(self) -> None:
        """Check that the language packs which the options need are installed.

        Raises:
            SchemeError: one is not; the message has the line that installs it.
        """
        if needed := self._packs():
            from shingling.text.languages import packs

            packs.require(needed)

    def options_without_effect(self) -> list[str]:
        """List the options that have no effect in the language that is named.

        With the language "auto", there are none.

        Raises:
            SchemeError: a pack that the options need is not installed.
        """
        if self.language == "auto":
            return []
        from shingling.text.languages import packs

        self.require_packs()
        default = Canonicaliser()
        chosen = [
            option.name
            for option in fields(self)
            if getattr(self, option.name) != getattr(default, option.name)
        ]
        has_effect = {
            "stop_words": bool(self._stop_words(self.language)),
            "stem": packs.has_stems(self.language),
            "lemmas": "lemmas" in chosen and packs.has_lemmas(self.language, self.lemmas),
            **dict.fromkeys(("nouns", "drop"), self.language in _TAGGERS),
            "chinese": self.language == "zh",
            "japanese": self.language == "ja",
        }
        return [name for name, has_one in has_effect.items() if name in chosen and not has_one]

    def pack_versions(self) -> dict[str, str]:
        """Installed version of each language pack that the options need.

        Raises:
            SchemeError: one is not installed.
        """
        self.require_packs()
        needed = self._packs()
        if not needed:
            return {}
        from shingling.text.languages import packs

        return packs.versions(needed)

    def words(self, text: str) -> list[str]:
        """Cut a text into canonical words.

        In this order: markup is removed; the text, in Unicode NFKC, is cut into words; words
        are dropped by part of speech, nouns brought to the singular and words to their lemma;
        stop words are dropped; words are brought to their stem; case is folded; words are sorted.

        Raises:
            SchemeError: a pack that the options need is not installed.
        """
        plain = plain_text(self, text)
        if plain is not None:
            return canonical_words(plain)
        return [word for word in self._forms(text) if word]

    @property
    def drops_words(self) -> bool:
        """Whether some words of a text may be dropped."""
        return bool(self.stop_words or self.drop)

    def count_left(self, text: str) -> tuple[int, int]:
        """Count the words of a text that are left, and all that it is cut into.

        Raises:
            SchemeError: a pack that the options need is not installed.
        """
        forms = self._forms(text)
        return sum(map(bool, forms)), len(forms)

    def content_words(self, text: str, words: list[str]) -> list[str]:
        """`words` of a text without the function words of its language.

        They are all its `words` if its language is not known (not named, and detected for no
        option), if the stop words go by language already, or if no others are left.
        """
        from shingling.text.languages import depend_on_language

        known = self.language != "auto" or self._depends_on_language()
        if not known or depend_on_language(self.stop_words):
            return words
        return self._without_function_words.words(text) or words

    @cached_property
    def _without_function_words(self) -> Canonicaliser:
        own = self.stop_words if isinstance(self.stop_words, tuple) else ()
        return replace(self, stop_words=tuple(f"+{word}" for word in own) or True)

    def _forms(self, text: str) -> list[str]:
        """Forms of the words of a text; "" for those that are dropped."""
        self.require_packs()
        if self.markup:
            from shingling.text.markup import remove_markup

            text = remove_markup(text)
        language = self._language_of(text)
        parts = _SENTENCE_END.split(text) if self.sort_words == "sentence" else [text]
        stopped = self._stop_words(language)
        forms: dict[str, str] = {}
        all_forms: list[str] = []
        for part in parts:
            words = self._cut(part, language) if part else []
            new = {*words} - forms.keys()
            forms |= {word: self._form(word, language, stopped) for word in new}
            shown = [forms[word] for word in words]
            all_forms += shown if self.sort_words == "none" else sorted(shown)
        return all_forms

    def _language_of(self, text: str) -> str:
        """Language of a text; "" if it is not named, and no option depends on it."""
        if self.language != "auto":
            return self.language
        if not self._depends_on_language():
            return ""
        from shingling.text.languages import packs

        return packs.detect(text)

    def _stop_words(self, language: str) -> frozenset[str]:
        from shingling.text.languages import stop_word_packs, stop_words

        # A Chinese or Japanese word that is a letter may be a part of any other word.
        whole = {"zh": self.chinese, "ja": self.japanese}.get(language) != "characters"
        is_known = whole or stop_word_packs(self.stop_words)
        return stop_words(self.stop_words, language if is_known else "")

    @property
    def counts_add_up(self) -> bool:
        """Whether a text has as many words as its lines have together."""
        return self._is_plain and not self.markup

    @cached_property
    def _is_plain(self) -> bool:
        return replace(self, language="auto", markup=False) == Canonicaliser()

    def _depends_on_language(self) -> bool:
        from shingling.text.languages import depend_on_language

        chosen = self.lemmas, self.chinese, self.japanese
        return (
            depend_on_language(self.stop_words)
            or bool(self.stem or self.nouns or self.drop)
            or chosen != ("none", "characters", "characters")
        )

    def _packs(self) -> list[str]:
        """Language packs that the words of some text need."""
        if self._is_plain:
            return []
        from shingling.text.languages import stop_word_packs

        auto = self.language == "auto"
        chinese, japanese, russian = (
            auto or self.language == language for language in ("zh", "ja", "ru")
        )
        by_pymorphy3 = self.lemmas == "pymorphy3"
        other_lemmas = self.lemmas == "simplemma" or (by_pymorphy3 and self.language != "ru")
        needed = [
            ("py3langid", auto and self._depends_on_language()),
            *((pack, True) for pack in stop_word_packs(self.stop_words)),
            ("snowballstemmer", self.stem),
            ("simplemma", other_lemmas),
            ("pymorphy3", by_pymorphy3 and russian),
            *(
                (pack, (self.nouns or self.drop) and (auto or self.language == code))
                for code, pack in _TAGGERS.items()
            ),
            (self.chinese, self.chinese != "characters" and chinese),
            (self.japanese, self.japanese != "characters" and japanese),
            ("sudachidict_core", self.japanese == "sudachipy" and japanese),
        ]
        return list(dict.fromkeys(pack for pack, is_needed in needed if is_needed))

    def _cut(self, text: str, language: str) -> list[str]:
        """Words of a text, in their case if a later step looks at it."""
        # Dictionaries have "Straße" and "οδός", and not what folding makes of them.
        cased = self.keep_case or self.nouns or self.drop != () or self.lemmas != "none"
        pack = {"zh": self.chinese, "ja": self.japanese}.get(language, "characters")
        segmented = "" if pack == "characters" else language
        if not (cased or self.keep_punctuation or segmented):
            return canonical_words(text)
        classes = _classes_with(self.keep_punctuation, segmented)
        normalised = visible(resolved(text), _nfkc_with_case) if cased else fold(text)
        words = cut_by_class(normalised, classes)
        if not segmented:
            return words
        from shingling.text.languages import packs

        segment = packs.segmenter(pack)
        class_of = classes.data
        pieces = []
        for word in words:
            if class_of[ord(word[0])] == SEGMENTED:
                pieces += [
                    piece
                    for piece in segment(word)
                    if any(class_of[ord(char)] != MARK for char in piece)
                ]
            else:
                pieces.append(word)
        return pieces

    def _form(self, word: str, language: str, stopped: frozenset[str]) -> str:
        """Form of a word that counts; "" if it is dropped."""
        from shingling.text.languages import packs

        if (self.nouns or self.drop) and language in _TAGGERS:
            analysis = packs.analyse(word, language)
            if analysis.part in self.drop:
                return ""
            if self.nouns:
                word = analysis.noun
        if self.lemmas == "pymorphy3" and language == "ru":
            word = packs.analyse(word, language).lemma
        elif self.lemmas != "none":
            # Without case, a heading in capitals has the lemmas of the same words in a sentence.
            word = packs.lemma(word if self.keep_case else word.lower(), language)
        folded = _fold_word(word)
        if folded in stopped:
            return ""
        word = word if self.keep_case else folded
        return packs.stem(word, language) if self.stem else word


def plain_text(canonicaliser: Canonicaliser, text: str) -> str | None:
    """Text whose `canonical_words` are those that a canonicaliser cuts; None if there is none."""
    if not canonicaliser._is_plain:
        return None
    if canonicaliser.markup:
        from shingling.text.markup import remove_markup

        return remove_markup(text)
    return text


def _nfkc_with_case(text: str) -> str:
    """Text, bounded, in NFKC, in its case; an iota below a letter becomes one, as in folding."""
    return nfkc(text).replace("\N{COMBINING GREEK YPOGEGRAMMENI}", "ι")


_fold_word = lru_cache(1 << 16)(fold)
_SEGMENTED_RANGES = {"": [], "zh": HAN, "ja": HAN + KANA}


@cache
def _classes_with(punctuation: bool, language: str) -> CharClasses:
    """Class of every code point under these options: uint8[0x110000].

    Args:
        punctuation: punctuation marks and symbols are words by themselves.
        language: "zh" or "ja" if a pack cuts its scripts into words, else "".
    """
    classes = class_table().copy()
    if punctuation:
        for code in np.flatnonzero(classes[:0x20000] == SEPARATOR).tolist():
            if unicodedata.category(chr(code))[0] in "PS":
                classes[code] = SINGLE
    for low, high in _SEGMENTED_RANGES[language]:
        letters = classes[low : high + 1]
        letters[letters == SINGLE] = SEGMENTED
    return classes


logger = logging.getLogger(__name__)

_MIN_TEXTS, _MAX_TEXTS = 5, 20
_MIN_WORDS = 20  # of a text that is counted: of a short one, little may be left by chance
_MIN_SHARE = 0.5


class WordsLeft:
    """What a canonicaliser leaves of the first texts of a crawl or a command.

    Warns once, if there are 5 texts, and less than half of the words of most of them are left.
    At most 20 texts are looked at.

    Args:
        canonical: by which the texts are cut into words.
    """

    def __init__(self, canonical: Canonicaliser) -> None:
        self._canonical = canonical
        self._texts = self._little_left = 0
        self.is_open = canonical.drops_words

    def count_words_of(self, text: str) -> None:
        """Count what is left of a text, if it is one of the first."""
        if not self.is_open:
            return
        left, words = self._canonical.count_left(text)
        if words < _MIN_WORDS:
            return
        self._texts += 1
        self._little_left += left < _MIN_SHARE * words
        is_little = self._texts >= _MIN_TEXTS and 2 * self._little_left > self._texts
        if is_little:
            logger.warning(
                "the stop words and dropped parts of speech of DEDUP_SCHEME take more than half of"
                " the words of %d of the first %d texts: texts that differ only in those words are"
                " taken for the same",
                self._little_left,
                self._texts,
            )
        self.is_open = not is_little and self._texts < _MAX_TEXTS
