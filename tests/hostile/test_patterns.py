"""Regular expressions that meet what others have written take linear time on all of it."""

from __future__ import annotations

import ast
import importlib
import pkgutil
import re
from itertools import product
from pathlib import Path
from re import _constants, _parser  # type: ignore[attr-defined]  # the parser of patterns itself
from typing import TYPE_CHECKING, Any

import pytest

import shingling
from shingling import errors
from shingling.extraction import html, limits, pages, parsed, resiliparse, trafilatura
from shingling.fetching.learning import changes, looks
from shingling.plugin import settings as plugin_settings
from shingling.similarity import diff
from shingling.store import urls
from shingling.text import canonical, prepared, titles
from shingling.text.languages import packs
from shingling.tuning import pairs
from shingling.web import reviewing
from tests.hostile.growth import cpu_seconds, is_linear

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_LANGUAGE_CODE = r"([a-zA-Z]{2,3})(?![a-zA-Z])"
_AS_WRITTEN = r"f'(?<!\\w){re.escape(value)}(?!\\w)'"

# Each pattern, and what is done with it.
_USES: dict[str, Callable[[Any], Any]] = {
    "errors._USER_AND_PASSWORD": errors._USER_AND_PASSWORD.findall,
    "errors._PASSWORD_PARAMETER": errors._PASSWORD_PARAMETER.findall,
    "extraction.html._HTML": html._HTML.match,
    "extraction.html._CONTROL_REFERENCE": html._CONTROL_REFERENCE.findall,
    "extraction.limits._TAG": limits._TAG.match,
    "extraction.limits._TAG_START": limits._TAG_START.search,
    "extraction.parsed._STATE": parsed._STATE.search,
    f"extraction.parsed {_LANGUAGE_CODE}": re.compile(_LANGUAGE_CODE).match,
    "extraction.resiliparse._MEASURED_TAG": resiliparse._MEASURED_TAG.findall,
    "extraction.resiliparse._NOT_IN_XML": resiliparse._NOT_IN_XML.findall,
    "extraction.resiliparse._MAY_HAVE_DATA_SCRIPT": resiliparse._MAY_HAVE_DATA_SCRIPT.search,
    "extraction.resiliparse._MAY_HAVE_JSON_ATTRIBUTE": resiliparse._MAY_HAVE_JSON_ATTRIBUTE.search,
    "extraction.resiliparse._BEGINS_AS_HTML": resiliparse._BEGINS_AS_HTML.match,
    "extraction.resiliparse._HAS_HTML": resiliparse._HAS_HTML.search,
    "extraction.trafilatura._FRAGMENT": trafilatura._FRAGMENT.match,
    "fetching.learning.changes._NUMBERS": lambda segment: changes._NUMBERS.sub("#", segment),
    "fetching.learning.looks._SENTENCE": looks._SENTENCE.split,
    "fetching.learning.looks._DIGIT": looks._DIGIT.search,
    "plugin.settings._LONG_WORD": lambda message: plugin_settings._LONG_WORD.sub("", message),
    "similarity.diff._WORD": diff._WORD.findall,
    "similarity.diff._SENTENCE_END": diff._SENTENCE_END.findall,
    "store.urls._CREDENTIALS": urls._CREDENTIALS.match,
    "store.urls._USUAL": urls._USUAL.match,
    "store.urls._PATH": urls._PATH.match,
    "store.urls._INDEX": urls._INDEX.fullmatch,
    "text.prepared._NUMBER": prepared._NUMBER.findall,
    "text.prepared._LETTER": prepared._LETTER.search,
    "extraction.pages._FORMATTING_TAG": pages._FORMATTING_TAG.findall,
    "text.canonical._SENTENCE_END": canonical._SENTENCE_END.split,
    "text.languages.packs._LATIN": packs._LATIN.fullmatch,
    "text.languages.packs._CYRILLIC": packs._CYRILLIC.fullmatch,
    "text.canonical._COMMENT": canonical.remove_markup,
    "text.canonical._SCRIPT": canonical.remove_markup,
    "text.canonical._TAG": canonical.remove_markup,
    "text.canonical._TAG_WITH_VALUES": canonical.remove_markup,
    "text.canonical._INVALID_REFERENCE": canonical._INVALID_REFERENCE.findall,
    "text.titles._NUMBERING": titles._NUMBERING.match,
    "text.titles._FIRST_WORD": titles._FIRST_WORD.match,
    "text.titles._SPELLED": titles._SPELLED.fullmatch,
    "text.titles._HYPHEN": lambda title: titles._HYPHEN.sub("", title),
    "text.titles._NUMBER_PART": titles._NUMBER_PART.findall,
    "text.titles._SEPARATOR": lambda title: titles._SEPARATOR.split(" ".join(title.split())),
    "text.titles._PUNCTUATION": titles._PUNCTUATION.findall,
    "text.titles._ONLY_MARKS": titles._ONLY_MARKS.fullmatch,
    "tuning.pairs._URL": pairs._URL.findall,
    "tuning.settings._CYRILLIC": re.compile(r"[\u0400-\u04ff]{3}").search,
    "web.reviewing._IDS": reviewing._IDS.fullmatch,
}
_MEETS_NOTHING_FOREIGN = {
    "plugin.settings._PLAIN_SQLITE": "the URL of the store, a setting",
    f"store.backends.secrets {_AS_WRITTEN}": "secrets of a setting, one as it is written",
    "sketch.simhash._FEATURES": "features of a scheme, a setting",
    "text.canonical._LANGUAGE": "a language of a scheme, a setting",
}

_LONG = 16_000  # characters
_SUSPICIOUS_SECONDS = 0.004  # for the shorter of two lengths; linear ones take less than 1 ms
_MAX_UNITS = 16


def _modules() -> Iterator[tuple[str, Path]]:
    for found in pkgutil.walk_packages(shingling.__path__, "shingling."):
        if found.name.startswith("shingling.migrations."):  # Alembic alone can run them
            continue
        path = importlib.util.find_spec(found.name)
        if path is not None and path.origin is not None and path.origin.endswith(".py"):
            yield found.name, Path(path.origin)


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


_PATTERNS = _patterns()


def test_every_pattern_is_measured_or_meets_nothing_foreign() -> None:
    assert _PATTERNS.keys() == _USES.keys() | _MEETS_NOTHING_FOREIGN.keys()
    for module, _ in _modules():
        try:
            names = vars(importlib.import_module(module))
        except ModuleNotFoundError:  # it needs an extra that is not installed
            continue
        for name, value in names.items():
            if isinstance(value, re.Pattern):
                assert value in _PATTERNS.values(), f"{module}.{name}"


def _examples(tree: Any) -> list[str]:
    """Strings that a part of a pattern matches, one or two for each of its choices."""
    texts = [""]
    for operator, argument in tree:
        texts = [a + b for a, b in product(texts[:4], _examples_of(operator, argument)[:6])]
    return texts


def _examples_of(operator: Any, argument: Any) -> list[str]:
    match operator:
        case _constants.LITERAL:
            return [chr(argument)]
        case _constants.NOT_LITERAL:
            return ["a" if argument != ord("a") else "b"]
        case _constants.ANY:
            return ["a", " "]
        case _constants.RANGE:
            return [chr(argument[0])]
        case _constants.CATEGORY:
            return {"DIGIT": ["1"], "SPACE": [" "], "WORD": ["a"]}.get(
                str(argument).rpartition("_")[2], ["."]
            )
        case _constants.IN if argument[0][0] is _constants.NEGATE:
            excluded = re.compile(
                "[" + "".join(map(re.escape, _members(argument[1:]))) + "]", re.IGNORECASE
            )
            return [char for char in "a1 .:/<é-漢" if not excluded.match(char)][:3]
        case _constants.IN:
            return _members(argument)
        case _constants.BRANCH:
            return [one for branch in argument[1] for one in _examples(branch)]
        case _constants.SUBPATTERN:
            return _examples(argument[3])
        case _constants.ATOMIC_GROUP:
            return _examples(argument)
        case _constants.MAX_REPEAT | _constants.MIN_REPEAT | _constants.POSSESSIVE_REPEAT:
            least, most, part = argument
            return [one * max(least, min(most, 1)) for one in _examples(part)]
        case _:  # assertions, references to groups
            return [""]


def _members(items: Any) -> list[str]:
    return [one for item in items for one in _examples_of(*item)]


def _parts(tree: Any) -> Iterator[str]:
    """Examples of all parts of a pattern, at every depth."""
    for operator, argument in tree:
        yield from _examples_of(operator, argument)
        inner: list[Any] = []
        if operator is _constants.BRANCH:
            inner = argument[1]
        elif operator is _constants.SUBPATTERN:
            inner = [argument[3]]
        elif operator is _constants.ATOMIC_GROUP:
            inner = [argument]
        elif operator in (_constants.ASSERT, _constants.ASSERT_NOT):
            inner = [argument[1]]
        elif isinstance(argument, tuple) and isinstance(argument[-1], _parser.SubPattern):
            inner = [argument[-1]]
        for part in inner:
            yield from _parts(part)


def _attacks(pattern: re.Pattern[Any]) -> Iterator[tuple[str, str, str]]:
    """What may go before, what is repeated, and what stands at the end, as a near miss."""
    source = pattern.pattern
    tree = _parser.parse(source.decode("latin-1") if isinstance(source, bytes) else source)
    whole = [one for one in _examples(tree) if one]
    single = [*dict.fromkeys(one for one in _parts(tree) if one)]
    units = [*dict.fromkeys([*single[:_MAX_UNITS], *whole[:4], " ", "a", "1", ".", "<", "@"])]
    pairs_of_units = [a + b for a, b in product(units[:8], repeat=2)]
    starts = ["", *dict.fromkeys(one[:cut] for one in whole[:2] for cut in range(1, len(one)))]
    for start, unit in product(starts[:12], dict.fromkeys(units + pairs_of_units)):
        for end in ("", "\0", "a", *single[:2]):
            yield start, unit, end


@pytest.mark.parametrize("name", _USES)
def test_a_pattern_takes_linear_time_on_its_worst_cases(name: str) -> None:
    use, is_bytes = _USES[name], isinstance(_PATTERNS[name].pattern, bytes)
    for start, unit, end in _attacks(_PATTERNS[name]):

        def make(length: int, attack: tuple[str, str, str] = (start, unit, end)) -> Any:
            text = attack[0] + attack[1] * (length // len(attack[1])) + attack[2]
            return text.encode("latin-1", "replace") if is_bytes else text

        if cpu_seconds(use, make(_LONG // 4)) > _SUSPICIOUS_SECONDS:
            assert is_linear(use, make, _LONG), (start, unit, end)


@pytest.mark.parametrize(
    ("pattern", "use"),
    [
        (r"(a|a)*b", "match"),
        (r"\s+x", "findall"),
        (r".+?(?:[.!?]+\s+|\n|\Z)", "findall"),
        (r"^//[^/@?#]+:(?!\d*$)[^@?#]*@", "match"),
    ],
)
def test_a_pattern_that_is_not_linear_is_found(pattern: str, use: str) -> None:
    compiled = re.compile(pattern)
    lengths = (14, 18) if "|a" in pattern else (2_000, 8_000)
    worst = 0.0
    for start, unit, end in _attacks(compiled):
        short, long = (start + unit * (length // len(unit)) + end for length in lengths)
        before = cpu_seconds(getattr(compiled, use), short)
        if before > 0.001:
            worst = max(worst, cpu_seconds(getattr(compiled, use), long) / before)
        if worst > 9:
            break
    assert worst > 9
