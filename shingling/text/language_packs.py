"""The language packs that canonical words may need, each imported at its first use."""

from __future__ import annotations

import re
import sys
import unicodedata
import warnings
from functools import cache, lru_cache
from importlib import import_module
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from shingling.errors import SchemeError
from shingling.text.words import canonical_words

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

# The modules, and the extra of this package that installs each.
EXTRAS = {
    "py3langid": "languages",
    "simplemma": "languages",
    "stopwordsiso": "languages",
    "HanTa": "tagger",
    "pymorphy3": "russian",
    "jieba": "chinese",
    "rjieba": "chinese",
    "sudachipy": "japanese",
    "sudachidict_core": "japanese",
    "budoux": "japanese",
}

_DISTRIBUTIONS = {"sudachidict_core": "SudachiDict-core"}  # where the module has another name

_SAMPLE = 2000  # characters that the language is detected from
_SURE = 0.2  # below this probability the language detected is mostly not that of the text
# Languages that ISO 639-3 counts to one of ISO 639-1, where the packs know only that one.
_DETECTED = {"zxx": "", "ary": "ar", "arz": "ar", "wuu": "zh", "yue": "zh"}
_LEMMA_CODES = {"no": "nb", "bs": "hbs", "hr": "hbs", "sr": "hbs"}
_STOP_CODES = {"nb": "no", "nn": "no"}

# The time that some packs take grows with the square of the length, or faster.
_LONGEST_WORD = 40
_LONGEST_RUN = 200

_WORDS_KEPT = 1 << 16


def require(packs: Iterable[str]) -> None:
    """Raise SchemeError, with the line that installs them, if packs are not installed."""
    missing = [pack for pack in packs if not _installed(pack)]
    if missing:
        extras = ",".join(dict.fromkeys(EXTRAS[pack] for pack in missing))
        raise SchemeError(
            f"the canonical words need {', '.join(missing)}, not installed here: "
            f'pip install "scrapy-shingling[{extras}]"'
        )


def versions(packs: Iterable[str]) -> dict[str, str]:
    """Return the installed version of each pack: another one may give other words."""
    return {pack: version(_DISTRIBUTIONS.get(pack, pack)) for pack in packs}


def _installed(pack: str) -> bool:
    return sys.modules.get(pack, pack) is not None and _found(pack)


@cache
def _found(pack: str) -> bool:
    return find_spec(pack) is not None


def detect(text: str) -> str:
    """Return the language of a text by py3langid, as ISO 639 code, or "" where it is not sure.

    Only the first 2,000 characters count, whatever the white space between words.
    """
    sample = " ".join(text[: 8 * _SAMPLE].split())[:_SAMPLE]
    language, probability = _identifier().classify(sample.encode("utf-8", "ignore").decode())
    return _DETECTED.get(language, str(language)) if probability >= _SURE else ""


@cache
def _identifier() -> Any:
    # Not the one of the module, whose languages anybody in this process may restrict.
    langid = import_module("py3langid.langid")
    return langid.LanguageIdentifier.from_model_file(langid.MODEL_FILE, norm_probs=True)


@cache
def stop_words(language: str) -> frozenset[str]:
    """Return the stop words of a language by stopwords-iso, folded; none for other languages."""
    entries = import_module("stopwordsiso").stopwords(_STOP_CODES.get(language, language))
    # Some lists hold punctuation too, which is no word to drop.
    folded = {unicodedata.normalize("NFKC", entry).casefold() for entry in entries}
    return frozenset(entry for entry in folded if canonical_words(entry))


def lemma(word: str, language: str) -> str:
    """Return the lemma of a word by simplemma, or the word where it knows none."""
    language = _LEMMA_CODES.get(language, language)
    known = language in _lemma_languages() and len(word) <= _LONGEST_WORD
    return _simplemma(word, language) if known and any(map(str.isalpha, word)) else word


def has_lemmas(language: str, lemmas: str) -> bool:
    """Return whether a value of the option `lemmas` says anything of a language."""
    if lemmas == "pymorphy3" and language == "ru":
        return True
    return _LEMMA_CODES.get(language, language) in _lemma_languages()


@lru_cache(_WORDS_KEPT)
def _simplemma(word: str, language: str) -> str:
    return _one_word(_lemmatizer().lemmatize(word, language), word)


@cache
def _lemma_languages() -> frozenset[str]:
    factory = import_module("simplemma.strategies.dictionaries.dictionary_factory")
    return frozenset(factory.SUPPORTED_LANGUAGES)


@cache
def _lemmatizer() -> Any:
    # Dictionaries as they are stored: 20 MB for a large one and not 120 MB, so that those of all
    # languages can stay. Words are kept here, for they take 20 microseconds to look up.
    strategies = import_module("simplemma.strategies")
    dictionaries = import_module("simplemma.strategies.dictionaries")
    factory = dictionaries.StreamDictionaryFactory(cache_max_size=len(_lemma_languages()))
    return import_module("simplemma").Lemmatizer(
        cache_max_size=0,
        lemmatization_strategy=strategies.DefaultStrategy(dictionary_factory=factory),
    )


class Analysis(NamedTuple):
    """What a word is by itself.

    `part` is its part of speech where it is one of those to drop, else ""; `noun` is its
    singular and nominative where it is a noun, else the word.
    """

    part: str
    noun: str
    lemma: str


def analyse(word: str, language: str) -> Analysis:
    """Return what a word is, in English ("en") and German ("de") by HanTa, else by pymorphy3."""
    alphabet = _LATIN if language in _HANTA_MODELS else _CYRILLIC
    if len(word) > _LONGEST_WORD or not alphabet.fullmatch(word):
        return Analysis("", word, word)
    return _hanta(word, language) if language in _HANTA_MODELS else _russian(word)


# To pymorphy3 a letter without a name is an error, to HanTa every unknown one costs time.
_LATIN = re.compile(r"[A-Za-z\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u024f]+")
_CYRILLIC = re.compile(r"[\u0400-\u052f\u0300\u0301]+")


def _one_word(form: str, word: str) -> str:
    """Return the form that a pack gives a word, or the word itself if that is no single word."""
    whole = all(char.isalnum() or unicodedata.category(char)[0] == "M" for char in form)
    return form if form and whole else word


_HANTA_MODELS = {"en": "morphmodel_en.pgz", "de": "morphmodel_ger.pgz"}
_HANTA_NOUNS = {"en": ("NN", "NN0", "NN1", "NN2"), "de": ("NN", "NNA", "NNI")}
# The tags are those of the British National Corpus (C5) and of Stuttgart and Tübingen (STTS).
# TO0 is the "to" before a verb, which a word by itself cannot be told from the preposition.
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


@lru_cache(_WORDS_KEPT)
def _hanta(word: str, language: str) -> Analysis:
    # German nouns have a capital. In English one may only mean a title or a sentence's start.
    form, tag = _tagger(language).analyze(word, casesensitive=language == "de")
    form = _one_word(form, word)
    noun = form if tag in _HANTA_NOUNS[language] else word
    return Analysis(_HANTA_PARTS[language].get(tag, ""), noun, form)


@cache
def _tagger(language: str) -> Any:
    hanta = import_module("HanTa.HanoverTagger")
    # By its whole path: a file of this name in the current folder would be taken first, and
    # a model is a pickle.
    return hanta.HanoverTagger(str(Path(str(hanta.__file__)).with_name(_HANTA_MODELS[language])))


_RUSSIAN_PARTS = {
    "ADJF": "adjectives",
    "ADJS": "adjectives",
    "CONJ": "conjunctions",
    "INTJ": "interjections",
    "PREP": "prepositions",
}


@lru_cache(_WORDS_KEPT)
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


def segmenter(pack: str) -> Callable[[str], list[str]]:
    """Return what cuts a run of letters into words, for one text."""
    cut = _SEGMENTERS[pack]()

    def segment(run: str) -> list[str]:
        if len(run) <= _LONGEST_RUN:
            return cut(run)
        pieces = [run[at : at + _LONGEST_RUN] for at in range(0, len(run), _LONGEST_RUN)]
        return [word for piece in pieces for word in cut(piece)]

    return segment


@cache
def _jieba() -> Callable[[str], list[str]]:
    with warnings.catch_warnings():
        # jieba 0.42 has invalid escapes in its strings and imports pkg_resources.
        warnings.simplefilter("ignore")
        jieba = import_module("jieba")
    # Not by its `initialize`, which writes to stderr, and reads (with marshal) a cache that
    # anybody may have put into the folder for temporary files.
    tokenizer = jieba.Tokenizer()
    with Path(str(jieba.__file__)).with_name("dict.txt").open("rb") as file:
        tokenizer.FREQ, tokenizer.total = tokenizer.gen_pfdict(file)
    tokenizer.initialized = True
    cut: Callable[[str], list[str]] = tokenizer.lcut
    return cut


@cache
def _rjieba() -> Callable[[str], list[str]]:
    cut: Callable[[str], list[str]] = import_module("rjieba").Jieba().cut
    return cut


@cache
def _sudachi_dictionary() -> Any:
    return import_module("sudachipy").Dictionary(dict="core")


def _sudachi() -> Callable[[str], list[str]]:
    # One for each text: it costs a microsecond, and two threads must not use the same.
    tokenizer = _sudachi_dictionary().tokenizer("C", fields={"surface"})
    return lambda run: [morpheme.raw_surface() for morpheme in tokenizer.tokenize(run)]


@cache
def _budoux() -> Callable[[str], list[str]]:
    parser = import_module("budoux").load_default_japanese_parser()
    cut: Callable[[str], list[str]] = parser.parse
    return cut


_SEGMENTERS: dict[str, Callable[[], Callable[[str], list[str]]]] = {
    "jieba": _jieba,
    "rjieba": _rjieba,
    "sudachipy": _sudachi,
    "budoux": _budoux,
}
