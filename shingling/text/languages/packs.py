"""Language packs that options of the canonicaliser need, each imported at its first use.

Words come in as `canonical.py` cuts them from a text, and go back as lemma, noun, stem or pieces.
"""

from __future__ import annotations

import re
import unicodedata
import warnings
from functools import cache, lru_cache
from importlib import import_module
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from shingling.errors import SchemeError
from shingling.text.folding import fold
from shingling.text.words import canonical_words

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    Cut: TypeAlias = Callable[[str], list[str]]

# Module of each pack, and the extra of this package that installs it.
EXTRAS = {
    "py3langid": "languages",
    "simplemma": "languages",
    "stopwordsiso": "languages",
    "snowballstemmer": "languages",
    "HanTa": "tagger",
    "pymorphy3": "russian",
    "jieba": "chinese",
    "rjieba": "chinese",
    "sudachipy": "japanese",
    "sudachidict_core": "japanese",
    "budoux": "japanese",
}

_DISTRIBUTIONS = {"sudachidict_core": "SudachiDict-core"}  # if the module has another name

_DETECTION_CHARS = 2000
_MIN_DETECTION_PROBABILITY = 0.2  # below it, mostly another language is detected
# Members of a macrolanguage of ISO 639-3, if the packs know only that one; "zxx" is none.
_MACROLANGUAGES = {"zxx": "", "ary": "ar", "arz": "ar", "wuu": "zh", "yue": "zh"}
_LEMMA_CODES = {"no": "nb", "bs": "hbs", "hr": "hbs", "sr": "hbs"}
NORWEGIAN = {"nb": "no", "nn": "no"}
"""Codes of the written forms of Norwegian, if lists have one for both."""

# The time that some packs take grows with the square of the length, or faster.
_MAX_WORD_CHARS = 40
_MAX_RUN_CHARS = 200

_CACHED_WORDS = 1 << 16


def require(packs: Iterable[str]) -> None:
    """Check that packs are installed.

    Raises:
        SchemeError: some are not; the message has the line that installs them.
    """
    missing = [pack for pack in packs if not _installed(pack)]
    if missing:
        extras = ", ".join(dict.fromkeys(EXTRAS[pack] for pack in missing))
        raise SchemeError(
            f"the canonical words need {', '.join(missing)}, not installed here:"
            f" pip install {' '.join(missing)} (extra {extras})"
        )


def versions(packs: Iterable[str]) -> dict[str, str]:
    """Installed version of each pack; another version may give other words."""
    return {pack: version(_DISTRIBUTIONS.get(pack, pack)) for pack in packs}


@cache
def _installed(pack: str) -> bool:
    return find_spec(pack) is not None


def detect(text: str) -> str:
    """Detect the language of a text with py3langid.

    Only the first 2,000 characters count, regardless of white space between words.

    Returns:
        ISO 639 code of two or three letters; "" if the probability is below 0.2.
    """
    sample = " ".join(text[: 8 * _DETECTION_CHARS].split())[:_DETECTION_CHARS]
    language, probability = _identifier().classify(sample.encode("utf-8", "ignore").decode())
    return (
        _MACROLANGUAGES.get(language, str(language))
        if probability >= _MIN_DETECTION_PROBABILITY
        else ""
    )


@cache
def _identifier() -> Any:
    # Not the shared one of the module, whose languages other code in the process may restrict.
    langid = import_module("py3langid.langid")
    return langid.LanguageIdentifier.from_model_file(langid.MODEL_FILE, norm_probs=True)


@cache
def long_stop_words(language: str) -> frozenset[str]:
    """Stop words of a language by stopwords-iso, case folded; none if it has no list."""
    entries = import_module("stopwordsiso").stopwords(language)
    # Some lists hold punctuation too, which is no word.
    folded = {*map(fold, entries)}
    return frozenset(entry for entry in folded if canonical_words(entry))


def lemma(word: str, language: str) -> str:
    """Lemma of a word by simplemma; the word itself if it knows none."""
    language = _LEMMA_CODES.get(language, language)
    known = language in _lemma_languages() and len(word) <= _MAX_WORD_CHARS
    return _simplemma(word, language) if known and any(map(str.isalpha, word)) else word


def has_lemmas(language: str, lemmas: str) -> bool:
    """Whether a value of the option `lemmas` has an effect in a language."""
    if lemmas == "pymorphy3" and language == "ru":
        return True
    return _LEMMA_CODES.get(language, language) in _lemma_languages()


@lru_cache(_CACHED_WORDS)
def _simplemma(word: str, language: str) -> str:
    return _one_word(_lemmatizer().lemmatize(word, language), word)


@cache
def _lemma_languages() -> frozenset[str]:
    factory = import_module("simplemma.strategies.dictionaries.dictionary_factory")
    return frozenset(factory.SUPPORTED_LANGUAGES)


@cache
def _lemmatizer() -> Any:
    # Dictionaries stay compressed: 20 MB for a large one, not 120 MB, so that those of all
    # languages fit. A word takes 20 microseconds to look up, so `_simplemma` caches words.
    strategies = import_module("simplemma.strategies")
    dictionaries = import_module("simplemma.strategies.dictionaries")
    factory = dictionaries.StreamDictionaryFactory(cache_max_size=len(_lemma_languages()))
    return import_module("simplemma").Lemmatizer(
        cache_max_size=0,
        lemmatization_strategy=strategies.DefaultStrategy(dictionary_factory=factory),
    )


def has_stems(language: str) -> bool:
    """Whether there is a stemmer for a language."""
    return language in _STEMMERS


@lru_cache(_CACHED_WORDS)
def stem(word: str, language: str) -> str:
    """Stem of a word by Snowball; the word itself if there is no stemmer."""
    if language not in _STEMMERS or len(word) > _MAX_WORD_CHARS or word.isdigit():
        return word
    name = _STEMMERS[language]
    # Not by the function `stemmer`, which takes PyStemmer if that is installed: its version may
    # be another. One for each word: it has state, and threads must not share one.
    stemmer = getattr(import_module(f"snowballstemmer.{name}_stemmer"), f"{name.title()}Stemmer")
    return _one_word(str(stemmer().stemWord(word)), word)


_STEMMERS = {
    "ar": "arabic",
    "ca": "catalan",
    "cs": "czech",
    "da": "danish",
    "de": "german",
    "el": "greek",
    "en": "english",
    "eo": "esperanto",
    "es": "spanish",
    "et": "estonian",
    "eu": "basque",
    "fa": "persian",
    "fi": "finnish",
    "fr": "french",
    "ga": "irish",
    "hi": "hindi",
    "hu": "hungarian",
    "hy": "armenian",
    "id": "indonesian",
    "it": "italian",
    "lt": "lithuanian",
    "nb": "norwegian",
    "ne": "nepali",
    "nl": "dutch",
    "nn": "norwegian",
    "no": "norwegian",
    "pl": "polish",
    "pt": "portuguese",
    "ro": "romanian",
    "ru": "russian",
    "sr": "serbian",
    "sv": "swedish",
    "ta": "tamil",
    "tr": "turkish",
    "yi": "yiddish",
}


class Analysis(NamedTuple):
    """Grammatical analysis of a word without its context.

    `part` is its part of speech if that is one of `PARTS_OF_SPEECH`, else ""; `noun` is its
    nominative singular if it is a noun, else the word.
    """

    part: str
    noun: str
    lemma: str


def analyse(word: str, language: str) -> Analysis:
    """Analyse a word: in English ("en") and German ("de") by HanTa, else by pymorphy3."""
    alphabet = _LATIN if language in _HANTA_MODELS else _CYRILLIC
    if len(word) > _MAX_WORD_CHARS or not alphabet.fullmatch(word):
        return Analysis("", word, word)
    return _hanta(word, language) if language in _HANTA_MODELS else _russian(word)


# pymorphy3 fails on a letter without a Unicode name; HanTa is slow on letters it does not know.
_LATIN = re.compile(r"[A-Za-z\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u024f]+")
_CYRILLIC = re.compile(r"[\u0400-\u052f\u0300\u0301]+")


def _one_word(form: str, word: str) -> str:
    """Form that a pack gives a word; the word itself if the form is not a single word."""
    whole = all(char.isalnum() or unicodedata.category(char)[0] == "M" for char in form)
    return form if form and whole else word


_HANTA_MODELS = {"en": "morphmodel_en.pgz", "de": "morphmodel_ger.pgz"}
_HANTA_NOUNS = {"en": ("NN", "NN0", "NN1", "NN2"), "de": ("NN", "NNA", "NNI")}
# The tags are those of the British National Corpus (C5) and of Stuttgart and Tübingen (STTS).
# TO0 is the "to" before a verb; without context it looks like the preposition.
_HANTA_PARTS = {
    "en": {
        **dict.fromkeys(("AJ0", "AJC", "AJS"), "adjectives"),
        **dict.fromkeys(("CJC", "CJS", "CJT"), "conjunctions"),
        **dict.fromkeys(("AT0", "DPS", "DT0", "DTQ"), "determiners"),
        "ITJ": "interjections",
        **dict.fromkeys(("IN", "PRF", "PRP", "TO0"), "prepositions"),
    },
    "de": {
        **dict.fromkeys(("ADJ(A)", "ADJ(D)"), "adjectives"),
        **dict.fromkeys(("KOKOM", "KON", "KOUI", "KOUS"), "conjunctions"),
        **dict.fromkeys(("ART", "PDAT", "PIAT", "PPOSAT", "PRELAT", "PWAT"), "determiners"),
        "ITJ": "interjections",
        **dict.fromkeys(("APPO", "APPR", "APPRART", "APZR"), "prepositions"),
    },
}


@lru_cache(_CACHED_WORDS)
def _hanta(word: str, language: str) -> Analysis:
    # German nouns have a capital; in English a capital may be that of a title or a sentence.
    form, tag = _tagger(language).analyze(word, casesensitive=language == "de")
    form = _one_word(form, word)
    noun = form if tag in _HANTA_NOUNS[language] else word
    return Analysis(_HANTA_PARTS[language].get(tag, ""), noun, form)


@cache
def _tagger(language: str) -> Any:
    hanta = import_module("HanTa.HanoverTagger")
    # By its full path: HanTa prefers a file of this name in the current folder, and unpickles it.
    return hanta.HanoverTagger(str(Path(str(hanta.__file__)).with_name(_HANTA_MODELS[language])))


_RUSSIAN_PARTS = {
    "ADJF": "adjectives",
    "ADJS": "adjectives",
    "CONJ": "conjunctions",
    "INTJ": "interjections",
    "PREP": "prepositions",
}


@lru_cache(_CACHED_WORDS)
def _russian(word: str) -> Analysis:
    parse = _morphology().parse(word)[0]
    part = _RUSSIAN_PARTS.get(parse.tag.POS, "")
    if part == "adjectives" and "Apro" in parse.tag:  # a pronoun that agrees with its noun
        part = "determiners"
    noun = None
    if parse.tag.POS == "NOUN":  # some have no singular
        noun = parse.inflect({"sing", "nomn"}) or parse.inflect({"nomn"})
    return Analysis(
        part,
        _one_word(noun.word, word) if noun else word,
        _one_word(parse.normal_form, word),
    )


@cache
def _morphology() -> Any:
    # By its path: an environment variable could name another dictionary.
    path = import_module("pymorphy3_dicts_ru").get_path()
    return import_module("pymorphy3").MorphAnalyzer(path=path, lang="ru")


def segmenter(pack: str) -> Cut:
    """Make a function that cuts runs of letters of one text into words, by a pack."""
    cut = _SEGMENTERS[pack]()

    def segment(run: str) -> list[str]:
        if len(run) <= _MAX_RUN_CHARS:
            return cut(run)
        pieces = [run[at : at + _MAX_RUN_CHARS] for at in range(0, len(run), _MAX_RUN_CHARS)]
        return [word for piece in pieces for word in cut(piece)]

    return segment


@cache
def _jieba() -> Any:
    with warnings.catch_warnings():
        # jieba 0.42 has invalid escapes in its strings and imports pkg_resources.
        warnings.simplefilter("ignore")
        jieba = import_module("jieba")
    # Not by its `initialize`, which writes to stderr, and unmarshals a cache from the folder for
    # temporary files, where anybody may have put it.
    tokenizer = jieba.Tokenizer()
    with Path(str(jieba.__file__)).with_name("dict.txt").open("rb") as file:
        tokenizer.FREQ, tokenizer.total = tokenizer.gen_pfdict(file)
    tokenizer.initialized = True
    return tokenizer.lcut


@cache
def _rjieba() -> Any:
    return import_module("rjieba").Jieba().cut


@cache
def _sudachi_dictionary() -> Any:
    return import_module("sudachipy").Dictionary(dict="core")


def _sudachi() -> Cut:
    # One for each text: it costs a microsecond, and threads must not share one.
    tokenizer = _sudachi_dictionary().tokenizer("C", fields={"surface"})
    return lambda run: [morpheme.raw_surface() for morpheme in tokenizer.tokenize(run)]


@cache
def _budoux() -> Any:
    return import_module("budoux").load_default_japanese_parser().parse


_SEGMENTERS: dict[str, Callable[[], Cut]] = {
    "jieba": _jieba,
    "rjieba": _rjieba,
    "sudachipy": _sudachi,
    "budoux": _budoux,
}
