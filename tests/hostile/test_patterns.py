"""Regular expressions that meet what others have written take linear time on all of it."""

from __future__ import annotations

import ast
import importlib
import pkgutil
import re
from collections import defaultdict
from functools import cache, partial
from itertools import pairwise, product
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

import shingling
from shingling.extraction import shown
from shingling.text import folding, markup, titles
from shingling.text.languages import packs
from tests.hostile.growth import FACTOR, cpu_seconds, is_linear

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_METHODS = {"findall", "finditer", "fullmatch", "match", "search", "split", "sub", "subn"}

# What is done with patterns that others are given, or that meet what was made of a text.
_USES: dict[str, Callable[[Any], Any]] = {
    "extraction.shown._AROUND": shown._AROUND.search,
    "extraction.shown._NAVIGATION": shown._NAVIGATION.search,
    "text.folding._HALF_SPACE": folding.resolved,
    "text.folding._NASAL": folding.resolved,
    "text.folding._REFERENCE": folding.resolved,
    "text.languages.packs._CYRILLIC": packs._CYRILLIC.fullmatch,
    "text.languages.packs._LATIN": packs._LATIN.fullmatch,
    "text.markup._COMMENT": markup.remove_markup,
    "text.markup._SCRIPT": markup.remove_markup,
    "text.markup._TAG": markup.remove_markup,
    "text.markup._TAG_WITH_VALUES": markup.remove_markup,
    "text.titles._SEPARATOR": lambda title: titles._SEPARATOR.split(" ".join(title.split())),
}
_MEETS_NOTHING_FOREIGN = {
    "plugin.settings._PLAIN_SQLITE": "the URL of the store, a setting",
    r"store.backends.secrets f'(?<!\\w){re.escape(value)}(?!\\w)'": "secrets of a setting",
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


class _Found(NamedTuple):
    """A pattern in the source of the package, and the methods of it that are called."""

    pattern: re.Pattern[Any]
    methods: set[str]

    def uses(self, name: str) -> list[Callable[[Any], Any]]:
        """What is done with texts that it meets."""
        if name in _USES:
            return [_USES[name]]
        return [partial(self._use, method) for method in self.methods]

    def _use(self, method: str, text: Any) -> None:
        if method.startswith("sub"):
            self.pattern.sub(text[:0], text)
        elif method == "finditer":
            [*self.pattern.finditer(text)]
        else:
            getattr(self.pattern, method)(text)


@cache
def _patterns() -> dict[str, _Found]:
    """Patterns in the source of the package, by module and name, or by the pattern itself."""
    patterns = {}
    for module, path in _modules():
        short = module.removeprefix("shingling.")
        names, methods = {}, defaultdict[str, set[str]](set)
        nodes = [*ast.walk(ast.parse(path.read_text(encoding="utf-8")))]
        for node in nodes:
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
                names[node.value] = ast.unparse(node.targets[0])
            if isinstance(node, ast.Attribute) and node.attr in _METHODS:
                methods[ast.unparse(node.value)].add(node.attr)
        for node in nodes:
            if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
                continue
            if ast.unparse(node.func.value) != "re" or node.func.attr in ("escape", "purge"):
                continue
            if node.func.attr == "compile" and node in names:
                name = names[node]
                pattern = getattr(importlib.import_module(module), name)
                patterns[f"{short}.{name}"] = _Found(pattern, methods[name])
            elif isinstance(node.args[0], ast.JoinedStr):  # made of values, and known by its source
                patterns[f"{short} {ast.unparse(node.args[0])}"] = _Found(re.compile(""), set())
            else:
                literal = ast.literal_eval(node.args[0])
                used = {node.func.attr} & _METHODS
                patterns[f"{short} {literal}"] = _Found(re.compile(literal), used)
    return patterns


def test_every_pattern_is_measured_or_meets_nothing_foreign() -> None:
    unused = {name for name, found in _patterns().items() if not found.uses(name)}
    assert unused <= _MEETS_NOTHING_FOREIGN.keys()
    assert _patterns().keys() >= _USES.keys() | _MEETS_NOTHING_FOREIGN.keys()
    known = [found.pattern for found in _patterns().values()]
    for module, _ in _modules():
        try:
            names = vars(importlib.import_module(module))
        except ModuleNotFoundError:  # it needs an extra that is not installed
            continue
        for name, value in names.items():
            assert not isinstance(value, re.Pattern) or value in known, f"{module}.{name}"


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


def test_a_pattern_takes_linear_time_on_its_worst_cases() -> None:
    slow = {
        name: attack
        for name, found in _patterns().items()
        if name not in _MEETS_NOTHING_FOREIGN
        for use in found.uses(name)
        if (attack := _not_linear(found.pattern, use))
    }
    assert slow == {}


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
