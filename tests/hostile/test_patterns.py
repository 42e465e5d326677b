"""Regular expressions that meet what others have written take linear time on all of it."""

from __future__ import annotations

import ast
import importlib
import pkgutil
import re
from functools import cache
from itertools import pairwise, product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import shingling
from shingling import errors
from shingling.extraction import (
    html,
    main_text,
    pages,
    parsed,
    resiliparse,
    shown as shown_content,
    trafilatura,
)
from shingling.fetching.learning import changes, snapshots
from shingling.files import bodies, tables
from shingling.plugin import settings as plugin_settings
from shingling.plugin.items import documents
from shingling.rules import values
from shingling.similarity import diff, own_text
from shingling.store import moving, urls
from shingling.store.decide import pair
from shingling.text import canonical, folding, markup, prepared, titles
from shingling.text.languages import packs
from shingling.tuning import pairs
from shingling.web import shown
from tests.hostile.growth import FACTOR, cpu_seconds, is_linear

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_LANGUAGE_CODE = r"([a-zA-Z]{2,3})(?![a-zA-Z])"
_SPLIT, _SIGNS = r"[.,]", r"[-+−'’\s]"
_AS_WRITTEN = r"f'(?<!\\w){re.escape(value)}(?!\\w)'"

# Each pattern, and what is done with it.
_USES: dict[str, Callable[[Any], Any]] = {
    "errors._USER_AND_PASSWORD": errors._USER_AND_PASSWORD.findall,
    "errors._PASSWORD_PARAMETER": errors._PASSWORD_PARAMETER.findall,
    "extraction.html._HTML": html._HTML.match,
    "extraction.main_text._NOSCRIPT": lambda page: main_text._NOSCRIPT.sub("", page),
    "extraction.main_text._CONTROL_REFERENCE": main_text._CONTROL_REFERENCE.findall,
    "extraction.main_text._TAG": main_text._TAG.match,
    "extraction.main_text._TAG_START": main_text._TAG_START.search,
    "extraction.parsed._STATE": parsed._STATE.search,
    f"extraction.parsed {_LANGUAGE_CODE}": re.compile(_LANGUAGE_CODE).match,
    "extraction.resiliparse._NOT_IN_XML": resiliparse._NOT_IN_XML.findall,
    "extraction.resiliparse._MAY_HAVE_DATA_SCRIPT": resiliparse._MAY_HAVE_DATA_SCRIPT.search,
    "extraction.resiliparse._MAY_HAVE_JSON_ATTRIBUTE": resiliparse._MAY_HAVE_JSON_ATTRIBUTE.search,
    "extraction.resiliparse._BEGINS_AS_HTML": resiliparse._BEGINS_AS_HTML.match,
    "extraction.resiliparse._HAS_HTML": resiliparse._HAS_HTML.search,
    "extraction.resiliparse._LINK_TAG": resiliparse._LINK_TAG.findall,
    "extraction.trafilatura._FRAGMENT": trafilatura._FRAGMENT.match,
    "extraction.trafilatura._BACKSLASH": lambda page: trafilatura._BACKSLASH.sub("", page),
    "extraction.trafilatura._BEFORE_ESCAPE": trafilatura._BEFORE_ESCAPE.findall,
    "extraction.trafilatura._OTHER_SCHEME": trafilatura._OTHER_SCHEME.match,
    "files.bodies._CHUNK": bodies._CHUNK.match,
    "files.tables._NOT_UTF8": tables._NOT_UTF8.search,
    "fetching.learning.changes._NUMBERS": lambda segment: changes._NUMBERS.sub("#", segment),
    "fetching.learning.snapshots._SENTENCE": snapshots._SENTENCE.split,
    "fetching.learning.snapshots._DIGIT": snapshots._DIGIT.search,
    "plugin.settings._LONG_WORD": lambda message: plugin_settings._LONG_WORD.sub("", message),
    "similarity.diff._WORD": diff._WORD.findall,
    "similarity.diff._SENTENCE_END": diff._SENTENCE_END.findall,
    "similarity.own_text._DIGIT": own_text._DIGIT.search,
    "similarity.own_text._DIGITS": own_text._DIGITS.findall,
    "similarity.own_text._IN_BRACKETS": own_text._IN_BRACKETS.findall,
    "similarity.own_text._SPACED_LIST": lambda line: own_text._SPACED_LIST.sub(",", line),
    "similarity.own_text._LABEL": own_text._LABEL.fullmatch,
    "similarity.own_text._LABEL_BELOW": own_text._LABEL_BELOW.fullmatch,
    "similarity.own_text._IDENTIFIER": own_text._IDENTIFIER.search,
    "similarity.own_text._NAME_OR_NUMBER": lambda line: own_text._NAME_OR_NUMBER.sub(" ", line),
    "similarity.own_text._PLAIN_NUMBER": own_text._PLAIN_NUMBER.fullmatch,
    "extraction.shown._AROUND": shown_content._AROUND.search,
    "extraction.shown._LEADS_ELSEWHERE": shown_content._LEADS_ELSEWHERE.search,
    "extraction.shown._NAVIGATION": shown_content._NAVIGATION.search,
    "store.moving._PRICE": moving._PRICE.search,
    "store.urls._TRACKING": lambda url: urls._TRACKING.sub("", url),
    "store.urls._SCHEME": lambda url: urls._SCHEME.sub("", url),
    "store.urls._CREDENTIALS": urls._CREDENTIALS.match,
    "store.urls._PORT": urls._PORT.match,
    "store.urls._USUAL": urls._USUAL.match,
    "store.urls._PATH": urls._PATH.match,
    "store.urls._INDEX": urls._INDEX.fullmatch,
    "plugin.items.documents._TAG": lambda text: documents._TAG.sub(" ", text),
    f"rules.values {_SPLIT}": re.compile(_SPLIT).split,
    f"rules.values {_SIGNS}": re.compile(_SIGNS).findall,
    r"rules.values \D": re.compile(r"\D").findall,
    "rules.values._TIME": values._TIME.search,
    "rules.values._DIGITS": values._DIGITS.findall,
    "rules.values._GROUPS": values._GROUPS.findall,
    "rules.values._LETTERS": values._LETTERS.findall,
    "rules.values._SIGNS": values._SIGNS.findall,
    "rules.values._NO_UNIT": values._NO_UNIT.search,
    "store.decide.pair._NUMBER": pair._NUMBER.findall,
    "text.prepared._DIGIT": prepared._DIGIT.search,
    "text.prepared._HEX": lambda line: prepared._HEX.sub("0", line),
    "text.prepared._LABEL": prepared._LABEL.fullmatch,
    "text.prepared._NUMBER": lambda line: prepared._NUMBER.sub("0", line),
    "text.prepared._LETTER": prepared._LETTER.search,
    "extraction.pages._FORMATTING_TAG": pages._FORMATTING_TAG.findall,
    "text.canonical._SENTENCE_END": canonical._SENTENCE_END.split,
    "text.languages.packs._LATIN": packs._LATIN.fullmatch,
    "text.languages.packs._CYRILLIC": packs._CYRILLIC.fullmatch,
    "text.markup._COMMENT": markup.remove_markup,
    "text.markup._SCRIPT": markup.remove_markup,
    "text.markup._WITHIN_WORDS": markup._WITHIN_WORDS.fullmatch,
    "text.markup._TAG": markup.remove_markup,
    "text.markup._TAG_WITH_VALUES": markup.remove_markup,
    "text.folding._REFERENCE": folding.resolved,
    "text.folding._HALF_SPACE": folding.resolved,
    "text.folding._NASAL": folding.resolved,
    "text.folding._DOTTED_I": lambda text: folding._DOTTED_I.sub(folding._without_dot, text),
    "text.titles._NUMBERING": titles._NUMBERING.match,
    "text.titles._SECTION": titles._SECTION.search,
    "text.titles._DIGIT": titles._DIGIT.search,
    "text.titles._SEPARATOR": lambda title: titles._SEPARATOR.split(" ".join(title.split())),
    "text.titles._LOOSE_SEPARATOR": lambda title: titles._LOOSE_SEPARATOR.findall(title),
    "text.titles._PROSE": titles._PROSE.search,
    "text.titles._PUNCTUATION": titles._PUNCTUATION.findall,
    "text.titles._ONLY_MARKS": titles._ONLY_MARKS.fullmatch,
    "tuning.pairs._URL": pairs._URL.findall,
    "web.shown._WEB_URL": shown._WEB_URL.match,
}
_MEETS_NOTHING_FOREIGN = {
    "plugin.settings._PLAIN_SQLITE": "the URL of the store, a setting",
    f"store.backends.secrets {_AS_WRITTEN}": "secrets of a setting, one as it is written",
    "sketch.simhash._FEATURES": "features of a scheme, a setting",
    "text.canonical._LANGUAGE": "a language of a scheme, a setting",
}

_LONG = 8_000  # characters
_SUSPICIOUS_SECONDS = 0.0004  # for the shorter of two lengths; most linear ones take less
_SUSPICIOUS_RATIO = 2.5  # of times for twice the length: it is 24 for eight times, see `growth`
_MAX_STARTS = 14
_MAX_UNITS = 32
_USUAL = (" ", "a", "1", ".", "<", "@")


def _modules() -> Iterator[tuple[str, Path]]:
    for found in pkgutil.walk_packages(shingling.__path__, "shingling."):
        if found.name.startswith("shingling.migrations."):  # Alembic alone can run them
            continue
        path = importlib.util.find_spec(found.name)
        if path is not None and path.origin is not None and path.origin.endswith(".py"):
            yield found.name, Path(path.origin)


@cache
def _patterns() -> dict[str, re.Pattern[Any]]:
    """Patterns in the source of the package, by module and name, or by the pattern itself."""
    patterns = {}
    for module, path in _modules():
        short = module.removeprefix("shingling.")
        names = {}
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
                names[node.value] = ast.unparse(node.targets[0])
            if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
                continue
            if ast.unparse(node.func.value) != "re" or node.func.attr in ("escape", "purge"):
                continue
            if node.func.attr == "compile" and node in names:
                name = names[node]
                patterns[f"{short}.{name}"] = getattr(importlib.import_module(module), name)
            elif isinstance(node.args[0], ast.JoinedStr):  # made of values, and known by its source
                patterns[f"{short} {ast.unparse(node.args[0])}"] = re.compile("")
            else:
                literal = ast.literal_eval(node.args[0])
                patterns[f"{short} {literal}"] = re.compile(literal)
    return patterns


def test_every_pattern_is_measured_or_meets_nothing_foreign() -> None:
    assert _patterns().keys() == _USES.keys() | _MEETS_NOTHING_FOREIGN.keys()
    for module, _ in _modules():
        try:
            names = vars(importlib.import_module(module))
        except ModuleNotFoundError:  # it needs an extra that is not installed
            continue
        for name, value in names.items():
            if isinstance(value, re.Pattern):
                assert value in _patterns().values(), f"{module}.{name}"


# What a class or an assertion of a pattern is in an attack: a character that it matches.
_CLASSES = {r"\s": " ", r"\d": "1", r"\w": "a", r"\S": "a", r"\D": "a", r"\W": "."}
_SPECIAL = "()[]{}|?*+^$"


def _written(pattern: re.Pattern[Any]) -> list[str]:
    """The characters that a pattern is written with, whatever they mean in it."""
    source = pattern.pattern
    text = source.decode("latin-1") if isinstance(source, bytes) else source
    text = re.sub(r"\\[bBAZ]|\(\?(?:[:!=>]|<[!=])", "", text)
    found = re.findall(r"\\x..|\\u....|\\.|[^\\]", text)
    # One letter behind a backslash is as in a string; anything else stands for itself.
    return [
        _CLASSES.get(one)
        or (one.encode().decode("unicode_escape") if one[1:2].isalpha() else one[-1])
        for one in found
    ]


def _attacks(pattern: re.Pattern[Any]) -> Iterator[tuple[str, str, str]]:
    """What may go before, what is repeated, and what stands at the end, as a near miss."""
    characters = [*dict.fromkeys(_written(pattern))]
    plain = [one for one in characters if one not in _SPECIAL]
    words = re.split(f"[{re.escape(_SPECIAL)}]+", "".join(_written(pattern)))
    words = [*dict.fromkeys(word for word in words if word)]
    starts = ["", *words, *map("".join, pairwise(words))][:_MAX_STARTS]
    units = [*characters, *words, *_USUAL][:_MAX_UNITS]
    pairs_of_units = map("".join, product([*plain[:8], "a", " "], repeat=2))
    for start, unit in product(starts, dict.fromkeys([*units, *pairs_of_units])):
        for end in ("", "\0", *words[-1:]):
            yield start, unit, end


def _not_linear(pattern: re.Pattern[Any], use: Callable[[Any], Any]) -> tuple[str, str, str] | None:
    """Return the first attack on a pattern that takes more than linear time."""
    is_bytes = isinstance(pattern.pattern, bytes)
    for attack in _attacks(pattern):
        start, unit, end = attack

        def make(length: int, start: str = start, unit: str = unit, end: str = end) -> Any:
            text = start + unit * (length // len(unit)) + end
            return text.encode("latin-1", "replace") if is_bytes else text

        seconds = cpu_seconds(use, make(_LONG // FACTOR))
        if (
            seconds > _SUSPICIOUS_SECONDS
            and cpu_seconds(use, make(2 * _LONG // FACTOR)) > _SUSPICIOUS_RATIO * seconds
            and not is_linear(use, make, _LONG)
        ):
            return attack
    return None


@pytest.mark.parametrize("name", _USES)
def test_a_pattern_takes_linear_time_on_its_worst_cases(name: str) -> None:
    assert _not_linear(_patterns()[name], _USES[name]) is None


@pytest.mark.parametrize(
    ("pattern", "use"),
    [
        (r"\s+x", "findall"),
        (r"^//[^/@?#]+:(?!\d*$)[^@?#]*@", "match"),
        (r"<!--.*?-->", "findall"),
        (r"<a\s+[^>]*href=[^>]*>", "findall"),
        (r"https?://[^/]*@[^/]*/", "findall"),
    ],
)
def test_a_pattern_that_is_not_linear_is_found(pattern: str, use: str) -> None:
    compiled = re.compile(pattern)
    assert _not_linear(compiled, getattr(compiled, use)) is not None
