"""Parsers of the values of settings.

Each takes what Scrapy has for a setting, a string if it comes from the command line, and raises
ValueError, TypeError or a `ShinglingError` if it is not accepted.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shingling.errors import SettingsError
from shingling.extraction.cpus import usable_cpus
from shingling.extraction.extractors import find_extractor

if TYPE_CHECKING:
    from collections.abc import Callable

FILLABLE = ("text", "title", "language")
"""What an item's fields can be filled with."""

_TRUE_VALUES, _FALSE_VALUES = ("1", "true", "yes", "on"), ("0", "false", "no", "off")
_MAX_AUTO_WORKERS = 8  # what one event loop can feed


def boolean(value: Any) -> bool:
    """Read True or False, also as Scrapy's command line has them."""
    if isinstance(value, bool):
        return value
    text = str(value).lower()
    if text not in _TRUE_VALUES + _FALSE_VALUES:
        raise ValueError
    return text in _TRUE_VALUES


def choice(*choices: str) -> Callable[[Any], str]:
    """Make a parser of one of some strings."""

    def parse(value: Any) -> str:
        if value not in choices:
            raise ValueError
        return str(value)

    return parse


def number(low: float, high: float, *, above: bool = False) -> Callable[[Any], float]:
    """Make a parser of numbers between two, or, with `above`, not the lower one."""

    def parse(value: Any) -> float:
        if isinstance(value, bool):
            raise TypeError
        parsed = float(value)
        if not low <= parsed <= high or (above and parsed == low):
            raise ValueError
        return parsed

    return parse


def whole_number(low: int, high: int) -> Callable[[Any], int]:
    """Make a parser of whole numbers between two."""

    def parse(value: Any) -> int:
        if isinstance(value, (bool, float)):
            raise TypeError
        parsed = int(value)
        if not low <= parsed <= high:
            raise ValueError
        return parsed

    return parse


def megabytes(low: int, high: int) -> Callable[[Any], int]:
    """Make a parser of sizes in MB, of 1,048,576 bytes, between two; 0 is accepted too."""

    def parse(value: Any) -> int:
        parsed = whole_number(0, high)(value)
        if 0 < parsed < low:
            raise ValueError
        return parsed << 20

    return parse


def optional(parse: Callable[[Any], float]) -> Callable[[Any], float | None]:
    """Make a parser that accepts None too."""
    return lambda value: None if value in (None, "", "None") else parse(value)


def field_name(value: Any) -> str:
    """Read a string that is not empty."""
    if not isinstance(value, str) or not value:
        raise ValueError
    return value


def extractor_name(value: Any) -> str:
    """Read the name of an extractor that can be imported."""
    name = field_name(value)
    find_extractor(name).load()
    return name


def number_of_workers(value: Any) -> int:
    """Read a number of worker processes."""
    if value == "auto":
        return min(usable_cpus(), _MAX_AUTO_WORKERS)
    return whole_number(0, 256)(value)


def is_html_file(name: str) -> bool:
    """Whether a name is one of a local HTML file."""
    return name.lower().endswith((".html", ".htm")) and "://" not in name and "\0" not in name


def html_file(value: Any) -> str | None:
    """Read the path of an HTML file, from the working directory as those of Scrapy's feeds."""
    if value in (None, "", "None"):
        return None
    name = os.fspath(value)
    if not isinstance(name, str) or not is_html_file(name):
        raise ValueError
    path = Path(name).absolute()
    if path.is_dir():
        raise SettingsError("it is a folder")
    return str(path)


def auto_or_names(value: Any) -> str | tuple[str, ...]:
    """Read `auto`, or names of fields."""
    return "auto" if value == "auto" else _names(value)


def _names(value: Any) -> tuple[str, ...]:
    """Read names: a list, or with commas in between as Scrapy's command line has them."""
    names = value.split(",") if isinstance(value, str) else list(value)
    return tuple(field_name(name).strip() for name in names if name != "" and str(name).strip())


def fillable_names(value: Any) -> tuple[str, ...]:
    """Read some of the names in `FILLABLE`."""
    chosen = _names(value)
    if not set(chosen) <= set(FILLABLE):
        raise ValueError
    return chosen


def scheme_dict(value: Any) -> dict[str, Any]:
    """Read the parameters of a scheme; files are still named: `idf`, `stop_words`."""
    try:
        parameters = json.loads(value) if isinstance(value, str) else value
    except ValueError as error:
        raise SettingsError(f"not JSON: {error}") from None
    if not isinstance(parameters, Mapping):
        raise TypeError
    chosen = dict(parameters)
    if not chosen:
        return chosen
    if "shingle_size" in chosen:
        raise SettingsError("shingle_size is set by DEDUP_SHINGLE_SIZE")
    for name in ("canonical", "simhash"):
        if isinstance(chosen.get(name), Mapping):
            chosen[name] = dict(chosen[name])
    checked = dict(chosen)
    if isinstance(checked.get("simhash"), dict) and isinstance(checked["simhash"].get("idf"), str):
        checked["simhash"] = {**checked["simhash"], "idf": None}
    from shingling.sketch import Scheme
    from shingling.text.languages.stop_words import is_file_name

    canonical = checked.get("canonical")
    if isinstance(canonical, dict) and is_file_name(canonical.get("stop_words")):
        checked["canonical"] = {**canonical, "stop_words": True}
    Scheme.from_dict(checked)
    return chosen
